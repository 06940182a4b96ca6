"""ScienceBoard's questions about molecules, asked beside PyMOL where ChimeraX is not needed to answer them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.task import Hook, Setup
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask
from deskgym.task_suites.programs import load_program

PYMOL = load_program("pymol")
NOTE = "asked beside PyMOL, which stands for ChimeraX: the question is about the molecule's file alone"

#: Questions that the molecule's file answers, by what they ask for.
QUESTIONS = {
    "ChimeraX/C-01": "a residue's name",
    "ChimeraX/C-02": "a number of atoms",
    "ChimeraX/C-03": "a sequence",
    "ChimeraX/C-06": "a distance",
    "ChimeraX/C-07": "an angle",
}
_SETUP = ("execute", "launch", "clear_log", "open", "turn")
_FOLDERS = ("vm_config/pack", "data")  # of a copy of the benchmark, where molecules may be


def asked_in_pymol(task: UpstreamTask) -> bool:
    """Whether a task is one of the questions that PyMOL answers as well."""
    plain = all(item.func in _SETUP for item in task.initialize)
    return task.id in QUESTIONS and task.stop is not None and task.stop.primitive == "ANS" and plain


def molecules(task: UpstreamTask) -> dict[str, Path | None]:
    """The molecules that it opens, and their files in the user's copy; None for one that is not there."""
    names = [str(item["name"]) for item in task.initialize if item.func == "open"]
    return {name: _find(task.file, f"{name}.cif") for name in names}


def missing(task: UpstreamTask) -> list[str]:
    """The molecules that the user's copy lacks, each as a reason."""
    names = [name for name, file in molecules(task).items() if file is None]
    return [f"the molecule {name}.cif is not in your copy of ScienceBoard" for name in names]


def _find(file: Path, name: str) -> Path | None:
    roots = [file.parents[k] for k in (3, 4) if k < len(file.parents)]  # tasks/VM/ChimeraX/C-01.json, or without tasks
    found = (path for root in roots for folder in _FOLDERS for path in sorted((root / folder).rglob(name)))
    return next(found, None)


def needs(task: UpstreamTask) -> Needs:
    """What PyMOL needs."""
    return PYMOL.all_needs


def hooks(task: UpstreamTask) -> list[Hook]:
    """The setup: PyMOL with the molecules; what upstream turns is turned by as much."""
    turned = [f"turn {item['axis']}, {item['angle']}" for item in task.initialize if item.func == "turn"]
    return [Hook("open", partial(_open, files=molecules(task), commands="\n".join(turned)))]


def _open(setup: Setup, files: dict[str, Path | None], commands: str) -> None:
    paths = []
    for name, file in files.items():
        if file is None:
            raise FileNotFoundError(f"{name}.cif is not in the copy of ScienceBoard")
        paths.append(f"{PYMOL.parts['folder']}/{name}.cif")
        setup.machine.put(paths[-1], file.read_bytes())
    PYMOL.parts["start"](setup, paths, commands)
