"""The science suite: our own tasks."""

from __future__ import annotations

from pathlib import Path

from deskgym.task_suites.science.kalgebra.checks import CHECKS
from deskgym.task_suites.science.kalgebra.functions import FUNCTIONS
from deskgym.task_suites.science.kalgebra.macros import MACROS
from deskgym.task_suites.science.kalgebra.program import open_
from deskgym.task_suites.suite import TaskSuite

FOLDER = Path(__file__).parent / "kalgebra" / "tasks"


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
