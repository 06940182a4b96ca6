"""The items of a task's ``initialize`` list, as typed data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

#: Stands for the port of the program's server in launch commands.
PORT_TOKEN = "«PORTLIKE»"


@dataclass(frozen=True, kw_only=True)
class InitItem:
    """One step of a task's setup.

    Attributes:
        wait: the seconds that upstream sleeps after it; deskgym waits for a condition instead.
    """

    func: ClassVar[str]
    wait: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Launch(InitItem):
    """Start a program. The command names paths of ScienceBoard's image: it is data, and never run.

    Attributes:
        command: as upstream has it, ``«PORTLIKE»`` included.
        shell: whether upstream runs it in a shell.
        program: the local launcher that stands for it, such as ``"kalgebra"``.
        arguments: what the program is given: options and files, without a bare port.
    """

    func: ClassVar[str] = "launch"
    command: str | tuple[str, ...]
    shell: bool = False
    program: str
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Execute(InitItem):
    """Run a command in the machine, such as removing a lock file."""

    func: ClassVar[str] = "execute"
    command: str | tuple[str, ...]
    shell: bool = False


@dataclass(frozen=True, kw_only=True)
class AccessibilityDepth(InitItem):
    """Limit how deep upstream reads the accessibility tree."""

    func: ClassVar[str] = "opt"
    depth: int


@dataclass(frozen=True, kw_only=True)
class WriteFile(InitItem):
    """Create a file with this text."""

    func: ClassVar[str] = "touch"
    path: str
    text: str


@dataclass(frozen=True, kw_only=True)
class AppendFile(InitItem):
    """Append text to a file."""

    func: ClassVar[str] = "append"
    path: str
    content: str


@dataclass(frozen=True, kw_only=True)
class Download(InitItem):
    """Download a file into the machine."""

    func: ClassVar[str] = "download"
    url: str
    path: str


@dataclass(frozen=True, kw_only=True)
class SelectTab(InitItem):
    """KAlgebra: show a tab (0 console, 1 2D graph, 2 3D graph, 3 dictionary)."""

    func: ClassVar[str] = "tab"
    index: int


@dataclass(frozen=True, kw_only=True)
class Plot2D(InitItem):
    """KAlgebra: plot an expression in the 2D tab."""

    func: ClassVar[str] = "func_2d"
    expr: str


@dataclass(frozen=True, kw_only=True)
class Plot3D(InitItem):
    """KAlgebra: plot an expression in the 3D tab."""

    func: ClassVar[str] = "func_3d"
    expr: str


@dataclass(frozen=True, kw_only=True)
class OpenMapset(InitItem):
    """GRASS: switch to a mapset."""

    func: ClassVar[str] = "map"
    grassdb: str
    location: str
    mapset: str


@dataclass(frozen=True, kw_only=True)
class AddLayer(InitItem):
    """GRASS: show the map of this name."""

    func: ClassVar[str] = "layer"
    name: str


@dataclass(frozen=True, kw_only=True)
class SetScale(InitItem):
    """GRASS: set the map display's scale."""

    func: ClassVar[str] = "scale"
    scale: float


@dataclass(frozen=True, kw_only=True)
class ClearLog(InitItem):
    """ChimeraX: empty the log panel."""

    func: ClassVar[str] = "clear_log"


@dataclass(frozen=True, kw_only=True)
class OpenModel(InitItem):
    """ChimeraX: open a molecule, such as ``"2olx"``."""

    func: ClassVar[str] = "open"
    name: str


@dataclass(frozen=True, kw_only=True)
class Turn(InitItem):
    """ChimeraX: turn the view by an angle in degrees."""

    func: ClassVar[str] = "turn"
    axis: str
    angle: float


@dataclass(frozen=True, kw_only=True)
class MatchAlphaFold(InitItem):
    """ChimeraX: fetch the AlphaFold model of a UniProt entry."""

    func: ClassVar[str] = "alphafold_match"
    name: str


@dataclass(frozen=True, kw_only=True)
class ColorModel(InitItem):
    """ChimeraX: colour the models by a scheme, such as ``"bypolymer"``."""

    func: ClassVar[str] = "color"
    style: str


@dataclass(frozen=True, kw_only=True)
class DisableCommandLine(InitItem):
    """ChimeraX, Dual split: take its command line away, which leaves the GUI."""

    func: ClassVar[str] = "destroy"


@dataclass(frozen=True, kw_only=True)
class ImportLibraries(InitItem):
    """Lean: import libraries."""

    func: ClassVar[str] = "import"
    libs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class OpenNamespaces(InitItem):
    """Lean: open namespaces."""

    func: ClassVar[str] = "open"
    libs: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Define(InitItem):
    """Lean: a definition that the theorem needs."""

    func: ClassVar[str] = "def"
    expr: str


@dataclass(frozen=True, kw_only=True)
class Theorem(InitItem):
    """Lean: the theorem to prove; it ends in ``by sorry``."""

    func: ClassVar[str] = "query"
    expr: str
