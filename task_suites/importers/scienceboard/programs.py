"""The programs of ScienceBoard: how its launch commands name them, and what keeps a task from running here."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from deskgym.task_suites.importers.scienceboard import celestia, chimerax, grass, lean
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask


@dataclass(frozen=True)
class Program:
    """A program that tasks start.

    Attributes:
        name: how people call it.
        executable: what must be on PATH, for a program that deskgym supports.
        install: how to get it, for the message when it is not there.
        unsupported: why deskgym cannot run its tasks yet; empty when it can.
    """

    name: str
    executable: str = ""
    install: str = ""
    unsupported: str = ""


PORT_TOKEN = "«PORTLIKE»"
"""Stands for the port of the program's server in launch commands."""

#: By local launcher name.
PROGRAMS = {
    "kalgebra": Program("KAlgebra", "kalgebra", "apt install kalgebra"),
    "celestia": Program(
        "Celestia",
        celestia.EXECUTABLE,
        "build ScienceBoard's own Celestia, whose dump the checks read; Debian has no package of any",
    ),
    "grass": Program("GrassGIS", "grass", "apt install grass-gui locales python3-geopandas"),
    "chimerax": Program(
        "ChimeraX",
        "chimerax",
        "it is not in Debian: get it from its makers, and install ScienceBoard's bundle SessionStates in it",
    ),
    "lean": Program(
        "Lean", unsupported="its VM tasks need Lean 4, Mathlib and VS Code in the machine; Raw ones run as text"
    ),
    "code": Program("VS Code", unsupported="Debian has no package of it"),
    "pymol": Program("PyMOL", "pymol", "apt install pymol"),
    "texstudio": Program("TeXstudio", "texstudio", "apt install texstudio texlive-science"),
}

#: The launcher of each task type.
LAUNCHERS = {
    "KAlgebra": "kalgebra",
    "Celestia": "celestia",
    "GrassGIS": "grass",
    "ChimeraX": "chimerax",
    "Lean": "lean",
    "TeXstudio": "texstudio",
}

_EXECUTABLES = {"celestia-qt5": "celestia", "celestia-qt6": "celestia"} | {name: name for name in PROGRAMS}

#: Tasks that need the network or files of the VM image without saying so in ``initialize``; by type and name.
_NETWORK = {
    "ChimeraX/A-01": "it fetches a molecule from the Protein Data Bank",
    "ChimeraX/D-03": "it has AlphaFold predict a structure on a server",
    "TeXstudio/B-04": "it looks a citation up in Google Scholar",
}
_IMAGE_FILES = {
    "TeXstudio/C-03": "its figures are only in ScienceBoard's VM image",
    "TeXstudio/C-04": "its figures are only in ScienceBoard's VM image",
}

BlockerKind = Literal["not_supported", "not_installed", "image_data", "network"]


@dataclass(frozen=True)
class Blocker:
    """One thing that keeps a task from running here."""

    kind: BlockerKind
    reason: str


def find_program(command: str | tuple[str, ...]) -> tuple[str, tuple[str, ...]] | None:
    """The launcher and the arguments that a launch command of the task files stands for; None for any other command.

    Variable settings, ``gnome-terminal``, ``bash -ic`` and the port are left out. Nothing is run.

    >>> find_program("LD_LIBRARY_PATH=/lib /app/bin/kalgebra «PORTLIKE»")
    ('kalgebra', ())
    """
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
        if "-ic" in words[:-1]:
            words = shlex.split(words[words.index("-ic") + 1])
    except ValueError:
        return None
    while words and "=" in words[0].split("/")[0]:
        words.pop(0)
    launcher = _EXECUTABLES.get(PurePosixPath(words[0]).name) if words else None
    if launcher is None:
        return None
    return launcher, tuple(word for word in words[1:] if word != PORT_TOKEN)


def blockers(task: UpstreamTask, which: Callable[[str], str | None] = shutil.which) -> tuple[Blocker, ...]:
    """Everything that keeps a task from running here; empty when nothing does.

    Args:
        task: the task.
        which: finds a program on PATH.
    """
    launched = [item["program"] for item in task.initialize if item.func == "launch"]
    launched += ["chimerax" for item in task.initialize if item.func.startswith("chimerax_")]
    needed = list(dict.fromkeys([LAUNCHERS[task.type], *launched]))
    found: list[Blocker] = []
    if chimerax.asked_in_pymol(task):
        needed = ["pymol"]
        found.extend(Blocker("image_data", reason) for reason in chimerax.missing(task))
    if task.sort == "Raw":
        needed = []
        if not lean.installed(which) and not lean.asked_in_coq(task, which):
            found.append(Blocker("not_installed", f"Lean is not installed: {lean.INSTALL}"))
    for launcher in needed:
        program = PROGRAMS[launcher]
        if program.unsupported:
            found.append(
                Blocker("not_supported", f"{program.name} is not yet supported by deskgym: {program.unsupported}")
            )
        elif which(program.executable) is None:
            found.append(Blocker("not_installed", f"{program.name} is not installed: {program.install}"))
    key = task.id.removeprefix(f"{task.split}/")
    found.extend(_missing_data(task, key))
    if key in _NETWORK:
        found.append(Blocker("network", f"needs the network: {_NETWORK[key]}"))
    elif any(item.func in ("download", "alphafold_match") for item in task.initialize):
        found.append(Blocker("network", "needs the network: its setup downloads a molecule"))
    return tuple(found)


def _missing_data(task: UpstreamTask, key: str) -> list[Blocker]:
    sets = {item["location"] for item in task.initialize if item.func == "map"}
    for item in task.initialize:
        if item.func == "launch" and item["program"] == "grass":
            sets |= {PurePosixPath(word).parent.name for word in item["arguments"] if word.startswith("/")}
    found = []
    if sets and not grass.on_own_maps(task):
        reason = f"the GRASS data {', '.join(sorted(sets))} is only in ScienceBoard's VM image"
        found.append(Blocker("image_data", reason))
    if key in _IMAGE_FILES:
        found.append(Blocker("image_data", _IMAGE_FILES[key]))
    return found
