"""The science suite: our own tasks."""

from __future__ import annotations

from pathlib import Path

from deskgym.task_suites.core.suite import TaskSuite

FOLDER = Path(__file__).parent / "tasks"


def suite(folder: str | Path = FOLDER) -> TaskSuite:
    """The suite, or one of the task files in another folder; reads nothing yet."""
    return TaskSuite("science" if folder == FOLDER else str(folder), folder, programs=["kalgebra"])
