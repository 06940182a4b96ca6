"""Rules that choose an option without looking at the data; none may be right more often than chance allows.

A rule gives every option a score from the question's and the options' texts alone, and picks the highest; a tie counts
as a guess among those that tie. How rules are tried is in ``blind_trials``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache, partial
from statistics import median
from typing import Protocol, runtime_checkable

LETTERS = "ABCD"

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"\w+(?:\.\d+)?")
Scores = Sequence[float]


@dataclass(frozen=True)
class Question:
    """A question with options, and which is right.

    Attributes:
        text: what is asked, without the options.
        options: their texts.
        right: index of the right one.
    """

    text: str
    options: tuple[str, ...]
    right: int


@runtime_checkable
class Asking(Protocol):
    """A suite whose tasks have options."""

    def questions(self, task_id: str, seeds: Iterable[int]) -> list[Question]:
        """The questions of a template's instances, without playing them; none where it has no options."""
        ...


Rule = Callable[[Question], Scores]


def _letter(k: int, question: Question) -> Scores:
    return [float(k == place) for place in range(len(question.options))]


def _by(measure: Callable[[str], float], sign: int, question: Question) -> Scores:
    return [sign * measure(option) for option in question.options]


def _ranked(measure: Callable[[str], float | None], rank: int, question: Question) -> Scores:
    """1 for the option that has this rank by a number, the smallest first; those without one are never it."""
    values = [measure(option) for option in question.options]
    order = sorted(value for value in values if value is not None)
    return [float(bool(order[rank:]) and value == order[rank]) for value in values]


def _number(k: int, option: str) -> float | None:
    found = _NUMBER.findall(option)
    return float(found[k]) if found else None


def _to_mean(sign: int, question: Question) -> Scores:
    values = [_number(-1, option) for option in question.options]
    known = [value for value in values if value is not None]
    mean = sum(known) / len(known) if known else 0.0
    return [-1e300 if value is None else sign * abs(value - mean) for value in values]


def _to_median(question: Question) -> Scores:
    values = [_number(-1, option) for option in question.options]
    known = [value for value in values if value is not None]
    middle = median(known) if known else 0.0
    return [-1e300 if value is None else -round(abs(value - middle), 9) for value in values]


def _common(sign: int, mean: bool, question: Question) -> Scores:
    """How many of the options have its words: in all, or on average over its words."""
    counts = Counter(word for option in question.options for word in _words(option))
    sums = [sum(counts[word] for word in _words(option)) for option in question.options]
    sizes = [max(1, len(_words(option))) if mean else 1 for option in question.options]
    return [sign * round(total / size, 9) for total, size in zip(sums, sizes, strict=True)]


def _form(sign: int, question: Question) -> Scores:
    """How many of the options have its form: all but the digits, so its unit, sign and decimals."""
    forms = [_DIGITS.sub("0", option) for option in question.options]
    return [float(sign * forms.count(form)) for form in forms]


def _consensus(sign: int, question: Question) -> Scores:
    """How many of the options have the digits of its last number at the same places, from the right."""
    numbers = [(_NUMBER.findall(option) or [""])[-1][::-1] for option in question.options]
    return [
        float(sign * sum(digit == other[k : k + 1] for other in numbers for k, digit in enumerate(number)))
        for number in numbers
    ]


def _similar(sign: int, question: Question) -> Scores:
    """How alike its text is to the other options' texts."""
    return [
        sign * round(sum(_alike(option, other) for other in question.options if other is not option), 9)
        for option in question.options
    ]


def _closest(question: Question) -> Scores:
    """How near its last number is to that of another option: one of the pair that is nearest."""
    values = [_number(-1, option) for option in question.options]
    gaps = []
    for k, value in enumerate(values):
        others = [abs(value - other) for j, other in enumerate(values) if j != k and None not in (value, other)]  # type: ignore[operator]
        gaps.append(-min(others, default=1e300))
    return gaps


def _asked_words(sign: int, question: Question) -> Scores:
    asked = _words(question.text)
    return [float(sign * len(_words(option) & asked)) for option in question.options]


def _alphabetical(rank: int, question: Question) -> Scores:
    order = sorted(question.options)
    return [float(option == order[rank]) for option in question.options]


def _denies(sign: int, question: Question) -> Scores:
    """How many of its words say that something is not there."""
    return [
        float(sign * len(_words(option) & {"no", "not", "cannot", "nothing", "none"})) for option in question.options
    ]


def _then(first: Rule, second: Rule, question: Question) -> Scores:
    """By the first rule; where it leaves a tie, by the second."""
    both = list(zip(first(question), second(question), strict=True))
    order = sorted(set(both))
    return [float(order.index(scores)) for scores in both]


def _roundness(option: str) -> float:
    """How many zeros and fives end its last number."""
    found = _NUMBER.findall(option)
    return float(len(found[-1]) - len(found[-1].rstrip("05"))) if found else -1.0


@lru_cache(maxsize=65536)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


@lru_cache(maxsize=65536)
def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, min(one, other), max(one, other)).ratio()


def _digits(option: str) -> float:
    return float(sum(letter.isdigit() for letter in option))


SIMPLE: Mapping[str, Rule] = {
    **{f"always {letter}": partial(_letter, k) for k, letter in enumerate(LETTERS)},
    "longest": partial(_by, len, 1),
    "shortest": partial(_by, len, -1),
    "most digits": partial(_by, _digits, 1),
    "fewest digits": partial(_by, _digits, -1),
    "roundest number": partial(_by, _roundness, 1),
    "least round number": partial(_by, _roundness, -1),
    **{f"last number, rank {k + 1}": partial(_ranked, partial(_number, -1), k) for k in range(4)},
    **{f"first number, rank {k + 1}": partial(_ranked, partial(_number, 0), k) for k in range(4)},
    "nearest to the mean": partial(_to_mean, -1),
    "farthest from the mean": partial(_to_mean, 1),
    "nearest to the median": _to_median,
    "one of the nearest pair": _closest,
    "most common digits": partial(_consensus, 1),
    "least common digits": partial(_consensus, -1),
    "most common words": partial(_common, 1, True),
    "least common words": partial(_common, -1, True),
    "shares most words": partial(_common, 1, False),
    "shares fewest words": partial(_common, -1, False),
    "most common form": partial(_form, 1),
    "rarest form": partial(_form, -1),
    "most like the others": partial(_similar, 1),
    "least like the others": partial(_similar, -1),
    "most words of the question": partial(_asked_words, 1),
    "fewest words of the question": partial(_asked_words, -1),
    "says that it is not there": partial(_denies, 1),
    "says that it is there": partial(_denies, -1),
    **{f"alphabetical, rank {k + 1}": partial(_alphabetical, k) for k in range(4)},
}
"""By name: rules of one idea."""
FIRST = ("most common form", "rarest form", "most common words", "most words of the question", "says that it is there")
SECOND = ("longest", "shortest", "nearest to the mean", *(f"last number, rank {k + 1}" for k in range(4)))
RULES: Mapping[str, Rule] = {
    **SIMPLE,
    **{f"{one}, then {two}": partial(_then, SIMPLE[one], SIMPLE[two]) for one in FIRST for two in SECOND},
}
"""By name: the simple ones, and one that decides where another leaves a tie."""
