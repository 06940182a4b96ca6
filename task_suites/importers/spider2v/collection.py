"""Loads a copy of Spider2-V; one bad file never hides the others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import get_args

from deskgym.envs.errors import TaskError
from deskgym.task_suites.importers.json_files import Fields, JsonFile, Problem, one_of
from deskgym.task_suites.importers.published import not_found
from deskgym.task_suites.importers.spider2v.record import Mode, UpstreamTask, Variant
from deskgym.task_suites.importers.spider2v.schema import ACCOUNT, APPS, read_task
from deskgym.task_suites.importers.spider2v.task_file import HOST_FOLDER, TaskFile

LISTS = ("test_all", "test_abstract", "test_verbose", "test_account", "test_non_account", "test_one")
"""Upstream's list files."""

PREFIX = 4
"""How many characters of a task's name are enough to find it, where only one task begins with them."""


@dataclass(frozen=True)
class Collection:
    """The tasks of one copy of the benchmark.

    Attributes:
        folder: the copy's ``evaluation_examples``.
        mode: whose rules judge.
        tasks: every task that was read without a mistake, by app and name.
        problems: every mistake of the other files, and of the list files.
        lists: what each of upstream's list files names, in its order; without those that the copy has no task of.
    """

    folder: Path
    mode: Mode
    tasks: tuple[UpstreamTask, ...]
    problems: tuple[Problem, ...] = ()
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tasks)

    def __contains__(self, task_id: str) -> bool:
        return task_id in self._by_id

    def __getitem__(self, task_id: str) -> UpstreamTask:
        """The task with this id, or the only one whose id begins so, such as ``"dbt/0aa56709"``.

        Raises:
            TaskError: says what is wrong with its file, or which ids are close.
        """
        if task_id in self._by_id:
            return self._by_id[task_id]
        app, _, name = task_id.partition("/")
        begins = [known for known in self._by_id if known.startswith(task_id)] if len(name) >= PREFIX else []
        if len(begins) == 1:
            return self._by_id[begins[0]]
        if begins:
            raise TaskError(f"{task_id!r} is the beginning of {len(begins)} tasks: {one_of(tuple(sorted(begins)))}")
        mistakes = (
            problem for problem in self.problems if len(name) >= PREFIX and problem.file.startswith(f"{app}/{name}")
        )
        raise not_found("task", task_id, self._by_id, mistakes, self.folder)

    def select(self, pattern: str) -> tuple[UpstreamTask, ...]:
        """The tasks whose id matches a glob, such as ``"dbt/*"``."""
        return tuple(task for task in self.tasks if fnmatchcase(task.id, pattern))

    def instruction(self, task: UpstreamTask, variant: Variant) -> str:
        """The abstract or the verbose instruction of a task's environment."""
        if task.variant == variant:
            return task.instruction
        if task.counterpart in self._by_id:
            return self._by_id[task.counterpart].instruction
        return derived_instruction(task, variant)

    @cached_property
    def _by_id(self) -> dict[str, UpstreamTask]:
        return {task.id: task for task in self.tasks}


_BEFORE = "\nHere is a step-by-step tutorial from an expert instructing you how to complete it:\n"
_AFTER = (
    "\nYou can exactly follow the detailed plan above or proactively tackle the task based on the real-time "
    "environment interaction by yourself."
)


def derived_instruction(task: UpstreamTask, variant: Variant) -> str:
    """A task's other instruction, made as upstream made it, where the twin's file cannot be read."""
    if variant == "verbose":
        return f"{task.instruction}{_BEFORE}{task.tutorial}{_AFTER}"
    return task.instruction.split(_BEFORE)[0]


def load(path: str | PathLike[str], *, mode: Mode = "corrected") -> Collection:
    """Read and check every task file of a copy of Spider2-V.

    Mistakes in files end up in ``problems``; the other files are loaded all the same.

    Args:
        path: the repository's root, or its folder ``evaluation_examples``.
        mode: ``"corrected"`` lists a task with the tag ``account`` in ``test_account``; ``"paper"`` keeps upstream's
            lists.

    Raises:
        TaskError: the folder is no copy of the benchmark, or has no task file, or the mode is unknown.
    """
    if mode not in get_args(Mode):
        raise TaskError(f"mode must be {one_of(get_args(Mode))}, is {mode!r}")
    copy = copy_folder(Path(path).expanduser())
    tasks: dict[str, UpstreamTask] = {}
    problems: list[Problem] = []
    for folder in _task_folders(copy, problems):
        app, name = folder.parent.name, folder.name
        document = TaskFile(folder / f"{name}.json", f"{app}/{name}/{name}.json", copy)
        task = read_task(document, folder / f"{name}.json", app)
        problems.extend(document.problems)
        if task is not None:
            tasks[task.id] = task
    if not tasks and not problems:
        raise TaskError(f"{copy} has no task files: {_RIGHT_FOLDER}")
    for problem in _twin_problems(tasks, {_id_of(problem) for problem in problems}):
        problems.append(problem)
        del tasks[_id_of(problem)]
    lists = {name: _read_list(copy / f"{name}.json", name, problems) for name in LISTS if _has_list(copy, name)}
    known = tasks.keys() | {_id_of(problem) for problem in problems}
    lists = {name: tuple(task_id for task_id in named if task_id in known) for name, named in lists.items()}
    listed = [_listed(task, lists) for task in tasks.values()]
    if mode == "corrected" and lists:
        listed = [_relisted(task) for task in listed]
        lists = {name: _names(name, named, listed) for name, named in lists.items()}
    return Collection(copy, mode, tuple(listed), tuple(problems), lists)


