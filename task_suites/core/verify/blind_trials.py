"""Tries blind rules on questions: first all of them, then those that did well once more, on questions of their own.

The best of a hundred rules is right more often than chance by luck alone. So the first questions accuse, and only fresh
ones, which the rules were not picked on, convict.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import sqrt
from statistics import NormalDist

from deskgym.task_suites.core.verify.blind_rules import RULES, SIMPLE, Question, Scores

LIMIT = 0.30
"""The share of questions that a rule may have right, where chance is 0.25."""
FALSE_ALARM = 0.01
"""How likely a rule that is right in ``LIMIT`` may be reported, in all trials of a command together."""
LEARNED, REMEMBERED = "learned from the rules", "remembered texts"
"""Rules that learn on one half of the questions and answer the other half, and the other way round."""
ALL_RULES = (*RULES, REMEMBERED, *([LEARNED] if find_spec("sklearn") else []))


@dataclass(frozen=True)
class Hits:
    """How often a rule was right.

    Attributes:
        rule: its name.
        right: how many questions; a guess among ties counts as a share of one.
        asked: of how many.
    """

    rule: str
    right: float
    asked: int

    @property
    def rate(self) -> float:
        """The share that was right."""
        return self.right / self.asked if self.asked else 0.0

    def beats(self, trials: int) -> bool:
        """Whether it is right in more than ``LIMIT`` beyond doubt, as one of so many trials (Bonferroni)."""
        return self.rate > allowed(self.asked, trials)


def allowed(asked: int, trials: int) -> float:
    """The highest rate that is not reported: the limit, and what chance adds in one of so many trials."""
    if not asked:
        return 1.0
    return LIMIT + NormalDist().inv_cdf(1 - FALSE_ALARM / max(1, trials)) * sqrt(LIMIT * (1 - LIMIT) / asked)


def try_rules(questions: Sequence[Question], names: Collection[str] = ALL_RULES) -> list[Hits]:
    """What rules earn, the best first; all of them if left out."""
    learners = {REMEMBERED: _remembered, LEARNED: _learned}
    found = []
    for name in names:
        scores = learners[name](questions) if name in learners else [RULES[name](question) for question in questions]
        right = sum(_credit(each, question.right) for each, question in zip(scores, questions, strict=True))
        found.append(Hits(name, right, len(questions)))
    return sorted(found, key=lambda hits: -hits.right)


def suspects(hits: Iterable[Hits]) -> list[str]:
    """The rules that are right in more than ``LIMIT``, by luck or not."""
    return [each.rule for each in hits if each.rate > LIMIT]


def _credit(scores: Scores, right: int) -> float:
    best = max(scores)
    return 1 / list(scores).count(best) if scores[right] == best else 0.0


def _halves(questions: Sequence[Question]) -> Iterable[tuple[list[int], list[int]]]:
    """Indices to learn from and indices to answer; neighbours go to different halves."""
    even, odd = list(range(0, len(questions), 2)), list(range(1, len(questions), 2))
    return [(even, odd), (odd, even)]


def _remembered(questions: Sequence[Question]) -> list[Scores]:
    """How often the same text was right when it was offered."""
    found: dict[int, Scores] = {}
    for learn, answer in _halves(questions):
        seen: dict[str, list[int]] = defaultdict(lambda: [1, 4])
        for k in learn:
            for place, option in enumerate(questions[k].options):
                seen[option][0] += place == questions[k].right
                seen[option][1] += 1
        found |= {k: [seen[option][0] / seen[option][1] for option in questions[k].options] for k in answer}
    return [found[k] for k in range(len(questions))]


def _learned(questions: Sequence[Question]) -> list[Scores]:
    """Logistic regression over the places that the simple rules give an option."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    rows = [list(zip(*(_places(rule(question)) for rule in SIMPLE.values()), strict=True)) for question in questions]
    found: dict[int, Scores] = {}
    for learn, answer in _halves(questions):
        right = [place == questions[k].right for k in learn for place in range(len(rows[k]))]
        if len(set(right)) < 2 or not answer:
            found |= {k: [0.0] * len(rows[k]) for k in (*learn, *answer)}
            continue
        model = LogisticRegression(C=0.1, max_iter=300).fit(np.array([row for k in learn for row in rows[k]]), right)
        found |= {k: model.decision_function(np.array(rows[k])).tolist() for k in answer}
    return [found[k] for k in range(len(questions))]


def _places(scores: Scores) -> list[float]:
    """0 for the lowest score, 1 for the highest, the mean place for ties."""
    return [sum((other < score) + (other == score) / 2 for other in scores) / len(scores) for score in scores]
