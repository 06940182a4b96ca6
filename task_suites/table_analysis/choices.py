"""The options of a choice: what the right analysis gives, and what three plausible wrong ones give."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import shown
from deskgym.task_suites.table_analysis.turns import Choice

OPTIONS = 4
"""How many options a choice has."""
CANNOT = "It cannot be answered"
"""How an option begins that gives a reason why a question cannot be answered."""


@dataclass(frozen=True)
class Answers:
    """What a turn's choice code gives.

    Attributes:
        right: the right option's text.
        wrong: name of the mistake → text, as the code gives them.
        answerable: of a fast_fail turn, else None.
    """

    right: str
    wrong: Mapping[str, str]
    answerable: bool | None = None

    @property
    def distinct(self) -> dict[str, str]:
        """The wrong ones that differ from the right one and from those before."""
        found: dict[str, str] = {}
        for name, text in self.wrong.items():
            if text != self.right and text not in found.values():
                found[name] = text
        return found

    @property
    def enough(self) -> bool:
        """Whether there are options for a choice."""
        return len(self.distinct) >= OPTIONS - 1


def read_answers(namespace: Mapping[str, Any], action: str, what: str) -> Answers:
    """The variables that choice code left.

    Raises:
        TaskError: one is missing or of a wrong type, or the options of a fast_fail turn are not two values and two
            reasons.
    """
    right, wrong = namespace.get("right"), namespace.get("wrong")
    if not isinstance(right, str) or not right.strip():
        raise TaskError(f"{what}: 'right' is a text, got {shown(right)}; format numbers in the code")
    if not isinstance(wrong, dict) or not wrong:
        raise TaskError(f"{what}: 'wrong' is a dict of mistake: text, got {shown(wrong)}")
    for name, text in wrong.items():
        if not isinstance(text, str) or not text.strip() or not isinstance(name, str):
            raise TaskError(f"{what}: 'wrong' holds texts by the mistake's name, got {name!r}: {shown(text)}")
    if action != "fast_fail":
        return Answers(right, dict(wrong))
    return _fast_fail(Answers(right, dict(wrong), namespace.get("answerable")), what)


def _fast_fail(answers: Answers, what: str) -> Answers:
    if not isinstance(answers.answerable, bool):
        got = answers.answerable
        raise TaskError(
            f"{what}: fast_fail sets 'answerable' to True or False, got {shown(got)} ({type(got).__name__})"
        )
    texts = [answers.right, *answers.wrong.values()]
    reasons = sum(text.startswith(CANNOT) for text in texts)
    if len(texts) != OPTIONS or reasons != OPTIONS // 2:
        raise TaskError(
            f"{what}: fast_fail has 'right' and 3 'wrong' ones: two values, and two reasons that begin with "
            f"'{CANNOT}: '; got {len(texts)}, of which {reasons} are reasons"
        )
    if answers.right.startswith(CANNOT) is answers.answerable:
        raise TaskError(f"{what}: answerable is {answers.answerable}, but right is {shown(answers.right)}")
    return answers


def make_choice(answers: Answers, task_id: str, seed: int) -> Choice | None:
    """The options in an order that the task and the seed deal, or None where too few differ.

    The right one's place depends on these alone. It is each of the four once in four seeds from a multiple of four on,
    so that there a constant letter earns a quarter.
    """
    if not answers.enough:
        return None
    block = random.Random(f"{task_id}#{seed // OPTIONS} places")
    place = sorted(range(OPTIONS), key=lambda _: block.random())[seed % OPTIONS]
    rng = random.Random(f"{task_id}#{seed} options")
    wrong = list(answers.distinct.items())
    drawn = [wrong.pop(int(rng.random() * len(wrong))) for _ in range(OPTIONS - 1)]
    drawn.insert(place, ("", answers.right))
    return Choice(tuple(text for _, text in drawn), place, tuple(name for name, _ in drawn))