_RIGHT_FOLDER = (
    f"give Spider2-V's repository or its folder '{HOST_FOLDER}', which has examples/ with files such as "
    "examples/dbt/ID/ID.json"
)


def copy_folder(path: Path) -> Path:
    """The folder ``evaluation_examples`` of a copy; TaskError says what the right one looks like."""
    if not path.is_dir():
        raise TaskError(f"{path} is {'not a folder' if path.exists() else 'not there'}: {_RIGHT_FOLDER}")
    for folder in (path, path / HOST_FOLDER, path.parent):
        if (folder / "examples").is_dir() and (folder != path.parent or path.name == "examples"):
            return folder.absolute()
    raise TaskError(f"{path} has no folder 'examples' in it: {_RIGHT_FOLDER}")


def _task_folders(copy: Path, problems: list[Problem]) -> list[Path]:
    """The folders with a task file, by app and name; other files of the copy are skipped."""
    found = []
    for folder in sorted(path for path in (copy / "examples").glob("*/*") if path.is_dir()):
        app, name = folder.parent.name, folder.name
        file = f"{app}/{name}/{name}.json"
        if app not in APPS:
            problems.append(Problem(file, 1, "", f"must be in the folder of an app: {one_of(APPS)}; is in {app!r}"))
        elif not (folder / f"{name}.json").is_file():
            problems.append(Problem(file, 1, "", "is not there: a task's file has the name of its folder"))
        else:
            found.append(folder)
    return found


def _id_of(problem: Problem) -> str:
    """The id that the task with a mistake would have; that of a list file is the list's name."""
    return problem.file.rpartition("/")[0] or problem.file.removesuffix(".json")


# twins


def _twin_problems(tasks: Mapping[str, UpstreamTask], broken: set[str]) -> list[Problem]:
    """What is wrong between a task and its counterpart: one problem for each task at most."""
    found = []
    for task in tasks.values():
        name = task.file.stem
        file = f"{task.app}/{name}/{name}.json"
        twin = tasks.get(task.counterpart)
        if twin is None and task.counterpart not in broken:
            message = f"must be the name of a task in examples/{task.app}, is {task.counterpart.partition('/')[2]!r}"
        elif twin is None or twin.variant != task.variant and twin.counterpart == task.id and _same(task, twin):
            continue
        elif twin is task or twin.variant == task.variant:
            message = f"must be the other instruction of the same task; {twin.id} is {twin.variant}, too"
        elif twin.counterpart != task.id:
            other = tasks.get(twin.counterpart)
            if other is None or other.variant == twin.variant:
                continue  # the twin is at fault
            message = f"must be mutual; the counterpart of {twin.id} is {twin.counterpart}"
        elif task.variant == "verbose":
            message = f"must have the same config and evaluator, but those of {twin.id} differ"
        else:
            continue
        line = JsonFile(task.file, file)
        line.fault("counterpart", message)
        found.append(line.problems[-1])
    return found


def _same(task: UpstreamTask, twin: UpstreamTask) -> bool:
    """Whether both set up and judge the same, apart from the folders of their files."""
    first, second = (
        repr((each.config, each.postconfig, each.comparisons, each.conjunction, each.infeasible))
        for each in (task, twin)
    )
    for name in (task.file.stem, twin.file.stem):
        first, second = first.replace(name, "ID"), second.replace(name, "ID")
    return first == second


# lists


def _has_list(copy: Path, name: str) -> bool:
    return (copy / f"{name}.json").is_file()


def _read_list(file: Path, name: str, problems: list[Problem]) -> tuple[str, ...]:
    """The ids that a list file names: ``{app: [name, …]}``."""
    document = JsonFile(file, file.name)
    fields = document.root()
    named = _named(fields) if fields is not None else ()
    problems.extend(document.problems)
    return named


def _named(fields: Fields) -> tuple[str, ...]:
    found: list[str] = []
    for app in fields.data:
        if app not in APPS:
            fields.fault(app, f"must be an app: {one_of(APPS)}")
        for index, name in enumerate(fields.texts(app, empty=True)):
            if not re.fullmatch(r"[\w-]+", name):
                fields.file.fault(f"{fields.at(app)}[{index}]", f"must be the name of a task, is {name!r:.80}")
            elif f"{app}/{name}" in found:
                fields.file.fault(f"{fields.at(app)}[{index}]", f"names {name} twice")
            found.append(f"{app}/{name}")
    return tuple(dict.fromkeys(found))


def _listed(task: UpstreamTask, lists: Mapping[str, tuple[str, ...]]) -> UpstreamTask:
    return replace(task, lists=tuple(name for name, named in lists.items() if task.id in named))


def _relisted(task: UpstreamTask) -> UpstreamTask:
    """The task in ``test_account`` if its tag says so: upstream lists one environment of airbyte wrongly."""
    if ACCOUNT not in task.tags or "test_non_account" not in task.lists:
        return task
    lists = (*(name for name in task.lists if name != "test_non_account"), "test_account")
    note = "upstream lists it in test_non_account; its tag says that it needs an account, so it is in test_account here"
    return replace(task, lists=tuple(sorted(set(lists), key=LISTS.index)), notes=(*task.notes, note))


def _names(name: str, named: tuple[str, ...], tasks: list[UpstreamTask]) -> tuple[str, ...]:
    """The ids of a list after tasks were moved: those of its file in its order, then those that came."""
    here = {task.id for task in tasks if name in task.lists}
    elsewhere = {task.id for task in tasks} - here
    return tuple(dict.fromkeys([*(task_id for task_id in named if task_id not in elsewhere), *sorted(here)]))
