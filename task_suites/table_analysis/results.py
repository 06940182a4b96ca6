"""The paper's Table 3 of judged turns: by mode, by action type and by result type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from deskgym.task_suites.table_analysis.embeddings import Embeddings
from deskgym.task_suites.table_analysis.metrics import (
    CHOICE_KINDS,
    ScoredIntent,
    Scores,
    is_choice,
    score_intents,
    summarise,
)
from deskgym.task_suites.table_analysis.turns import ACTION_TYPES, MODES, Outcome, ResultType

ONE_LETTER = 0.9
"""Share of the choices from which on an agent is said to answer with one letter."""
_ENOUGH = 8  # fewer choices do not tell


@dataclass(frozen=True)
class Row:
    """One line of a table.

    Attributes:
        label: what the line is about, such as ``"Private"``.
        scores: over its intents.
        errors: turns that could not be judged; they count for nobody.
    """

    label: str
    scores: Scores
    errors: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return {"label": self.label, "errors": self.errors} | self.scores.to_dict()


@dataclass(frozen=True)
class Results:
    """The tables.

    Attributes:
        modes: Table 3: the four modes, Code, Choice and Overall.
        actions: a row per action type.
        kinds: a row per result type.
        episodes: how many episodes were read.
        turns: how many turns they have.
        left_out: episodes without a table analysis in them, such as one that was cut off; by the reason.
        notes: what a reader must know.
    """

    modes: tuple[Row, ...]
    actions: tuple[Row, ...]
    kinds: tuple[Row, ...]
    episodes: int
    turns: int
    left_out: dict[str, int]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        tables = {name: [row.to_dict() for row in getattr(self, name)] for name in ("modes", "actions", "kinds")}
        counts = {"episodes": self.episodes, "turns": self.turns, "left_out": self.left_out}
        return counts | tables | {"notes": list(self.notes)}


def make_results(
    outcomes: Sequence[Outcome],
    embeddings: Embeddings | None = None,
    *,
    episodes: int | None = None,
    left_out: dict[str, int] | None = None,
) -> Results:
    """The tables of some outcomes.

    Args:
        outcomes: of turns, at least one.
        embeddings: for AccSE; the local ones if None.
        episodes: how many they are from; as many as turns if None.
        left_out: episodes that are not among them, by the reason.

    Raises:
        ValueError: an outcome cannot be scored.
    """
    embeddings = embeddings or Embeddings()
    scored = score_intents(outcomes, embeddings)
    failed = [outcome for outcome in outcomes if outcome.error is not None]
    return Results(
        tuple(_row(label, scored, failed, *tests) for label, tests in _MODE_ROWS.items()),
        tuple(_row(action, scored, failed, *_by_action(action)) for action in ACTION_TYPES),
        tuple(_row(kind, scored, failed, *_by_kind(kind)) for kind in get_args(ResultType)),
        len(outcomes) if episodes is None else episodes,
        len(outcomes),
        left_out or {},
        _notes(outcomes, failed, embeddings),
    )


_Tests = tuple[Callable[[ScoredIntent], bool], Callable[[Outcome], bool]]


def _row(
    label: str,
    scored: Sequence[ScoredIntent],
    failed: Sequence[Outcome],
    has: Callable[[ScoredIntent], bool],
    failed_in: Callable[[Outcome], bool],
) -> Row:
    return Row(label, summarise([intent for intent in scored if has(intent)]), sum(map(failed_in, failed)))


def _by_mode(mode: str) -> _Tests:
    return lambda intent: intent.mode == mode, lambda outcome: outcome.mode == mode


def _by_action(action: str) -> _Tests:
    return lambda intent: intent.action == action, lambda outcome: outcome.action == action


def _by_kind(kind: str) -> _Tests:
    return lambda intent: intent.kind == kind, lambda outcome: any(intent.kind == kind for intent in outcome.intents)


_MODE_ROWS: dict[str, _Tests] = {
    **{mode.title(): _by_mode(mode) for mode in MODES},
    "Code": (lambda intent: not intent.choice, lambda outcome: not is_choice(outcome)),
    "Choice": (lambda intent: intent.choice, is_choice),
    "Overall": (lambda intent: True, lambda outcome: True),
}


def _notes(outcomes: Sequence[Outcome], failed: Sequence[Outcome], embeddings: Embeddings) -> tuple[str, ...]:
    notes = [f"AccSE and AccSER: {embeddings.label}"]
    if failed:
        notes.append(f"{len(failed)} turns could not be judged and are left out; the first: {failed[0].error}")
    answers = Counter(
        (outcome.answer or "").strip(" ().:").upper()  # "b." and "(B)" are B
        for outcome in outcomes
        if outcome.error is None and _has_letter(outcome)
    )
    count = sum(answers.values())
    answer, times = answers.most_common(1)[0] if answers else ("", 0)
    if count >= _ENOUGH and times >= ONE_LETTER * count:
        said = f"were answered {answer}" if answer else "got no answer"
        notes.append(f"one answer for all: {times} of {count} choices {said}; expect chance or less")
    return tuple(notes)


def _has_letter(outcome: Outcome) -> bool:
    return any(intent.kind in CHOICE_KINDS for intent in outcome.intents)
