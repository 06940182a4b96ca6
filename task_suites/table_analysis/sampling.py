"""Draws a dialogue: a file and a seed make its turns, as tasks of every mode and action type."""

from __future__ import annotations

import copy
import hashlib
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import CallMistakes
from deskgym.task_suites.core.params import split_of
from deskgym.task_suites.table_analysis import host_run
from deskgym.task_suites.table_analysis.choices import OPTIONS, Answers, make_choice, read_answers, read_right
from deskgym.task_suites.table_analysis.code_names import needed, sliced
from deskgym.task_suites.table_analysis.dialogue_file import DialogueFile, TurnFile, fill
from deskgym.task_suites.table_analysis.domains import Domain
from deskgym.task_suites.table_analysis.turns import CODE_ACTIONS, ActionType, Choice, Fact, Intent, Mode, Past, Turn
from deskgym.task_suites.table_analysis.wrong_codes import WrongCodes

RIGHT = "right, tied"
"""What is needed of a choice's code where its mistakes are not."""
TRIES = 20
"""How many draws a seed has until the options of its choices are distinct."""


class TooFewOptions(TaskError):
    """A choice of an instance has too few options that differ, however often it is drawn anew."""

    def __init__(self, instance: str) -> None:
        super().__init__(f"{instance}: a choice has fewer than {OPTIONS} options that differ in {TRIES} draws")


@dataclass(frozen=True)
class Place:
    """What a task id names: a turn of a dialogue (an index), in a mode, with an action type."""

    turn: int
    mode: Mode
    action: ActionType


def places(file: DialogueFile) -> dict[str, Place]:
    """All tasks of a dialogue, by id."""
    found: dict[str, Place] = {}
    for k, turn in enumerate(file.turns):
        for action in _actions(turn):
            suffix = f".{action}" if action else ""
            for mode in _modes(action):
                found[f"{file.id}/{mode}/{turn.id}{suffix}"] = Place(k, mode, action)
    return found


def _actions(turn: TurnFile) -> Iterable[ActionType]:
    if turn.action:
        return (turn.action,)
    twins: tuple[tuple[ActionType, object], ...] = (("update_code", turn.update), ("clarification", turn.clarify))
    return ("", *(action for action, given in twins if given))


def _modes(action: ActionType) -> tuple[Mode, Mode]:
    return ("action", "private-action") if action else ("normal", "private")


