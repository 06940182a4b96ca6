"""A TaskSuite: a named set of templates and tasks, with splits; where an environment gets its tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from deskgym.envs.episode import Script, TaskLike
from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import unknown
from deskgym.envs.needs import Needs
from deskgym.envs.options import checked
from deskgym.task_suites.core.gui_only import gui_only
from deskgym.task_suites.core.registry import Functions, Registry
from deskgym.task_suites.core.schema import load_folders
from deskgym.task_suites.core.task import Task
from deskgym.task_suites.core.template import Template
from deskgym.task_suites.core.verify.inputs import ProofInputs, inputs_of
from deskgym.task_suites.core.verify.mutants import mutants_of

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.attacks import Attacks

SEEDS = 2**31
"""Instances are numbered 0 to this."""

SPLIT_TRIES = 500
"""How many instances are looked at for one of the wanted split."""


class Named(Protocol):
    """A source of tasks that has a name for messages."""

    name: str

    def ids(self, split: str | None = None) -> list[str]: ...  # noqa: D102


TaskT = TypeVar("TaskT", bound=TaskLike)


class SeededTasks(ABC, Generic[TaskT]):
    """A source of templates, each of which has an instance for every seed.

    Attributes:
        name: for messages.
    """

    name: str

    @property
    @abstractmethod
    def templates(self) -> Mapping[str, Any]:
        """All templates by id, sorted."""

    @property
    @abstractmethod
    def splits(self) -> list[str]:
        """The names of all splits."""

    @abstractmethod
    def _is_in(self, task_id: str, split: str) -> bool:
        """Whether a template may have instances in a split."""

    @abstractmethod
    def _instance(self, task_id: str, seed: int) -> TaskT:
        """An instance of a template."""

    @abstractmethod
    def _drawn(self, task_id: str, seed: int, split: str | None) -> TaskT | None:
        """An instance of a template; None where it is not of the split, or another seed should be drawn."""

    def _is_fixed(self, task_id: str) -> bool:
        """Whether a template has no parameters."""
        return False

    def ids(self, split: str | None = None) -> list[str]:
        """The ids of all templates, sorted; with ``split`` those that have instances in it.

        Raises:
            TaskError: there is no such split.
        """
        if split is None:
            return list(self.templates)
        if split not in self.splits:
            raise TaskError(f"suite {self.name!r}: {unknown('split', split, self.splits)}")
        return [task_id for task_id in self.templates if self._is_in(task_id, split)]

    def get(self, task_id: str, seed: int | None = None) -> TaskT:
        """One instance: of a template by ``seed`` (0 if None), or by an instance id such as ``"a/b#1234"``.

        Raises:
            TaskError: there is no such id, or it has a seed of its own.
        """
        base, mark, number = task_id.partition("#")
        if base not in self.templates:
            raise TaskError(f"suite {self.name!r}: {unknown('task', base, self.templates)}")
        if mark:
            if not number.isdecimal() or int(number) >= SEEDS:
                raise TaskError(f"task {task_id!r}: after the # comes a seed, 0 to {SEEDS - 1}")
            if self._is_fixed(base):
                raise TaskError(f"task {base!r} has no parameters, so only one instance; leave out the #{number}")
            seed = int(number)
        return self._instance(base, legal_seed(task_id, seed or 0))

    def draw(self, rng: np.random.Generator, pattern: str | None = None, split: str | None = None) -> TaskT:
        """Draw an instance of the tasks that match ``pattern`` (id, instance id, glob, or None for all) and ``split``.

        Raises:
            TaskError: nothing matches, or no instance of the split was found.
        """
        if pattern is not None and "#" in pattern:
            task = self.get(pattern)
            if split is not None and task.split != split:
                raise TaskError(f"task {pattern!r} is in the split {task.split!r}, not in {split!r}")
            return task
        candidates = matching(self, pattern, split)
        while candidates:
            task_id = candidates[int(rng.integers(len(candidates)))]
            for _ in range(1 if self._is_fixed(task_id) else SPLIT_TRIES):
                found = self._drawn(task_id, int(rng.integers(SEEDS)), split)
                if found is not None:
                    return found
            candidates.remove(task_id)
        what = f"of {pattern!r} " if pattern else ""
        raise TaskError(f"suite {self.name!r}: no instance {what}in the split {split!r} was found")


class TaskSuite(SeededTasks[Task]):
    """Templates from folders of task files; implements ``deskgym.envs.episode.TaskSource``.

    Making one reads nothing: the files are read when a task is first asked for. It is picklable if the registered
    functions are, which functions of modules are.

    Args:
        name: for messages.
        folders: searched for ``*.yaml``, folders in them too.
        programs: the names of the programs that the task files may use.
        program_folders: where programs are found beside the package's own.
        hooks: ``hook(setup, **arguments)``; these and the following are added to the generic ones.
        checks: ``check(final, **arguments) -> (passed, message)``.
        macros: ``macro(screen, **arguments)``, a generator of bursts.
        functions: ``function(**arguments)``, for derived parameters and constraints.
        readers: ``reader(machine, **arguments)``, for the ``state`` check.
        verbose: instructions tell the task's ``verbose`` steps, too.
        gui_only: the command lines of programs are closed; see ``deskgym.task_suites.core.gui_only``.
    """

    @checked
    def __init__(
        self,
        name: str,
        folders: str | Path | Sequence[str | Path],
        *,
        programs: Sequence[str] = (),
        program_folders: Sequence[str] = (),
        hooks: Functions | None = None,
        checks: Functions | None = None,
        macros: Functions | None = None,
        functions: Functions | None = None,
        readers: Functions | None = None,
        verbose: bool = False,
        gui_only: bool = False,
    ) -> None:
        self.name, self.verbose, self.gui_only = name, verbose, gui_only
        self.folders = [Path(f) for f in ([folders] if isinstance(folders, (str, Path)) else folders)]
        own = Registry().extended(
            hooks=hooks or {}, checks=checks or {}, steps=macros or {}, functions=functions or {}, readers=readers or {}
        )
        self.registry = own.with_programs(programs, program_folders)
        self._templates: dict[str, Template] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_templates": None}

    @property
    def templates(self) -> dict[str, Template]:
        """All templates by id.

        Raises:
            TaskFileError: the mistakes of all task files together.
        """
        if self._templates is None:
            loaded = load_folders(self.folders, self.registry)
            if self.gui_only:
                variants = filter(None, map(gui_only, loaded.values()))
                loaded = {each.id: each for each in sorted(variants, key=lambda each: each.id)}
            self._templates = loaded
        return self._templates

    @property
    def splits(self) -> list[str]:
        """The names of all splits."""
        return sorted({split for template in self.templates.values() for split in template.file.splits})

    def needs(self, pattern: str | None = None, split: str | None = None) -> Needs:
        """What all tasks that match ``pattern`` and ``split`` need together.

        Raises:
            TaskError: nothing matches.
        """
        ids = matching(self, pattern and pattern.partition("#")[0], split)
        return Needs.merged(*(self.templates[task_id].needs for task_id in ids))

    def proof_inputs(self, task_id: str) -> ProofInputs:
        """What the proof of a template depends on."""
        return inputs_of(self.templates[task_id])

    def mutants(self, task: Task) -> Mapping[str, Script]:
        """Changed oracles of an instance by name; none of them may earn the reward."""
        return mutants_of(self.templates[task.id.partition("#")[0]], task)

    def equivalent_mutants(self, task_id: str) -> Mapping[str, str]:
        """Those of a template that solve it too: name → why."""
        return self.templates[task_id].file.equivalent_mutants

    def attacks(self, task: Task) -> Attacks:
        """What can be tried to earn an instance's reward without solving it, by name."""
        from deskgym.task_suites.core.verify.attacks import Target, desktop_attacks

        return desktop_attacks(Target(task, self), self.registry.folders)

    def _is_in(self, task_id: str, split: str) -> bool:
        template = self.templates[task_id]
        if template.fixed:
            return template.split(template.draw(0)) == split
        return split in template.file.splits

    def _is_fixed(self, task_id: str) -> bool:
        return self.templates[task_id].fixed

    def _instance(self, task_id: str, seed: int) -> Task:
        return self._told(self.templates[task_id].instance(seed))

    def _drawn(self, task_id: str, seed: int, split: str | None) -> Task | None:
        template = self.templates[task_id]
        params = template.draw(seed)
        if split is not None and template.split(params) != split:
            return None
        return self._told(template.instance(seed, params))

    def _told(self, task: Task) -> Task:
        return replace(task, instruction=with_steps(task.instruction, task.verbose)) if self.verbose else task


