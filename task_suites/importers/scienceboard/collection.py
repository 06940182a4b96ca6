"""Loads a folder of ScienceBoard task files; one bad file never hides the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import cast, get_args

from deskgym.envs.errors import TaskError
from deskgym.task_suites.importers.json_files import JsonFile, Problem, one_of
from deskgym.task_suites.importers.published import not_found
from deskgym.task_suites.importers.scienceboard.corrections import Mode, apply_mode
from deskgym.task_suites.importers.scienceboard.programs import LAUNCHERS, blockers
from deskgym.task_suites.importers.scienceboard.schema import SPLITS, read_task
from deskgym.task_suites.importers.scienceboard.task import Split, UpstreamTask


@dataclass(frozen=True)
class Collection:
    """The tasks of one copy of the benchmark.

    Attributes:
        folder: the folder that has VM, Dual and Raw.
        mode: which reference solutions are used.
        tasks: every task that was read without a mistake, by split, program and name.
        problems: every mistake of the other files.
        skipped: files that are no tasks, such as upstream's ``Raw/requirements.*.txt``.
    """

    folder: Path
    mode: Mode
    tasks: tuple[UpstreamTask, ...]
    problems: tuple[Problem, ...] = ()
    skipped: tuple[Path, ...] = ()

    def __len__(self) -> int:
        return len(self.tasks)

    def __getitem__(self, task_id: str) -> UpstreamTask:
        """The task with this id; TaskError says what is wrong with its file, or which ids are close."""
        if task_id in self._by_id:
            return self._by_id[task_id]
        file = f"{task_id if task_id.startswith(('Dual/', 'Raw/')) else f'VM/{task_id}'}.json"
        mistakes = (problem for problem in self.problems if problem.file == file)
        raise not_found("task", task_id, self._by_id, mistakes, self.folder)

    def select(self, pattern: str) -> tuple[UpstreamTask, ...]:
        """The tasks whose id matches a glob, such as ``"KAlgebra/*"``."""
        return tuple(task for task in self.tasks if fnmatchcase(task.id, pattern))

    @cached_property
    def _by_id(self) -> dict[str, UpstreamTask]:
        return {task.id: task for task in self.tasks}


def load(
    path: str | PathLike[str], *, mode: Mode = "corrected", now: Callable[[], datetime] = datetime.now
) -> Collection:
    """Read and check every task file of a copy of ScienceBoard.

    Mistakes in files end up in ``problems``; the other files are loaded all the same.

    Args:
        path: the repository's root, or its ``tasks`` folder.
        mode: ``"corrected"`` replaces the reference solutions that are known to be wrong and can be derived;
            ``"paper"`` keeps all as upstream has them. Either way the task's notes say so.
        now: the clock for checks that compare with today's date.

    Raises:
        TaskError: the folder is no copy of the benchmark, or has no task file, or the mode is unknown.
    """
    if mode not in get_args(Mode):
        raise TaskError(f"mode must be {one_of(get_args(Mode))}, is {mode!r}")
    folder = tasks_folder(Path(path).expanduser())
    tasks: dict[str, UpstreamTask] = {}
    problems: list[Problem] = []
    skipped: list[Path] = []
    seen: dict[str, str] = {}
    for file in _files(folder):
        parts = file.relative_to(folder).parts
        name = "/".join(parts)
        if file.suffix.lower() != ".json":
            skipped.append(file)
            continue
        if len(parts) < 3 or parts[1] not in LAUNCHERS:
            message = f"must be in the folder of a program: {parts[0]}/{{{','.join(LAUNCHERS)}}}/"
            problems.append(Problem(name, 1, "", message))
            continue
        same = seen.setdefault(f"{parts[0]}/{parts[1]}/{file.stem}".casefold(), name)
        if same != name:
            problems.append(Problem(name, 1, "", f"has the same task id as {same}"))
            continue
        document = JsonFile(file, name, now)
        task = read_task(document, file, cast(Split, parts[0]), parts[1])
        problems.extend(document.problems)
        if task is not None:
            tasks[task.id] = apply_mode(task, mode)
    if not tasks and not problems:
        raise TaskError(f"{folder} has no task files: {_RIGHT_FOLDER}")
    return Collection(folder, mode, tuple(tasks.values()), tuple(problems), tuple(skipped))


def status(task: UpstreamTask) -> tuple[bool, str]:
    """Whether deskgym can run the task on this computer, and why not."""
    found = blockers(task)
    return not found, "; ".join(blocker.reason for blocker in found) or "runs here"


_RIGHT_FOLDER = (
    "give ScienceBoard's repository or its 'tasks' folder, which has VM/, Dual/ and Raw/ "
    "with files such as VM/KAlgebra/A-01.json"
)


def tasks_folder(path: Path) -> Path:
    """The folder of a copy of the benchmark that has VM, Dual and Raw; TaskError says what the right one looks like."""
    if not path.is_dir():
        raise TaskError(f"{path} is {'not a folder' if path.exists() else 'not there'}: {_RIGHT_FOLDER}")
    for folder in (path, path / "tasks"):
        if any((folder / split).is_dir() for split in SPLITS):
            return folder
    raise TaskError(f"{path} has none of {', '.join(SPLITS)} in it: {_RIGHT_FOLDER}")


def _files(folder: Path) -> list[Path]:
    order = {split: index for index, split in enumerate(SPLITS)}
    found = [file for split in SPLITS for file in (folder / split).rglob("*") if file.is_file()]
    return sorted(found, key=lambda file: (order[cast(Split, file.relative_to(folder).parts[0])], file))
