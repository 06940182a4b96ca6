"""Tapilot-Crossing's four numbers, Acc, AccR, AccSE and AccSER, over the intents of judged turns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deskgym.task_suites.table_analysis.embeddings import Embeddings
from deskgym.task_suites.table_analysis.turns import CHOICE_ACTIONS, Outcome

S1_THRESHOLD = 0.85
"""Code that is nearer than this by the code model counts as near."""
S2_THRESHOLD = 0.9
"""The same by the text model."""
CHOICE_KINDS = ("choice", "unanswerable")
"""Result types that are a letter."""
Z_95 = 1.959963984540054
"""Standard normal quantile of a two-sided 95 % interval."""

_PRIVATE = ("private", "private-action")


@dataclass(frozen=True)
class ScoredIntent:
    """What one intent counts.

    Attributes:
        mode: of its turn.
        action: of its turn.
        kind: its result type.
        correct: adds 1 to Acc.
        recall: R; 1 where it does not apply (outside private modes, and for choices).
        credit: what it adds to AccSE, one of 0, 0.25, 0.5 and 1.
        chance: what a random letter earns; 0 for code.
    """

    mode: str
    action: str
    kind: str
    correct: bool
    recall: float
    credit: float
    chance: float

    @property
    def choice(self) -> bool:
        """Whether a letter answers it."""
        return self.kind in CHOICE_KINDS


@dataclass(frozen=True)
class Scores:
    """Means over intents, in [0, 1]; None where there is no intent.

    Attributes:
        intents: N, how many there are.
        correct: how many of them are right.
        acc: their share.
        acc_r: the same, each weighted by the recall of the private functions.
        acc_se: the same, with part of a point for wrong results of code that is near the reference's.
        acc_ser: AccSE, each weighted by the recall.
        chance: what letters by chance and no code would earn.
        low: lower end of Acc's 95 % Wilson interval.
        high: its upper end.
    """

    intents: int
    correct: int
    acc: float | None
    acc_r: float | None
    acc_se: float | None
    acc_ser: float | None
    chance: float | None
    low: float | None
    high: float | None

    @property
    def above_chance(self) -> bool | None:
        """Whether Acc's whole interval lies above chance; None where chance earns nothing, or there is no intent."""
        if self.low is None or not self.chance:
            return None
        return self.low > self.chance

    def to_dict(self) -> dict[str, Any]:
        """As JSON-able data."""
        return asdict(self) | {"above_chance": self.above_chance}


def score_intents(outcomes: Iterable[Outcome], embeddings: Embeddings | None = None) -> tuple[ScoredIntent, ...]:
    """What each intent of the outcomes counts; outcomes with an error are left out.

    Raises:
        ValueError: an outcome cannot be scored, see ``check_outcome``.
    """
    embeddings = embeddings or Embeddings()
    judged = (outcome for outcome in outcomes if outcome.error is None)
    return tuple(intent for outcome in judged for intent in _scored(outcome, embeddings))


def check_outcome(outcome: Outcome) -> None:
    """See that an outcome can be scored.

    Raises:
        ValueError: it has no intents and no error, a choice without options, or a recall that is no share.
    """
    if outcome.error is not None:
        return
    name = f"the outcome of {outcome.turn!r}"
    if not outcome.intents:
        raise ValueError(f"{name} has neither intents nor an error")
    if not all(isinstance(intent.correct, bool) for intent in outcome.intents):
        raise ValueError(f"{name}: correct={[intent.correct for intent in outcome.intents]}; legal are true and false")
    if any(intent.kind in CHOICE_KINDS for intent in outcome.intents) and outcome.options < 1:
        raise ValueError(f"{name} is a choice of {outcome.options} options")
    if outcome.recall is not None and not 0 <= outcome.recall <= 1:
        raise ValueError(f"{name}: recall={outcome.recall}; legal is a share from 0 to 1")


def summarise(intents: Sequence[ScoredIntent]) -> Scores:
    """The four numbers over some intents."""
    count, correct = len(intents), sum(intent.correct for intent in intents)
    if not count:
        return Scores(0, 0, None, None, None, None, None, None, None)
    low, high = wilson(correct, count)
    return Scores(
        count,
        correct,
        correct / count,
        sum(intent.correct * intent.recall for intent in intents) / count,
        sum(intent.credit for intent in intents) / count,
        sum(intent.credit * intent.recall for intent in intents) / count,
        sum(intent.chance for intent in intents) / count,
        low,
        high,
    )


def measure(outcomes: Iterable[Outcome], embeddings: Embeddings | None = None) -> Scores:
    """The four numbers over the intents of all judged outcomes."""
    return summarise(score_intents(outcomes, embeddings))


def is_choice(outcome: Outcome) -> bool:
    """Whether a letter answers the turn."""
    return outcome.action in CHOICE_ACTIONS or any(intent.kind in CHOICE_KINDS for intent in outcome.intents)


def near_credit(reference: str, executed: Sequence[str], embeddings: Embeddings) -> float:
    """What AccSE gives for a wrong result: 0.5 if S1 > 0.85 and S2 > 0.9, 0.25 if one of both holds, else 0.

    Args:
        reference: the reference's code.
        executed: the agent's code, in order; compared as one.
        embeddings: the models of S1 and S2.
    """
    code = "\n".join(executed)
    if not code.strip() or not reference.strip():
        return 0.0
    s1, s2 = embeddings.similarities(reference, code)
    return 0.25 * ((s1 > S1_THRESHOLD) + (s2 > S2_THRESHOLD))


def wilson(correct: int, count: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of a share, (low, high) in [0, 1] (E. B. Wilson, 1927).

    Raises:
        ValueError: ``correct`` is not in 0..``count``, or ``count`` is 0.
    """
    if not 0 <= correct <= count or not count:
        raise ValueError(f"{correct} of {count}; legal is a number of right ones among one or more")
    share, weight = correct / count, z * z / count
    middle = (share + weight / 2) / (1 + weight)
    half = z * math.sqrt(share * (1 - share) / count + weight / (4 * count)) / (1 + weight)
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return (0.0 if correct == 0 else low), (1.0 if correct == count else high)


def _scored(outcome: Outcome, embeddings: Embeddings) -> list[ScoredIntent]:
    check_outcome(outcome)
    scored = []
    wrong_code = any(not intent.correct and intent.kind not in CHOICE_KINDS for intent in outcome.intents)
    near = near_credit(outcome.reference, outcome.executed, embeddings) if wrong_code else 0.0
    for intent in outcome.intents:
        choice = intent.kind in CHOICE_KINDS
        credit = 1.0 if intent.correct else 0.0 if choice else near
        recall = 1.0 if choice else _recall(outcome)
        chance = 1 / outcome.options if choice else 0.0
        scored.append(ScoredIntent(outcome.mode, outcome.action, intent.kind, intent.correct, recall, credit, chance))
    return scored


def _recall(outcome: Outcome) -> float:
    """R of a turn of code; a reference that calls no private function has nothing to be recalled."""
    return 1.0 if outcome.mode not in _PRIVATE or outcome.recall is None else outcome.recall
