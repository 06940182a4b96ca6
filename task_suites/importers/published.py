"""What the importers share: a source of tasks over the user's own copy of a published benchmark."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.task_suites.importers.json_files import Problem, one_of


class Record(Protocol):
    """A task as the benchmark's files have it."""

    @property
    def id(self) -> str: ...  # noqa: D102


class Copy(Protocol):
    """What was read of a copy: records by id, and every mistake of the others."""

    @property
    def problems(self) -> tuple[Problem, ...]: ...  # noqa: D102
    def __getitem__(self, task_id: str) -> Any: ...


CopyT = TypeVar("CopyT", bound=Copy)
RecordT = TypeVar("RecordT", bound=Record)
TaskT = TypeVar("TaskT")


class PublishedTasks(ABC, Generic[CopyT, RecordT, TaskT]):
    """All tasks of a copy of a benchmark; implements ``deskgym.envs.episode.TaskSource``.

    Making one reads no task: the files are read when a task is first asked for. A pickle holds the path, not the tasks.

    Args:
        source_path: the copy's folder.
    """

    benchmark: ClassVar[str]
    """Its name, for messages."""

    def __init__(self, source_path: str) -> None:
        self.path = Path(source_path).expanduser()
        self._collection: CopyT | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_collection": None}

    # --- what an importer says

    @abstractmethod
    def _load(self) -> CopyT:
        """Read all files. Raises TaskError where the folder has no tasks."""

    @abstractmethod
    def _records(self) -> Sequence[RecordT]:
        """Every task that was read without a mistake."""

    @abstractmethod
    def _broken_id(self, problem: Problem) -> str | None:
        """The id that the task with a mistake would have; None for a file that is no task's."""

    @abstractmethod
    def _reasons(self, record: RecordT) -> list[str]:
        """All that keeps a task from running here; empty when nothing does."""

    @abstractmethod
    def _convert(self, record: RecordT) -> TaskT:
        """The task that an environment plays."""

    @abstractmethod
    def _about(self, record: RecordT) -> Mapping[str, Any]:
        """What ``deskgym tasks`` tells of a task, whether it can run here or not."""

    # --- a TaskSource

    @property
    def collection(self) -> CopyT:
        """The tasks as typed data. Mistakes are warned of once.

        Raises:
            TaskError: the folder has no tasks.
        """
        if self._collection is None:
            self._collection = self._load()
            if self.problems:
                count = len(self._broken())
                what = f"{count} of {self.benchmark}'s tasks have mistakes and cannot be run"
                message = f"{what if count else f'a file of {self.benchmark} has mistakes'}: {self.problems[0]}"
                more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
                warnings.warn(message + more, stacklevel=3)
        return self._collection

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Every mistake in the files."""
        return self.collection.problems

    def ids(self, split: str | None = None) -> list[str]:
        """The ids of all tasks: those that cannot run here too, and those with mistakes."""
        chosen = self._in_split(split)
        return [*(record.id for record in chosen), *([] if split is not None else self._broken())]

    def get(self, task_id: str, seed: int | None = None) -> TaskT:
        """A task. They have no parameters, so that ``seed`` makes no difference.

        Raises:
            TaskError: there is no such task, it has mistakes, or it cannot run here; says why.
        """
        base, mark, _ = task_id.partition("#")
        if mark and base in self.ids():
            raise TaskError(f"task {base!r} has no parameters, so only one instance; leave out what is after it")
        record = self.collection[task_id]
        if found := self._reasons(record):
            raise TaskError(f"task {task_id!r} cannot run here: {'; '.join(found)}")
        return self._convert(record)

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> TaskT:
        """Draw one of the tasks that match ``pattern`` (id, glob, or None for all) and can run here.

        Raises:
            TaskError: nothing matches, nothing that matches can run here, or there is no such split.
        """
        chosen = self._in_split(split)
        if pattern is not None and not any(mark in pattern for mark in "*?["):
            record = self.collection[pattern.partition("#")[0]]
            if split is not None and record not in chosen:
                raise TaskError(f"task {pattern!r} is not in split={split!r}")
            return self.get(pattern)
        matching = [record for record in chosen if pattern is None or fnmatchcase(record.id, pattern)]
        if not matching:
            if not chosen and split is not None:
                raise TaskError(f"{self.benchmark} in {self.path}: no task of it is in split={split!r}")
            raise TaskError(f"{self.benchmark} in {self.path}: {unknown('task', pattern or '', self.ids(split))}")
        for index in rng.permutation(len(matching)):
            if not self._reasons(matching[int(index)]):
                return self._convert(matching[int(index)])
        raise TaskError(
            f"none of the {len(matching)} tasks that match {pattern or '*'!r} can run here; "
            f"{matching[0].id}: {'; '.join(self._reasons(matching[0]))}"
        )

    def describe(self, task_id: str) -> Mapping[str, Any]:
        """What can be told of a task even if it cannot run here, for ``deskgym tasks``."""
        try:
            record = self.collection[task_id]
        except TaskError as error:
            return {"supported": False, "reason": str(error), "reasons": [str(error)]}
        found = self._reasons(record)
        return {
            **self._about(record),
            "supported": not found,
            "reason": "; ".join(found) or None,
            "reasons": found,
        }

    def _broken(self) -> list[str]:
        """The ids of tasks with mistakes."""
        return [name for name in dict.fromkeys(map(self._broken_id, self.problems)) if name is not None]

    def _in_split(self, split: str | None) -> Sequence[RecordT]:
        """The records of a split, all of them for None.

        Raises:
            TaskError: there is no such split.
        """
        if split is not None:
            raise TaskError(
                f"split={split!r}: {self.benchmark}'s tasks are not divided into train and test; leave split out"
            )
        return self._records()


def not_found(noun: str, task_id: str, known: Iterable[str], mistakes: Iterable[Problem], folder: Path) -> TaskError:
    """Why there is no task of an id: its file has mistakes, or which ids are close.

    Args:
        noun: what the benchmark calls a task.
        task_id: that was asked for.
        known: the ids that there are.
        mistakes: those of this task's file.
        folder: where was looked.
    """
    if told := [str(problem) for problem in mistakes]:
        return TaskError(f"the {noun} {task_id!r} has mistakes:\n" + "\n".join(told))
    close = get_close_matches(task_id, list(known), n=3)
    near = f"; did you mean {one_of(tuple(close))}?" if close else ""
    return TaskError(f"no {noun} {task_id!r} in {folder}{near}")