class SampledDialogue:
    """A dialogue with all parameters sampled.

    Args:
        file: the dialogue.
        domain: its domain.
        seed: of the instance.
        attempt: 0, or which draw anew this is.
    """

    def __init__(self, file: DialogueFile, domain: Domain, seed: int, attempt: int = 0) -> None:
        self.file, self.domain, self.seed = file, domain, seed
        self._key = f"{file.id}#{seed}" + (f"~{attempt}" if attempt else "")
        self.params = self._draw(file.parameters.draw, self._key)
        self.variant = int(random.Random(f"{self._key} variant").random() * domain.variants)
        self._turns: dict[int, dict[str, Any]] = {}
        self._answers: dict[int, Answers] = {}

    def _draw(self, draw: Any, key: str) -> dict[str, Any]:
        try:
            return draw(key)  # type: ignore[no-any-return]
        except CallMistakes as wrong:
            raise TaskError(f"dialogue {key}: {wrong}") from wrong

    @cached_property
    def split(self) -> str:
        """By the dialogue's drawn parameters; by the tables' variant where it has none."""
        return self._split_of(self.variant)

    @property
    def _by_parameters(self) -> list[str]:
        return list(self.file.split_by or self.file.parameters.drawn)

    def _split_of(self, variant: int) -> str:
        file, names = self.file, self._by_parameters
        sampled = {name: self.params[name] for name in names} if names else {"variant": variant}
        return split_of(file.id, sampled, file.splits, file.split_salt)

    def other(self, seed: int) -> SampledDialogue:
        """The same dialogue with another seed."""
        return SampledDialogue(self.file, self.domain, seed)

    def turn_params(self, k: int) -> dict[str, Any]:
        """The dialogue's and the turn's own."""
        if k not in self._turns:
            turn = self.file.turns[k]
            own = f"{self._key} {turn.id}"
            self._turns[k] = self._draw(turn.parameters(self.params).draw, own) if turn.params else self.params
        return self._turns[k]

    def fill(self, k: int, text: str) -> str:
        """A text or code of turn ``k`` with its parameters."""
        return fill(text, self.turn_params(k)).strip("\n")

    def pasts(self, k: int) -> list[Past]:
        """What turn ``k`` leaves in the history, its answer included; plots do not run unless something needs them."""
        turn = self.file.turns[k]
        query, code = self.fill(k, turn.query).strip(), self.fill(k, turn.code)
        if turn.action:
            return [*self.shown_plot(k), Past(query, code, self.right(k).right)]
        return [Past(query, code, plot="plot" in turn.result.values(), runs=not turn.draws_only)]

    def shown_plot(self, k: int) -> list[Past]:
        """The figure that a plot_qa turn is about."""
        turn = self.file.turns[k]
        if not turn.plot:
            return []
        query = turn.plot_query or f"Draw a figure that answers this: {turn.query}"
        return [Past(self.fill(k, query).strip(), self.fill(k, turn.plot), plot=True, runs=False)]

    def needed_for(self, k: int, final: str) -> tuple[str, ...]:
        """What matters for ``final``, code of turn ``k``, of the code before it; and then ``final``."""
        before = []
        for j, turn in enumerate(self.file.turns[: k + 1]):
            if j < k or turn.action:
                before += [self.fill(j, turn.plot), self.fill(j, turn.code)]
        return (*sliced(before, [final]), final)

    def results(self, k: int) -> dict[str, Any]:
        """The host's variables after the reference of turn ``k``, a code turn."""
        codes = self.needed_for(k, self.fill(k, self.file.turns[k].code))
        return host_run.run(self.domain, self.variant, codes, self.name(k))

    def name(self, k: int) -> str:
        """Turn ``k`` in messages."""
        return f"dialogue {self.file.id}, turn {self.file.turns[k].id!r}, seed {self.seed}"

    def answers(self, k: int) -> Answers:
        """What the choice code of turn ``k`` gives."""
        if k not in self._answers:
            turn = self.file.turns[k]
            codes = self.needed_for(k, self.fill(k, turn.choice))
            try:
                self._answers[k] = answers_of(self.domain, self.variant, codes, turn.action or "")
            except TaskError as error:
                raise TaskError(f"{self.name(k)}: {error}") from error
        return self._answers[k]

    def right(self, k: int) -> Answers:
        """What the choice code of turn ``k`` gives, without the mistakes where that takes less time."""
        turn = self.file.turns[k]
        if turn.action == "fast_fail":
            return self.answers(k)
        codes = tuple(sliced(self.needed_for(k, self.fill(k, turn.choice)), [RIGHT]))
        try:
            return right_of(self.domain, self.variant, codes)
        except TaskError as error:
            raise TaskError(f"{self.name(k)}: {error}") from error

    def on(self, variant: int) -> SampledDialogue:
        """The same dialogue on another variant of the tables, which is of the same split."""
        other = copy.copy(self)
        other.variant, other._answers = variant, {}
        return other

    def _tables(self, task_id: str, k: int, fixed: bool) -> Iterator[tuple[int, Answers]]:
        """Variants of the tables in random order with the answers of turn ``k``; the own first if it is fixed."""
        rng = random.Random(f"{task_id}#{self.seed} tables")
        order = sorted(range(self.domain.variants), key=lambda _: rng.random())
        if fixed:
            order.sort(key=lambda variant: variant != self.variant)
        for variant in order:
            sampled = self.on(variant)
            if fixed or self._by_parameters or self._split_of(variant) == self.split:
                yield variant, sampled.right(k)

    def _answerable(self, k: int) -> SampledDialogue:
        """A draw of the same seed in which the fast_fail turn ``k`` can be answered; this one if there is none."""
        return next((other for other in attempts(self.file, self.domain, self.seed) if other._can_answer(k)), self)

    def _can_answer(self, k: int) -> bool:
        codes = sliced(self.needed_for(k, self.fill(k, self.file.turns[k].choice)), ["answerable"])
        return bool(host_run.run(self.domain, self.variant, codes, self.name(k)).get("answerable"))

    def turn(self, task_id: str, place: Place, fixed: bool = False) -> Turn | None:
        """The turn as a task, or None where the options of its choice are too few.

        Args:
            task_id: of the turn.
            place: of the turn.
            fixed: a choice is about this dialogue's tables; otherwise about those that its options draw.
        """
        k, file = place.turn, self.file.turns[place.turn]
        if not file.action:
            return self._turn(task_id, place, None)
        own = self.variant if fixed else None
        tables = self._tables(task_id, k, fixed)
        values = None
        if file.action == "fast_fail" and not self._can_answer(k):
            values = self._answerable(k)._tables(task_id, k, False)
        found = make_choice(tables, task_id, self.seed, own, lambda variant: self.on(variant).answers(k), values)
        return found and self.on(found[1])._turn(task_id, place, found[0])

    def _turn(self, task_id: str, place: Place, choice: Choice | None) -> Turn:
        k, file = place.turn, self.file.turns[place.turn]
        codes = {name: self.fill(k, code) for name, code in file.wrong.items()}
        code = self.fill(k, file.code)
        return Turn(
            id=f"{task_id}#{self.seed}",
            domain=self.domain.name,
            variant=self.variant,
            persona=fill(self.file.persona, self.params),
            goal=fill(self.file.goal, self.params),
            mode=place.mode,
            action=place.action,
            query=self.fill(k, _query(file, place.action)).strip(),
            intents=self._intents(k, choice),
            history=self._history(k, place.action, [code, self.fill(k, file.choice), *codes.values()]),
            code=code,
            wrong={} if choice else WrongCodes(codes, self, k),
            choice=choice,
            facts=self._facts(k) if place.action == "clarification" else (),
            library_seed=self._library_seed if place.mode.startswith("private") else None,
            seed=self.seed,
            split=self.split,
            difficulty=file.difficulty or self.file.difficulty,
            title=fill(self.file.title, self.params),
            params=dict(self.turn_params(k)),
        )

    @property
    def _library_seed(self) -> int:
        """One library for all turns of an instance, whatever was drawn anew."""
        return int.from_bytes(hashlib.sha256(f"{self.file.id}#{self.seed} library".encode()).digest()[:4], "big") >> 1

    def _intents(self, k: int, choice: Choice | None) -> tuple[Intent, ...]:
        turn = self.file.turns[k]
        if choice:
            return (Intent("choice", "unanswerable" if self.right(k).answerable is False else "choice"),)
        return tuple(
            Intent(
                name,
                kind,  # type: ignore[arg-type]
                probes=self.fill(k, turn.probes.get(name, "")),
                truth=self.fill(k, turn.truth.get(name, "")),
                metric=turn.metric.get(name, ""),
                options=turn.compare.get(name, {}),
            )
            for name, kind in turn.result.items()
        )

    def _facts(self, k: int) -> tuple[Fact, ...]:
        clarify = self.file.turns[k].clarify
        facts = clarify.facts if clarify else []
        return tuple(Fact(tuple(word.lower() for word in f.about), self.fill(k, f.answer)) for f in facts)

    def _history(self, k: int, action: ActionType, final: list[str]) -> tuple[Past, ...]:
        turn = self.file.turns[k]
        pasts = [past for j in range(k) for past in self.pasts(j)]
        shown = [replace(past, runs=True) for past in self.shown_plot(k)]
        marks = needed([past.code for past in pasts], [*final, *(past.code for past in shown)], [p.runs for p in pasts])
        pasts = [replace(past, runs=mark) for past, mark in zip(pasts, marks, strict=True)]
        if action == "update_code" and turn.update:
            pasts.append(Past(self.fill(k, turn.query).strip(), self.fill(k, turn.wrong[turn.update.from_])))
        return (*pasts, *shown)


