"""What a dialogue file says: its keys, and how a folder of them is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import CallMistakes, Mistake, Prose, bind, kind_of
from deskgym.task_suites.core.params import Parameters
from deskgym.task_suites.core.schema_yaml import Document, Problem, TaskFileError
from deskgym.task_suites.core.template import SPLITS

Difficulty = Literal["easy", "medium", "hard"]
ChoiceAction = Literal["fast_fail", "best_guess", "plot_qa", "insight_mining"]


@dataclass(frozen=True)
class FactFile:
    """What the user knows: ``about`` are words by which a question is about it, ``answer`` is what the user says."""

    about: list[str]
    answer: str


@dataclass(frozen=True)
class Clarify:
    """The query in vague words, and the facts that the user tells when asked."""

    query: Prose
    facts: list[FactFile]


@dataclass(frozen=True)
class Update:
    """The wrong code that the history holds, by its name in ``wrong``, and what the user says about it."""

    from_: str
    complaint: Prose


@dataclass(frozen=True)
class TurnFile:
    """The keys of a turn.

    Attributes:
        id: kebab-case, unique in the file.
        query: the user's words.
        result: variable → result type; several are several intents. Empty for a choice.
        code: the reference; for a choice what an analyst runs before answering.
        wrong: code that must not earn the reward, by name; at least two, none for a choice.
        compare: options of the comparator by variable.
        probes: by variable, for a function a Python expression of argument tuples, for a model one of rows. ``rng`` in
            it is a NumPy generator that each evaluation seeds anew.
        truth: by variable, for a model: the true values of those rows.
        metric: by variable, for a model: ``r2``, ``accuracy`` or ``f1``.
        clarify: makes the clarification twin.
        update: makes the update_code twin.
        action: of a choice turn.
        choice: code that sets ``right`` and ``wrong``, ``answerable`` for fast_fail, and ``tied`` where another
            answer may be as right: nothing is asked there.
        plot: for plot_qa, the code that draws the figure.
        plot_query: what the user said to get it.
        params: drawn for this turn alone.
        where: constraints on them.
        difficulty: the dialogue's if left out.
        equivalent_mutants: changes of the code that are right too, such as ``other pct``, and why they are.
    """

    id: str
    query: Prose
    result: dict[str, str] = field(default_factory=dict)
    code: str = ""
    wrong: dict[str, str] = field(default_factory=dict)
    compare: dict[str, dict[str, Any]] = field(default_factory=dict)
    probes: dict[str, str] = field(default_factory=dict)
    truth: dict[str, str] = field(default_factory=dict)
    metric: dict[str, Literal["r2", "accuracy", "f1"]] = field(default_factory=dict)
    clarify: Clarify | None = None
    update: Update | None = None
    action: ChoiceAction | None = None
    choice: str = ""
    plot: str = ""
    plot_query: str = ""
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    where: list[dict[str, Any]] = field(default_factory=list)
    difficulty: Difficulty | None = None
    equivalent_mutants: dict[str, str] = field(default_factory=dict)

    def parameters(self, known: Mapping[str, Any]) -> Parameters:
        """The dialogue's, whose values are ``known``, and then the turn's own."""
        dialogues = {name: {"given": {"value": _literally(value)}} for name, value in known.items()}
        return Parameters({**dialogues, **self.params}, self.where, {**FUNCTIONS, "given": given})

    @property
    def draws_only(self) -> bool:
        """Whether all that it gives are plots."""
        return bool(self.result) and set(self.result.values()) == {"plot"}


@dataclass(frozen=True)
class DialogueFile:
    """The keys of a dialogue file.

    Attributes:
        id: domain and persona, such as ``penguins/ines``.
        title: a few words.
        persona: who asks.
        goal: what for.
        turns: 3 to 8.
        difficulty: of the turns that name none.
        params: drawn or derived, as in the other suites' task files.
        where: constraints on them.
        splits: shares of the splits by name.
        split_by: the drawn parameters that decide the split; all if left out.
        split_salt: another number deals the instances to the splits anew.
    """

    id: str
    title: Prose
    persona: Prose
    goal: Prose
    turns: list[TurnFile]
    difficulty: Difficulty = "medium"
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    where: list[dict[str, Any]] = field(default_factory=list)
    splits: dict[str, float] = field(default_factory=lambda: dict(SPLITS))
    split_by: list[str] | None = None
    split_salt: int = 0

    @property
    def domain(self) -> str:
        """The domain's name."""
        return self.id.partition("/")[0]

    @property
    def parameters(self) -> Parameters:
        """The dialogue's own."""
        return Parameters(self.params, self.where, FUNCTIONS)


def text(of: str) -> str:
    """A derived parameter: a text made of those before it."""
    return of


def given(value: Any) -> Any:
    """A parameter that is there already."""
    return value


def _literally(value: Any) -> Any:
    return value.replace("{", "{{").replace("}", "}}") if isinstance(value, str) else value


FUNCTIONS: Mapping[str, Any] = {"text": text}
"""What derives parameters, beside ``formula``."""


def fill(source: str, params: Mapping[str, Any]) -> str:
    """A text with ``{name}`` of every declared parameter replaced by ``str(value)``; all other braces stay.

    Examples:
        >>> fill("{n} of {'n': 1} and {m}", {"n": 2})
        "2 of {'n': 1} and {m}"
    """
    if "{" not in source or not params:
        return source
    return _pattern(tuple(params)).sub(lambda found: str(params[found[1]]), source)


@lru_cache(maxsize=1024)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"\{(" + "|".join(names) + r")\}")


def read_dialogue(document: Document, domains: Iterable[str]) -> DialogueFile | None:
    """The dialogue of a document, or None with the mistakes in ``document.problems``.

    Args:
        document: the YAML file.
        domains: the names of the domains that there are.
    """
    from deskgym.task_suites.table_analysis.dialogue_check import check_dialogue

    if document.data is None and document.problems:
        return None
    if not isinstance(document.data, Mapping):
        document.add(Mistake((), f"a dialogue file is a mapping, got {kind_of(document.data)}"))
        return None
    try:
        file = DialogueFile(**bind(DialogueFile, document.data, leading=0, noun="key"))
    except CallMistakes as wrong:
        for mistake in wrong.mistakes:
            document.add(mistake)
        return None
    check_dialogue(document, file, domains)
    return None if document.problems else file


def load_dialogues(places: Iterable[str | Path], domains: Iterable[str]) -> dict[str, DialogueFile]:
    """All dialogue files below folders (``*.yaml``), or single files, by id, sorted.

    Raises:
        TaskFileError: the mistakes of all files together.
        TaskError: there is no such folder.
    """
    names = tuple(domains)
    files: dict[str, DialogueFile] = {}
    homes: dict[str, str] = {}
    problems: list[Problem] = []
    for path in _paths(places):
        document = Document.read(path)
        file = read_dialogue(document, names)
        if file is not None and file.id in files:
            document.add(Mistake(("id",), f"duplicate id {file.id!r}; {homes[file.id]} has it already"))
        problems += document.problems
        if file is not None:
            files[file.id], homes[file.id] = file, str(path)
    if problems:
        raise TaskFileError(problems)
    return dict(sorted(files.items()))


def _paths(places: Iterable[str | Path]) -> Iterable[Path]:
    for place in map(Path, places):
        if place.is_dir():
            yield from sorted(place.rglob("*.y*ml"))
        elif place.is_file():
            yield place
        else:
            raise TaskError(f"there is no folder or file {place} with dialogues")
