"""The schema of task files: reads them, and reports every mistake of all of them with file, line and column."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from deskgym.envs.action.actions import is_combination
from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import KEY, UNKNOWN, CallMistakes, Mistake, bind, kind_of, shown, unknown
from deskgym.envs.needs import Needs
from deskgym.task_suites.core.file_checker import FileChecker
from deskgym.task_suites.core.params import DRAWS, render
from deskgym.task_suites.core.registry import Registry
from deskgym.task_suites.core.schema_yaml import Document, Problem, TaskFileError
from deskgym.task_suites.core.script import STEPS
from deskgym.task_suites.core.sound_files import SoundFiles
from deskgym.task_suites.core.template import TaskFile, Template

MAX_STEPS = 1000
_STAND_IN: Mapping[str, Any] = {
    "id": "?", "title": "", "instruction": "", "difficulty": "easy", "oracle": [], "wrong": {},
}  # fmt: skip
_ID = re.compile(r"[a-z0-9][a-z0-9_.-]*(/[a-z0-9][a-z0-9_.-]*)+\Z")


def load_folders(folders: Iterable[Path], registry: Registry) -> dict[str, Template]:
    """All task files (``*.yaml``) below some folders, by id; ids must differ.

    Raises:
        TaskFileError: the mistakes of all files together.
        TaskError: there is no such folder.
    """
    templates: dict[str, Template] = {}
    places: dict[str, tuple[str, int]] = {}
    problems: list[Problem] = []
    sound = SoundFiles(registry)
    for folder in folders:
        if not folder.is_dir():
            raise TaskError(f"there is no folder {folder} with task files")
        for path in sorted(folder.rglob("*.y*ml")):
            document = Document.read(path)
            is_sound = sound.has(path)
            template = check(document, path.parent, registry, thorough=not is_sound)
            if template and not is_sound:
                sound.add(path)
            task_id = document.data.get("id") if isinstance(document.data, Mapping) else None
            if isinstance(task_id, str) and task_id in places:
                other = "{}:{}".format(*places[task_id])
                document.add(Mistake(("id",), f"duplicate id {task_id!r}; {other} has it already"))
            elif isinstance(task_id, str):
                places[task_id] = (str(path), document.place(("id",))[0])
            problems += document.problems
            if template:
                templates[template.id] = template
    if problems:
        raise TaskFileError(problems)
    return dict(sorted(templates.items()))


def check(document: Document, folder: Path, registry: Registry, thorough: bool = True) -> Template | None:
    """The template, or None with the mistakes in ``document.problems``.

    Args:
        document: the file.
        folder: where it lies.
        registry: what it may call.
        thorough: draw its parameters and make its calls, to see that they fit.
    """
    if document.data is None and document.problems:
        return None
    if not isinstance(document.data, Mapping):
        document.add(Mistake((), f"a task file is a mapping, got {kind_of(document.data)}"))
        return None
    try:
        values = bind(TaskFile, document.data, leading=0, noun="key")
    except CallMistakes as wrong:
        for mistake in wrong.mistakes:
            document.add(mistake)
        values = wrong.bound
    if thorough or document.problems:
        _Checker(document, values, folder, registry).run()
    return Template(TaskFile(**values), folder, registry) if not document.problems else None


class _Checker(FileChecker):
    def __init__(self, document: Document, values: Mapping[str, Any], folder: Path, registry: Registry) -> None:
        super().__init__(document)
        self._given, self._registry = values, registry
        self._file = TaskFile(**{**_STAND_IN, **values})
        known = [program for program in self._file.programs if program in registry.programs]
        self._template = Template(replace(self._file, needs={}, programs=known), folder, registry)  # the rest: below

    def run(self) -> None:
        self._check_plain()
        self._check_needs()
        parameters = self._template.parameters
        refused = self._refused("params") or self._refused("where")
        params_are_well = self._check_params(parameters) and not refused
        calls = self._file.params.items()
        drawn = [name for name, call in calls if isinstance(call, Mapping) and set(call) & set(DRAWS)]
        splits_are_well = self._check_splits(self._file, drawn)
        sample = self._draw(parameters, f"{self._file.id}#0") if params_are_well else None
        if sample is not None and splits_are_well and not self._template.fixed:
            self._check_split_sizes(self._file, self._template.split_of_seed)
        self._check_sections(sample)
        self._check_words(sample)
        self._check_scripts()

    def _check_plain(self) -> None:
        if "id" in self._given and not _ID.match(self._given["id"]):
            self._note(f"legal is an id such as 'program/plot-2d', got {shown(self._given['id'])}", "id")
        for key in ("title", "instruction"):
            if key in self._given and not self._given[key].strip():
                self._note(f"{key} is empty", key)
        if not 1 <= self._file.max_steps <= MAX_STEPS:
            self._note(f"legal is 1 to {MAX_STEPS}, got {self._file.max_steps}", "max_steps")

    def _check_needs(self) -> None:
        for name, value in self._file.needs.items():
            try:
                Needs.from_dict({name: value})
            except ValueError as error:
                self._note(str(error), "needs", name, KEY)
        for k, program in enumerate(self._file.programs):
            if program not in self._registry.programs:
                self._note(unknown("program", program, self._registry.programs), "programs", k)

    def _check_sections(self, sample: dict[str, Any] | None) -> None:
        declared = self._document.data.get("params")
        names = declared if isinstance(declared, Mapping) else ()
        try:
            self._template.build(sample if sample is not None else dict.fromkeys(names, UNKNOWN), 0, None)
        except CallMistakes as wrong:
            self._add(wrong)

    def _check_words(self, sample: dict[str, Any] | None) -> None:
        """The texts and keys of the discrete action; those with parameters as the sample has them."""
        for key in ("vocabulary", "keys"):
            for k, text in enumerate(self._given.get(key, ())):
                try:
                    made = render(text, sample or {})
                except CallMistakes:  # reported with the sections
                    continue
                if key == "vocabulary" and str(made) == "":
                    self._note("a word is empty", key, k)
                if key == "keys" and not is_combination(str(made)):
                    self._note(f"legal are keys such as 'f5' and 'ctrl+s', got {shown(made)}", key, k)

    def _check_scripts(self) -> None:
        feasible = self._file.feasible
        right = self._file.end if feasible else "fail"
        names = [next(iter(c)) for c in self._file.checks if isinstance(c, Mapping) and len(c) == 1]
        if not self._file.checks and feasible and not self._refused("checks"):
            self._note("the task has no checks; only a task with 'feasible: false' may leave them out", "checks")
        if any(str(name).startswith("answer.") for name in names) and right != "answer":
            self._note("the checks read an answer, so the task needs 'end: answer'", "checks")
        if "oracle" in self._given:
            if not self._given["oracle"]:
                self._note("the oracle has no steps", "oracle")
            else:
                self._check_ending(self._given["oracle"], right)
        if "wrong" in self._given and not self._given["wrong"]:
            self._note("the task has no wrong attempt: name at least one script that must not earn the reward", "wrong")
        for name, steps in self._given.get("wrong", {}).items():
            if not steps:
                self._note(f"the wrong attempt {name!r} has no steps", "wrong", name)

    def _check_ending(self, steps: list[Any], right: str) -> None:
        last = steps[-1]
        name = next(iter(last)) if isinstance(last, Mapping) and last else None
        if name in STEPS and name != right:
            where = len(steps) - 1
            self._note(f"the oracle ends with {name!r}; right for this task is {right!r}", "oracle", where)

    def _refused(self, key: str) -> bool:
        """Whether the key was given and refused already."""
        return key in self._document.data and key not in self._given
