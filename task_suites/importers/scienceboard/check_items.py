"""The items of a task's ``evaluate`` list, as typed data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from deskgym.task_suites.importers.json_files import Json
from deskgym.task_suites.importers.lambdas import Lambda

Primitive = Literal["ANS", "FAIL", "DONE"]


@dataclass(frozen=True, kw_only=True)
class CheckItem:
    """One condition on the final state; a task is solved when all of its conditions hold."""

    type: ClassVar[str]


@dataclass(frozen=True, kw_only=True)
class Stop(CheckItem):
    """The episode must end with this primitive; ``ANS`` with exactly these words."""

    type: ClassVar[str] = "stop"
    primitive: Primitive
    args: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """The words of the answer as the agent must give them."""
        return " ".join(self.args)


@dataclass(frozen=True, kw_only=True)
class Plotted(CheckItem):
    """KAlgebra: some plotted item has these points on or off it, and these looks.

    Attributes:
        points: each point (2 or 3 coordinates) and whether it lies on the item.
        color: ``"#rrggbb"``, when the colour counts.
        resolution: when it counts (2D).
        style: upstream's number for it, when it counts (3D; 2 is "Lines").
    """

    type: ClassVar[str] = "eqn"
    points: tuple[tuple[tuple[float, ...], bool], ...]
    color: str | None = None
    resolution: float | None = None
    style: int | None = None

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return len(self.points[0][0])


@dataclass(frozen=True, kw_only=True)
class PlotCount(CheckItem):
    """KAlgebra: so many items are plotted (upstream's ``"#SIZE"``)."""

    type: ClassVar[str] = "eqn"
    count: int


@dataclass(frozen=True, kw_only=True)
class VariableNumber(CheckItem):
    """KAlgebra: a variable's value is within 1e-6 of this."""

    TOLERANCE: ClassVar[float] = 1e-6
    type: ClassVar[str] = "val"
    name: str
    value: float


@dataclass(frozen=True, kw_only=True)
class VariableText(CheckItem):
    """KAlgebra: a variable is written exactly so; None: it must not be defined (upstream's ``"#UNDEF"``)."""

    type: ClassVar[str] = "var"
    name: str
    text: str | None


@dataclass(frozen=True, kw_only=True)
class DumpValue(CheckItem):
    """Celestia, GRASS: ``pred(key(dump), value)``, or ``key(dump) == value`` without a predicate."""

    type: ClassVar[str] = "info"
    key: Lambda
    value: Json
    pred: Lambda | None = None


@dataclass(frozen=True, kw_only=True)
class CommandOutput(CheckItem):
    """GRASS: the same on what a GRASS command prints."""

    type: ClassVar[str] = "db"
    command: str
    options: Mapping[str, Json]
    key: Lambda
    value: Json
    pred: Lambda | None = None


@dataclass(frozen=True, kw_only=True)
class SessionState(CheckItem):
    """ChimeraX: a value of the flattened session.

    Attributes:
        key: the key itself; or, with ``find``, what makes it of the key found; or a test of keys.
        find: picks a key by ``find(key, value)``.
        value: what must be there; None: nothing may be there. Without meaning when ``pattern`` is given.
        pattern: must be found in the value.
    """

    type: ClassVar[str] = "states"
    key: str | Lambda
    find: Lambda | None = None
    value: Json = None
    pattern: re.Pattern[str] | None = None


@dataclass(frozen=True, kw_only=True)
class LogLines(CheckItem):
    """ChimeraX: the command ``info {key}`` logs exactly this set of lines."""

    type: ClassVar[str] = "info"
    key: str
    lines: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FileContains(CheckItem):
    """ChimeraX: a file has this text in it; a lambda without parameters gives it at the time of the check."""

    type: ClassVar[str] = "file"
    path: str
    text: str | Lambda


@dataclass(frozen=True, kw_only=True)
class Proof(CheckItem):
    """Lean: the theorem is proved."""

    type: ClassVar[str] = "placeholder"


@dataclass(frozen=True, kw_only=True)
class Compiles(CheckItem):
    """TeXstudio: LaTeX compiles ``{path}/{file}.tex``."""

    type: ClassVar[str] = "compile"
    path: str
    file: str


@dataclass(frozen=True, kw_only=True)
class Replaced(CheckItem):
    """TeXstudio: the file is its first text with ``source`` replaced by ``target``, and nothing else."""

    type: ClassVar[str] = "file"
    path: str
    source: str
    target: str


@dataclass(frozen=True, kw_only=True)
class Includes(CheckItem):
    """TeXstudio: the pattern is found in the file."""

    type: ClassVar[str] = "include"
    path: str
    pattern: re.Pattern[str]
