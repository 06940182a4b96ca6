"""The science suite: our own tasks."""

from __future__ import annotations

from pathlib import Path

from deskgym.task_suites.core.suite import TaskSuite
from deskgym.task_suites.programs.kalgebra.checks import CHECKS
from deskgym.task_suites.programs.kalgebra.functions import FUNCTIONS
from deskgym.task_suites.programs.kalgebra.macros import MACROS
from deskgym.task_suites.programs.kalgebra.program import open_

FOLDER = Path(__file__).parent / "tasks"


def suite(folder: str | Path = FOLDER) -> TaskSuite:
    """The suite, or one of the task files in another folder; reads nothing yet."""
    return TaskSuite(
        "science" if folder == FOLDER else str(folder),
        folder,
        hooks={"kalgebra.open": open_},
        checks=dict(CHECKS),
        macros=dict(MACROS),
        functions=dict(FUNCTIONS),
    )
