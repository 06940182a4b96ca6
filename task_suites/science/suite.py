"""The science suite: our own tasks."""

from __future__ import annotations

from pathlib import Path

from deskgym.task_suites.science.kalgebra.checks import CHECKS
from deskgym.task_suites.science.kalgebra.functions import FUNCTIONS
from deskgym.task_suites.science.kalgebra.macros import MACROS
from deskgym.task_suites.science.kalgebra.program import open_
from deskgym.task_suites.suite import TaskSuite


def suite() -> TaskSuite:
    """The suite; reads nothing yet."""
    return TaskSuite(
        "science",
        [Path(__file__).parent / "kalgebra" / "tasks"],
        hooks={"kalgebra.open": open_},
        checks=dict(CHECKS),
        macros=dict(MACROS),
        functions=dict(FUNCTIONS),
    )
