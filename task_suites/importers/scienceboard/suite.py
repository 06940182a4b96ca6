"""ScienceBoard's tasks, from the user's own copy of the benchmark, as a source for environments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, cast

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.task_suites.core.task import Task
from deskgym.task_suites.importers import scienceboard
from deskgym.task_suites.importers.json_files import Problem
from deskgym.task_suites.importers.scienceboard.oracles import scripts
from deskgym.task_suites.importers.scienceboard.tasks import SOURCE, convert, difficulty, reasons


def suite(source_path: str, mode: str) -> ScienceBoardTasks:
    """The tasks of a copy of ScienceBoard; what ``load_suite`` calls.

    Raises:
        TaskError: the folder is no copy of ScienceBoard.
    """
    return ScienceBoardTasks(source_path, mode)


class ScienceBoardTasks:
    """All tasks of a copy of ScienceBoard; implements ``deskgym.envs.episode.TaskSource``.

    Making one only looks whether the folder is right: the files are read when a task is first asked for. A pickle holds
    the path, not the tasks.

    Args:
        source_path: ScienceBoard's repository, or its ``tasks`` folder.
        mode: ``"corrected"`` or ``"paper"``, see ``deskgym.task_suites.load_suite``.

    Raises:
        TaskError: the folder is no copy of ScienceBoard.
    """

    def __init__(self, source_path: str, mode: str = "corrected") -> None:
        self.path = Path(source_path).expanduser()
        self.mode = cast(scienceboard.Mode, mode)
        scienceboard.tasks_folder(self.path)
        self._collection: scienceboard.Collection | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_collection": None}

    @property
    def collection(self) -> scienceboard.Collection:
        """The task files as typed data. Files with mistakes are warned of once.

        Raises:
            TaskError: the folder has no task files.
        """
        if self._collection is None:
            self._collection = scienceboard.load(self.path, mode=self.mode)
            if self.problems:
                files = sorted({problem.file for problem in self.problems})
                warnings.warn(
                    f"{len(files)} of ScienceBoard's task files have mistakes and cannot be run: {self.problems[0]}"
                    + (f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""),
                    stacklevel=3,
                )
        return self._collection

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every mistake in the task files."""
        return self.collection.problems

    def ids(self, split: str | None = None) -> list[str]:
        """The ids of all tasks: those that cannot run here too, and those of files with mistakes."""
        _no_split(split)
        broken = dict.fromkeys(_id(problem.file) for problem in self.problems)
        return [*(task.id for task in self.collection.tasks), *broken]

    def get(self, task_id: str, seed: int | None = None) -> Task:
        """A task. They have no parameters, so that ``seed`` makes no difference.

        Raises:
            TaskError: there is no such task, its file has mistakes, or it cannot run here; says why.
        """
        base, mark, _ = task_id.partition("#")
        if mark and base in self.ids():
            raise TaskError(f"task {base!r} has no parameters, so only one instance; leave out what is after it")
        task = self.collection[task_id]
        if found := reasons(task):
            raise TaskError(f"task {task_id!r} cannot run here: {'; '.join(found)}")
        return convert(task, self.mode)

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> Task:
        """Draw one of the tasks that match ``pattern`` (id, glob, or None for all) and can run here.

        Raises:
            TaskError: nothing matches, nothing that matches can run here, or ``split`` is given.
        """
        _no_split(split)
        if pattern is not None and not any(mark in pattern for mark in "*?["):
            return self.get(pattern)
        matching = [task for task in self.collection.tasks if pattern is None or fnmatchcase(task.id, pattern)]
        if not matching:
            raise TaskError(f"ScienceBoard in {self.path}: {unknown('task', pattern or '', self.ids())}")
        runnable = [task for task in matching if not reasons(task)]
        if not runnable:
            raise TaskError(
                f"none of the {len(matching)} tasks that match {pattern or '*'!r} can run here; "
                f"{matching[0].id}: {'; '.join(reasons(matching[0]))}"
            )
        return convert(runnable[int(rng.integers(len(runnable)))], self.mode)

    def describe(self, task_id: str) -> Mapping[str, Any]:
        """What can be told of a task even if it cannot run here, for ``deskgym tasks``."""
        try:
            task = self.collection[task_id]
        except TaskError as error:
            return {"supported": False, "reason": str(error)}
        found = reasons(task)
        return {
            "difficulty": difficulty(task),
            "max_steps": task.steps,
            "instruction": task.instruction,
            "feasible": task.stop is None or task.stop.primitive != "FAIL",
            "oracle": task.type == "KAlgebra" and scripts(task).oracle is not None,
            "source": SOURCE,
            "notes": list(task.notes),
            "supported": not found,
            "reason": "; ".join(found) or None,
        }


def _id(file: str) -> str:
    """The id that a file's task would have."""
    return file.removesuffix(".json").removeprefix("VM/")


def _no_split(split: str | None) -> None:
    if split is not None:
        raise TaskError(f"split={split!r}: ScienceBoard's tasks are not divided into train and test; leave split out")
