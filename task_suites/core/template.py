"""A template: one task file, from which every seed makes one instance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from deskgym.envs.episode import Script
from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import CallMistakes, Mistake, Prose, convert, shown
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import Check, Evaluator
from deskgym.envs.needs import Needs
from deskgym.task_suites.core.check_places import place_mistakes
from deskgym.task_suites.core.params import Parameters, render, split_of
from deskgym.task_suites.core.registry import Registry, bind_call
from deskgym.task_suites.core.script import Step, play
from deskgym.task_suites.core.task import Hook, Task

SPLITS: Mapping[str, float] = {"train": 0.8, "test": 0.2}
"""The splits and their shares where a task file does not say otherwise."""


@dataclass(frozen=True)
class TaskFile:
    """The keys of a task file.

    Attributes:
        id: such as ``kalgebra/plot-2d``.
        title: a few words for tables.
        instruction: what the agent is asked; parameters as ``{name}`` or ``{name:format}``.
        difficulty: how hard it is for a person who knows the program.
        oracle: steps that solve it.
        wrong: scripts that must not earn the reward, by name; at least one.
        gui: scripts by its programs' windows alone, where those above use a program's command line: ``oracle``, and
            wrong attempts by name; see ``deskgym.task_suites.core.gui_only``.
        equivalent_mutants: changes of the oracle that solve the task too, such as ``drop 3``, and why they do.
        checks: all must pass; may be left out only where FAIL is right.
        verbose: the instruction as steps to follow.
        params: the parameters: drawn, or derived from those before.
        where: constraints on them.
        setup: hooks, in order.
        splits: shares of the splits by name.
        split_by: the drawn parameters that decide the split; all if left out.
        split_salt: another number deals the instances to the splits anew, for where few values leave one empty.
        max_steps: the default step limit.
        vocabulary: texts that the discrete action may type, right and wrong ones; the instruction's own words if left
            out. Their order here tells the agent nothing.
        keys: keys and combinations that it may press beside the usual ones.
        end: how the agent shall end it, ``done`` or ``answer``.
        feasible: false where FAIL is the right answer.
        needs: what it needs beyond what its programs need, such as ``{memory_mb: 6000}``; see
            ``deskgym.envs.needs.Needs``.
        programs: programs that it uses beside those that its setup, checks and scripts name.
        suite: in a folder of the user's own, the suite whose environments play its tasks.
        tags: free words to filter by.
        source: where it comes from.
        licence: of the source.
    """

    id: str
    title: Prose
    instruction: Prose
    difficulty: Literal["easy", "medium", "hard"]
    oracle: list[Any]
    wrong: dict[str, list[Any]]
    checks: list[Any] = field(default_factory=list)
    gui: dict[str, list[Any]] = field(default_factory=dict)
    equivalent_mutants: dict[str, str] = field(default_factory=dict)
    verbose: list[Prose] = field(default_factory=list)
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    where: list[dict[str, Any]] = field(default_factory=list)
    setup: list[Any] = field(default_factory=list)
    splits: dict[str, float] = field(default_factory=lambda: dict(SPLITS))
    split_by: list[str] | None = None
    split_salt: int = 0
    max_steps: int = 25
    vocabulary: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    end: Literal["done", "answer"] = "done"
    feasible: bool = True
    needs: dict[str, Any] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)
    suite: str = ""
    tags: list[str] = field(default_factory=list)
    source: str = "deskgym"
    licence: str = "Apache-2.0"


Registered = Callable[..., Any]


@dataclass(frozen=True)
class Template:
    """A task file and the functions that it names.

    Attributes:
        file: its keys.
        folder: where it lies.
        registry: what its names mean.
    """

    file: TaskFile
    folder: Path
    registry: Registry

    @property
    def id(self) -> str:
        """Such as ``"kalgebra/plot-2d"``."""
        return self.file.id

    @property
    def fixed(self) -> bool:
        """Whether it has one instance only: nothing is drawn."""
        return not self.parameters.drawn

    @cached_property
    def parameters(self) -> Parameters:
        """Its declared parameters."""
        converters = self.registry.converters(self.folder)
        return Parameters(self.file.params, self.file.where, self.registry.functions, converters)

    @cached_property
    def programs(self) -> tuple[str, ...]:
        """The names of the programs that it uses, sorted."""
        file = self.file
        parts = [file.setup, file.checks, file.oracle, file.wrong, file.params, file.where]
        return tuple(sorted({*file.programs, *self.registry.programs_in(parts)}))

    @cached_property
    def needs(self) -> Needs:
        """What its instances need of their machine."""
        return Needs.merged(self.registry.needs(self.programs), Needs.from_dict(self.file.needs))

    def draw(self, seed: int) -> dict[str, Any]:
        """The parameters of one instance: the same seed gives the same, everywhere and for ever.

        Raises:
            TaskError: they cannot be drawn.
        """
        try:
            return self.parameters.draw(f"{self.id}#{seed}")
        except CallMistakes as wrong:
            raise TaskError(f"task {self.id}#{seed}: {wrong}") from wrong

    def split_of_seed(self, seed: int) -> str:
        """The split of a seed's instance, at less cost than by drawing the whole of it.

        Raises:
            TaskError: it cannot be drawn.
        """
        try:
            return self.split(self.parameters.draw(f"{self.id}#{seed}", drawn_only=True))
        except CallMistakes as wrong:
            raise TaskError(f"task {self.id}#{seed}: {wrong}") from wrong

    def split(self, params: Mapping[str, Any]) -> str:
        """The split of the instance with these parameters."""
        names = self.file.split_by if self.file.split_by is not None else self.parameters.drawn
        return split_of(self.id, {name: params[name] for name in names}, self.file.splits, self.file.split_salt)

    def instance(self, seed: int, params: Mapping[str, Any] | None = None) -> Task:
        """The task of a seed (``params`` saves a second draw)."""
        params = self.draw(seed) if params is None else params
        try:
            return self.build(params, None if self.fixed else seed, self.split(params))
        except CallMistakes as wrong:
            raise TaskError(f"task {self.id}#{seed} with {shown(dict(params))}: {wrong}") from wrong

    def build(self, params: Mapping[str, Any], seed: int | None, split: str | None) -> Task:
        """The task with these parameters.

        Raises:
            CallMistakes: what does not fit, with its place in the file.
        """
        file, sections = self.file, Sections(self, params)
        task = Task(
            id=self.id if seed is None else f"{self.id}#{seed}",
            title=sections.text("title", file.title),
            instruction=sections.text("instruction", file.instruction),
            verbose=tuple(sections.text(("verbose", k), line) for k, line in enumerate(file.verbose)),
            hooks=tuple(
                Hook(name, partial(function, **given))
                for name, function, given in sections.calls("setup", file.setup, self.registry.hooks, "hook")
            ),
            evaluator=Evaluator(
                tuple(
                    Check.bound(name, function, given)
                    for name, function, given in sections.calls("checks", file.checks, self.registry.checks, "check")
                ),
                end=file.end if file.feasible else "fail",
            ),
            solve=sections.script("oracle", file.oracle),
            wrong_attempts={name: sections.script(("wrong", name), steps) for name, steps in file.wrong.items()},
            max_steps=file.max_steps,
            vocabulary=tuple(sections.text(("vocabulary", k), word) for k, word in enumerate(file.vocabulary)),
            keys=tuple(sections.text(("keys", k), keys) for k, keys in enumerate(file.keys)),
            difficulty=file.difficulty,
            tags=tuple(file.tags),
            source=f"{file.source} ({file.licence})",
            params=dict(params),
            split=split,
            seed=seed,
            needs=self.needs,
        )
        for name, steps in file.gui.items():
            sections.script(("gui", name), steps)  # of another task, but its mistakes are told with these
        sections.done()
        return task


class Sections:
    """Renders and binds the sections of a task file, and gathers what does not fit."""

    def __init__(self, template: Template, params: Mapping[str, Any]) -> None:
        self._registry, self._params = template.registry, params
        self._converters = template.registry.converters(template.folder)
        self._services = [service.name for service in template.needs.services]
        self._mistakes: list[Mistake] = []

    def text(self, path: str | tuple[str | int, ...], data: str) -> Any:
        """A text with its parameters; a lone parameter is made a text too."""
        try:
            return convert(render(data, self._params), str, {})
        except CallMistakes as wrong:
            self._note(wrong, path)
            return ""

    def calls(
        self, path: str | tuple[str | int, ...], data: list[Any], registry: Mapping[str, Registered], noun: str
    ) -> list[tuple[str, Registered, dict[str, Any]]]:
        """A list of calls, bound."""
        made = []
        for k, item in enumerate(data):
            try:
                call = bind_call(render(item, self._params), registry, noun, self._converters)
                if call[0] in CHECKS and noun == "check" and (lost := place_mistakes(call[2], self._services)):
                    raise CallMistakes([mistake.under(call[0]) for mistake in lost])
                made.append(call)
            except CallMistakes as wrong:
                self._note(wrong, path, k)
        return made

    def script(self, path: str | tuple[str | int, ...], data: list[Any]) -> Script:
        """A script's steps, bound."""
        calls = self.calls(path, data, self._registry.steps, "step")
        return partial(play, [Step(*call) for call in calls])

    def done(self) -> None:
        """Raise CallMistakes with all that did not fit."""
        if self._mistakes:
            raise CallMistakes(self._mistakes)

    def _note(self, wrong: CallMistakes, path: str | tuple[str | int, ...], *more: int) -> None:
        prefix = (path,) if isinstance(path, str) else path
        self._mistakes += [mistake.under(*prefix, *more) for mistake in wrong.mistakes]
