"""The options of a choice: what the right analysis gives on several tables, and what plausible mistakes give."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import shown
from deskgym.task_suites.table_analysis.turns import Choice

OPTIONS = 4
"""How many options a choice has."""
MISTAKES = 1 / 4
"""The share of choices in which one option is a mistake; in the others all four are right on some table.

Whoever knows all mistakes by their looks is right in (1 + MISTAKES / 3) / 4 of the questions, which is 27.1 %."""
OTHER_TABLES = "other tables"
"""The name of the mistake that an option is which is right on other tables."""
CANNOT = "It cannot be answered"
"""How an option begins that gives a reason why a question cannot be answered."""


@dataclass(frozen=True)
class Answers:
    """What a turn's choice code gives.

    Attributes:
        right: the right option's text.
        wrong: name of the mistake → text, as the code gives them.
        answerable: of a fast_fail turn, else None.
        tied: another answer is as right on these tables; nothing is asked about them.
    """

    right: str
    wrong: Mapping[str, str]
    answerable: bool | None = None
    tied: bool = False

    @property
    def value(self) -> str:
        """What a fast_fail turn's first value is: the right one, or the first that is made up."""
        return next(text for text in (self.right, *self.wrong.values()) if not text.startswith(CANNOT))

    @property
    def reasons(self) -> dict[str, str]:
        """A fast_fail turn's reasons by name of the mistake; the right one has ``""``."""
        texts = {"": self.right, **self.wrong}
        return {name: text for name, text in texts.items() if text.startswith(CANNOT)}


@dataclass(frozen=True)
class _Option:
    text: str
    mistake: str
    variant: int | None = None  # of the tables on which it is right


def read_answers(namespace: Mapping[str, Any], action: str, what: str) -> Answers:
    """The variables that choice code left.

    Raises:
        TaskError: one is missing or of a wrong type, or the options of a fast_fail turn are not two values and two
            reasons.
    """
    right, wrong = read_right(namespace, what), namespace.get("wrong")
    if not isinstance(wrong, dict) or not wrong:
        raise TaskError(f"{what}: 'wrong' is a dict of mistake: text, got {shown(wrong)}")
    for name, text in wrong.items():
        if not isinstance(text, str) or not text.strip() or not isinstance(name, str):
            raise TaskError(f"{what}: 'wrong' holds texts by the mistake's name, got {name!r}: {shown(text)}")
    if action != "fast_fail":
        return Answers(right.right, dict(wrong), tied=right.tied)
    return _fast_fail(Answers(right.right, dict(wrong), namespace.get("answerable")), what)


def read_right(namespace: Mapping[str, Any], what: str) -> Answers:
    """The right option that choice code left, without its mistakes.

    Raises:
        TaskError: it is no text.
    """
    right = namespace.get("right")
    if not isinstance(right, str) or not right.strip():
        raise TaskError(f"{what}: 'right' is a text, got {shown(right)}; format numbers in the code")
    return Answers(right, {}, tied=bool(namespace.get("tied", False)))


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


def make_choice(
    tables: Iterable[tuple[int, Answers]],
    task_id: str,
    seed: int,
    own: int | None = None,
    full: Callable[[int], Answers] | None = None,
    values: Iterable[tuple[int, Answers]] | None = None,
) -> tuple[Choice, int] | None:
    """The options of a question, and the variant of the tables that it is asked about; None where too few differ.

    The options do not tell which one is right. Three or four of them (two of a fast_fail turn's) are what the right
    analysis gives on that many tables, and only then is it drawn which of these tables the question is about. The
    fourth may be a mistake, made on any of them. So whatever a rule makes of the texts, it is right in at most 27.1 %
    of the instances: a third where there is a mistake, a quarter elsewhere. Where the tables give fewer answers that
    differ, mistakes take their places, and ``verify --blind`` says what that gives away.

    The right one's place depends on the task and the seed alone. It is each of the four once in four seeds from a
    multiple of four on, so that there a constant letter earns a quarter.

    Args:
        tables: variants of the tables in random order, with what the turn's choice code gives on them.
        task_id: of the turn.
        seed: of the instance.
        own: the variant that the question is about, where that is fixed: then it is the first of ``tables``.
        full: gives the answers of a variant with their mistakes, where ``tables`` leaves them out.
        values: where the values come from of a fast_fail question that cannot be answered: the same question with
            parameters with which it can be. Values of its own would tell that it cannot.
    """
    rng = random.Random(f"{task_id}#{seed} options")
    drawn = iter(tables)
    first = next(drawn)
    if own is not None and first[1].tied:
        return None
    if first[1].answerable is not None:
        found = _values_and_reasons(first, chain([first], drawn) if values is None else values)
    else:
        found = _values(chain([first], drawn), full, rng)
    if found is None:
        return None
    options, right_ones = found
    right = next((option for option in right_ones if option.variant == own), None) or _any_of(right_ones, rng)
    others = [option for option in options if option is not right]
    others = [others.pop(int(rng.random() * len(others))) for _ in range(OPTIONS - 1)]
    block = random.Random(f"{task_id}#{seed // OPTIONS} places")
    place = sorted(range(OPTIONS), key=lambda _: block.random())[seed % OPTIONS]
    others.insert(place, right)
    mistakes = tuple("" if option is right else option.mistake for option in others)
    variant = right.variant if right.variant is not None else first[0]
    return Choice(tuple(option.text for option in others), place, mistakes), variant


def _any_of(items: list[_Option], rng: random.Random) -> _Option:
    return items[int(rng.random() * len(items))]


def _values(
    tables: Iterable[tuple[int, Answers]], full: Callable[[int], Answers] | None, rng: random.Random
) -> tuple[list[_Option], list[_Option]] | None:
    """Four options, and those of them that are right on some table."""
    wanted = OPTIONS - (rng.random() < MISTAKES)
    kept: dict[str, tuple[int, Answers]] = {}
    for variant, answers in tables:
        if not answers.tied:
            kept.setdefault(answers.right, (variant, answers))
        if len(kept) == wanted:
            break
    right_ones = [_Option(text, OTHER_TABLES, variant) for text, (variant, _) in kept.items()]
    options = {option.text: option for option in right_ones}
    for variant, answers in sorted(kept.values(), key=lambda _: rng.random()):
        if len(options) >= OPTIONS:
            break
        wrong = (full(variant) if full else answers).wrong
        for name, text in sorted(wrong.items(), key=lambda _: rng.random()):
            options.setdefault(text, _Option(text, name))
    return ([*options.values()][:OPTIONS], right_ones) if len(options) >= OPTIONS else None


def _values_and_reasons(
    first: tuple[int, Answers], tables: Iterable[tuple[int, Answers]]
) -> tuple[list[_Option], list[_Option]] | None:
    """A fast_fail turn's two values, made on two tables, and its two reasons; and those that may be right."""
    made: dict[str, _Option] = {}
    answerable = None
    for variant, answers in tables:
        answerable = answers.answerable if answerable is None else answerable
        if answers.answerable is answerable:
            made.setdefault(answers.value, _Option(answers.value, OTHER_TABLES, variant))
        if len(made) == OPTIONS // 2:
            break
    if len(made) < OPTIONS // 2:
        return None
    reasons = [_Option(text, name) for name, text in first[1].reasons.items()]
    right_ones = [*made.values()] if first[1].answerable else [option for option in reasons if not option.mistake]
    return [*made.values(), *reasons], right_ones