@lru_cache(maxsize=8192)
def answers_of(domain: Domain, variant: int, codes: tuple[str, ...], action: str) -> Answers:
    """What choice code gives: few bytes, and often the same, for a choice is in the history of other turns too."""
    return read_answers(host_run.run(domain, variant, codes, "its code"), action, "its choice")


@lru_cache(maxsize=16384)
def right_of(domain: Domain, variant: int, codes: tuple[str, ...]) -> Answers:
    """The right option after codes that set it, without mistakes: a few hundred bytes."""
    return read_right(host_run.run(domain, variant, codes, "its code"), "its choice")


def _query(turn: TurnFile, action: ActionType) -> str:
    if action == "update_code" and turn.update:
        return turn.update.complaint
    if action == "clarification" and turn.clarify:
        return turn.clarify.query
    return turn.query


def attempts(file: DialogueFile, domain: Domain, seed: int) -> Iterator[SampledDialogue]:
    """The draws of a seed, best first: all of the first one's split, so that the split depends on the seed alone."""
    first = SampledDialogue(file, domain, seed)
    yield first
    others = (SampledDialogue(file, domain, seed, attempt) for attempt in range(1, TRIES * TRIES))
    yield from islice((sampled for sampled in others if sampled.split == first.split), TRIES - 1)


def sample_turn(file: DialogueFile, domain: Domain, task_id: str, place: Place, seed: int) -> Turn:
    """One turn of a seed.

    Raises:
        TooFewOptions: of its choice, in all draws.
        TaskError: code of the file fails.
    """
    for sampled in attempts(file, domain, seed):
        turn = sampled.turn(task_id, place)
        if turn is not None:
            return turn
    raise TooFewOptions(f"{task_id}#{seed}")


def sample_dialogue(file: DialogueFile, domain: Domain, seed: int, private: bool = False) -> tuple[Turn, ...]:
    """The main line of a seed: every turn of the file, code turns as normal ones and choices as their action.

    Raises:
        TooFewOptions: no draw has options for the choices of all turns.
        TaskError: code of the file fails.
    """
    wanted = {"private", "private-action"} if private else {"normal", "action"}
    line = {
        task_id: place
        for task_id, place in places(file).items()
        if place.mode in wanted and place.action not in CODE_ACTIONS
    }
    for sampled in attempts(file, domain, seed):
        turns = [turn for task_id, place in line.items() if (turn := sampled.turn(task_id, place, fixed=True))]
        if len(turns) == len(line):
            return tuple(turns)
    raise TooFewOptions(f"{file.id}#{seed}")
