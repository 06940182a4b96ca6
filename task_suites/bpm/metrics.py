"""The metrics of WONDERBREAD's six tasks (arXiv:2406.13264, section 4), as published and as they should be.

``paper`` in the names of functions and arguments gives what the published code computes, so that its tables can be
compared; everything else is what its name says in the field.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

NO_MATCH = -1
"""Stands for the line of another procedure where a line has none."""


@dataclass(frozen=True)
class StepScores:
    """How well the steps of a procedure agree with those of the right one; all in [0, 1].

    Attributes:
        precision: share of its steps that are in the right one.
        recall: share of the right one's steps that are in it.
        ordering: share of its steps that come no earlier in the right one than those before them.
    """

    precision: float
    recall: float
    ordering: float

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 where both are (the published tables leave those out)."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    @property
    def ordered_f1(self) -> float:
        """F1 times the share of the steps found that come in the right order: what a procedure is worth."""
        return self.f1 * self.ordering / self.precision if self.precision else 0.0


def step_scores(predicted: Sequence[int], right: Sequence[int]) -> StepScores:
    """Scores by which step each step was found to be.

    Args:
        predicted: for each step of the procedure, the index of the right step that it is, or ``NO_MATCH``; several
            steps may be the same one.
        right: for each step of the right procedure, the index of the other's step that it is, or ``NO_MATCH``.
    """
    last = in_order = 0
    for match in predicted:
        if match >= last:  # NO_MATCH never is
            last, in_order = match, in_order + 1
    return StepScores(_share(predicted), _share(right), in_order / len(predicted) if predicted else 0.0)


def once_each(matches: Sequence[int], lines: Sequence[str]) -> list[int]:
    """Matches of which no line is taken twice: the first one has it.

    The published code lets one line be that of any number of steps, so that one step that says everything has all of
    the right procedure.

    Args:
        matches: for each step, the index of its line, or ``NO_MATCH``.
        lines: that they are indices of; one that stands there twice can be taken twice.
    """
    left: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        left.setdefault(line, []).append(number)
    free = (left[lines[match]] if match != NO_MATCH else [] for match in matches)
    return [places.pop(0) if places else NO_MATCH for places in free]


def _share(matches: Sequence[int]) -> float:
    return sum(match != NO_MATCH for match in matches) / len(matches) if matches else 0.0


@dataclass(frozen=True)
class Confusion:
    """What was said of demonstrations that are right (positives) and wrong (negatives).

    Attributes:
        tp: right ones that were called right.
        fp: wrong ones that were called right.
        tn: wrong ones that were called wrong.
        fn: right ones that were called wrong.
    """

    tp: int
    fp: int
    tn: int
    fn: int

    @classmethod
    def of(cls, right: Sequence[bool], said: Sequence[bool]) -> Confusion:
        """Count; both have one value per demonstration."""
        pairs = list(zip(right, said, strict=True))
        return cls(*(pairs.count(pair) for pair in ((True, True), (False, True), (False, False), (True, False))))

    @property
    def precision(self) -> float:
        """Of those that were called right, how many are. The paper calls this recall."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float:
        """Of those that are right, how many were called so. The paper calls this precision."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; the same in the paper, whose swap does not change it."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def balanced_accuracy(self) -> float:
        """The mean of both classes' recall: 0.5 for whoever says the same of all."""
        return (self.recall + _ratio(self.tn, self.tn + self.fp)) / 2

    @property
    def mcc(self) -> float:
        """Matthews' correlation coefficient, in [-1, 1]; 0 for whoever says the same of all."""
        sides = (self.tp + self.fp) * (self.tp + self.fn) * (self.tn + self.fp) * (self.tn + self.fn)
        return (self.tp * self.tn - self.fp * self.fn) / math.sqrt(sides) if sides else 0.0


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def rank_correlations(order: Sequence[int], ranks: Sequence[int], paper: bool = False) -> tuple[float, float]:
    """Spearman's rho and Kendall's tau between an order of procedures and the ranks that they have.

    Args:
        order: indices of the procedures, 0-based, from the best to the worst.
        ranks: the right rank of each procedure, two at least, in the order of the indices; 1 is the best.
        paper: compare the order itself with the ranks, as the published code does: right where the order is its own
            inverse.
    """
    from scipy.stats import kendalltau, spearmanr

    if sorted(order) != list(range(len(ranks))) or len(ranks) < 2:
        raise ValueError(f"order={list(order)}; legal is each of 0 to {max(1, len(ranks) - 1)} once")
    said = list(order) if paper else [order.index(index) for index in range(len(order))]
    return float(spearmanr(said, ranks).statistic), float(kendalltau(said, ranks).statistic)


def agreement(right: Sequence[Hashable], said: Sequence[Hashable | None]) -> float:
    """Cohen's kappa: how far each frame was given to its own workflow, beyond chance; 1 where all were.

    Args:
        right: the workflow of each frame.
        said: what each frame was given to.
    """
    pairs = list(zip(right, said, strict=True))
    observed = sum(one == other for one, other in pairs) / len(pairs)
    expected = sum(count * list(said).count(name) for name, count in Counter(right).items()) / len(pairs) ** 2
    return 1.0 if observed == 1 else (observed - expected) / (1 - expected)


def segmentation_scores(right: Sequence[Hashable], said: Sequence[Hashable | None]) -> tuple[float, float]:
    """The adjusted Rand index and the V-measure of a split of a recording into workflows.

    Args:
        right: the workflow of each frame.
        said: what each frame was given to; None for those that were given to none, which are a workflow of their own.
    """
    from sklearn.metrics import adjusted_rand_score, v_measure_score

    labels = [list(dict.fromkeys(values)) for values in (right, said)]
    numbers = [[names.index(v) for v in values] for names, values in zip(labels, (right, said), strict=True)]
    return float(adjusted_rand_score(*numbers)), float(v_measure_score(*numbers))
