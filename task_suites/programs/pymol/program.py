"""PyMOL's window with molecules in it: those that come with PyMOL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch, run

APP = "pymol"  # in the tree of elements
FOLDER = "/home/user/work"
Molecule = Literal["1hpv", "1tii", "il2", "pept"]
MOLECULES: Mapping[Molecule, str] = {
    "1hpv": "/usr/share/pymol/data/tut/1hpv.pdb",
    "1tii": "/usr/share/pymol/data/demo/1tii.pdb",
    "il2": "/usr/share/pymol/data/demo/il2.pdb",
    "pept": "/usr/share/pymol/data/demo/pept.pdb",
}
"""HIV-1 protease with an inhibitor, heat-labile enterotoxin, interleukin 2 with hydrogens, and a peptide."""

_SLOW = 60.0  # seconds
# neither the field below the log nor keys that are pressed over the molecules reach PyMOL's parser then
_CLOSE_PROMPT = (
    "/from pymol import gui; _window = gui.get_qtwindow(); _window.lineedit.hide(); "
    "_window.lineedit.setEnabled(False); _window.keyPressEvent = lambda event: None"
)


def open_(setup: Setup, molecules: list[Molecule], commands: str = "", prompt: bool = True) -> None:
    """Open molecules in PyMOL, each as an object of its name; returns when commands can be typed.

    Their files are in ``/home/user/work``, which is the working folder.

    Args:
        setup: the machine.
        molecules: their names.
        commands: run then, one per line.
        prompt: commands can be typed.

    Raises:
        SetupError: it did not come up with them.
    """
    paths = [f"{FOLDER}/{name}.pdb" for name in molecules]
    for path, name in zip(paths, molecules, strict=True):
        run(setup, ["install", "-D", "-m", "644", MOLECULES[name], path])
    start(setup, paths, commands if prompt else f"{commands}\n{_CLOSE_PROMPT}".strip())


def start(setup: Setup, paths: Sequence[str], commands: str = "") -> None:
    """Start PyMOL with files that are there, each as an object of its name; ``open_`` says the rest."""
    # the program's script does not replace itself by the program, which the launched process must be
    argv = ["/usr/bin/python3", "-m", "pymol.__init__", "-q", *paths]
    for line in commands.splitlines():
        argv += ["-d", line]
    launch(
        setup, argv, window="PyMOL*", app=APP, role="text", env={"QT_XCB_GL_INTEGRATION": "xcb_glx"}, cwd=FOLDER,
        maximize=True, timeout=_SLOW,
    )  # fmt: skip
    stem = PurePosixPath(paths[-1]).stem
    last = f"PyMOL>{commands.splitlines()[-1]}" if commands else f'loaded as "{stem}"'
    AccessibleProgram(setup.machine, "python3").wait(
        f"{last!r} in PyMOL's log",
        lambda root: any(last in " ".join(node.text.split()) for node in root.find_all("text")),
        timeout=_SLOW,
    )