def with_steps(instruction: str, steps: Sequence[str]) -> str:
    """An instruction, and the steps to follow, numbered."""
    if not steps:
        return instruction
    numbered = "\n".join(f"{k}. {step}" for k, step in enumerate(steps, 1))
    return f"{instruction}\n\nThese steps do it:\n{numbered}"


def legal_seed(task_id: str, seed: int) -> int:
    """The seed. Raises TaskError where it is none."""
    if not 0 <= seed < SEEDS:
        raise TaskError(f"task {task_id!r}: a seed is 0 to {SEEDS - 1}, got {seed}")
    return seed


def matching(suite: Named, pattern: str | None, split: str | None) -> list[str]:
    """The ids of a suite's tasks that match ``pattern`` (id, glob, or None for all) and ``split``.

    Raises:
        TaskError: none does; the message lists near matches.
    """
    ids = suite.ids(split)
    if pattern is None:
        return ids
    if any(mark in pattern for mark in "*?["):
        found = [task_id for task_id in ids if fnmatchcase(task_id, pattern)]
    else:
        found = [pattern] if pattern in ids else []
    if not found:
        within = f" in the split {split!r}" if split and matching(suite, pattern, None) else ""
        raise TaskError(f"suite {suite.name!r}{within}: {unknown('task', pattern, ids)}")
    return found
