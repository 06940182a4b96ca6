"""ScienceBoard task files of our own, and where the published ones are."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from deskgym.task_suites.importers import scienceboard
from deskgym.task_suites.importers.scienceboard.tasks import convert, reasons

UPSTREAM = (Path(__file__).parents[4] / "../shared/upstream/scienceboard").resolve()
GIVEN = sorted(f"KAlgebra/{file.stem}" for file in UPSTREAM.glob("tasks/VM/KAlgebra/*.json"))
MOLECULES = ["ChimeraX/C-06"]
MAPS = [f"GrassGIS/{name}" for name in ("A-01", "A-02", "A-04", "A-05", "A-06", "A-07", "B-01", "B-02")]
DOCUMENTS = [f"TeXstudio/{name}" for name in ("A-04", "C-02", "C-06", "D-01")]
"""Those that start no program beside TeXstudio but KAlgebra, and need no file of upstream's image."""

given = pytest.mark.skipif(not GIVEN, reason="ScienceBoard's own task files are not at ../shared/upstream/scienceboard")
installed = pytest.mark.skipif(
    not all(map(shutil.which, ("kalgebra", "texstudio", "pymol"))),
    reason="KAlgebra, TeXstudio or PyMOL is not installed",
)

LAUNCH = {"func": "launch", "wait": 2.5, "command": "A=/b /app/bin/kalgebra «PORTLIKE»", "shell": True}
CURVE = {"type": "eqn", "key": [[1, 1], [2, 4], [3, 5]], "value": {"(1, 1)": True, "(2, 4)": True, "(3, 5)": False}}
SPHERE = {"type": "eqn", "key": [[2, 0, 0], [1, 1, 1]], "value": {"(2, 0, 0)": True, "(1, 1, 1)": False}}


def says_what_to_install(task: scienceboard.UpstreamTask, message: str, note: str) -> None:
    """A task of a program that an adapter is for: where that is missing it says so, and its verdicts have a note."""
    (blocker,) = scienceboard.blockers(task, lambda _: None)
    assert blocker.kind == "not_installed" and message in blocker.reason
    assert scienceboard.blockers(task, lambda _: "/opt/program") == () and reasons(task)
    assert note in convert(task, "corrected").evaluator.notes  # type: ignore[attr-defined]


def file_of(*evaluate: Any, setup: Any = (), program: str = "KAlgebra", **more: Any) -> dict[str, Any]:
    """A task file in upstream's format."""
    return {
        "type": program, "sort": "VM", "steps": 5, "instruction": "Do it.", "version": "0.1",
        "initialize": [LAUNCH, *setup], "evaluate": list(evaluate), **more,
    }  # fmt: skip


def looks(item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**item, "value": {**item["value"], **more}}
