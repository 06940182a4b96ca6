"""The words of a private library, drawn by its seed: names of the module, its functions and their parameters."""

from __future__ import annotations

import builtins
import keyword
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TypeVar

from deskgym.task_suites.table_analysis.private.data import read
from deskgym.task_suites.table_analysis.private.operations import RECEIVERS, Op
from deskgym.task_suites.table_analysis.private.parameters import described
from deskgym.task_suites.table_analysis.private.shapes import SELF

T = TypeVar("T")

_NAMES = read("names")
VERBS: Sequence[str] = _NAMES["verbs"]
NOUNS: Sequence[str] = _NAMES["nouns"]
TERMS: Mapping[str, Sequence[str]] = _NAMES["terms"]
"""What things are called, one word each throughout a library's documentation."""
OPENINGS: Mapping[str, Sequence[str]] = _NAMES["openings"]
"""First words of a description, and what may stand there instead."""
_OPENING = re.compile(r"[A-Z][a-z]+")


class Words:
    """A source of words that are drawn by a seed and never twice.

    The draws use ``random.Random(text).random()`` only, whose sequence Python promises never to change.

    Attributes:
        module: name of the module to import.
        alias: what code calls it.
        step: first part of the names of intermediate results.
    """

    def __init__(self, seed: int, taken: Iterable[str]) -> None:
        self._rng = random.Random(f"deskgym private library {seed}")
        self._taken = {*taken, *keyword.kwlist, *dir(builtins)}
        self._terms = tuple((_term(term), self.pick(words)) for term, words in TERMS.items())
        self.module = self._fresh(lambda: (self.pick(NOUNS), self.pick(_NAMES["kinds"])))
        first, second = self.module.split("_")[:2]
        self.alias = self._fresh(lambda: (first[: 1 + int(3 * self._rng.random())] + second[0],))
        self.step = self._fresh(lambda: (self.pick(_NAMES["steps"]),), ending="_1")[:-2]

    def pick(self, options: Sequence[T]) -> T:
        """One of some, each as likely."""
        return options[int(self._rng.random() * len(options))]

    def shuffled(self, items: Iterable[T]) -> list[T]:
        """Items in another order."""
        return [item for _, item in sorted(((self._rng.random(), item) for item in items), key=lambda pair: pair[0])]

    def function(self, op: Op, near: Op | None = None) -> str:
        """A name for a function; with ``near``, one as that other operation could have, too."""
        verbs, nouns = (part.split() for part in op.words.split(" / "))
        if near:
            nouns = near.words.split(" / ")[1].split()
        if self._rng.random() < 0.5:
            verbs, nouns = list(VERBS), list(NOUNS)
        return self._fresh(lambda: (self.pick(verbs), self.pick(nouns)))

    def parameters(self, op: Op, names: Sequence[str]) -> dict[str, tuple[str, str]]:
        """For each real name a private one and its description."""
        found: dict[str, tuple[str, str]] = {}
        taken: set[str] = set()
        for name in names:
            known = RECEIVERS[op.receiver] if name == SELF else described(name, op.key)
            if known is None:
                raise ValueError(f"the operation {op.key} has the parameter {name}, which is not described")
            words, meaning = known
            word = next((word for word in self.shuffled(words.split()) if word not in taken), "")
            word = word or f"{words.split()[0]}_{len(taken) + 1}"
            taken.add(word)
            found[name] = word, self.worded(meaning)
        return found

    def worded(self, text: str) -> str:
        """A description in the words of this library."""
        opening = _OPENING.match(text)
        if opening and opening[0] in OPENINGS:
            text = self.pick(OPENINGS[opening[0]]) + text[opening.end() :]
        for pattern, word in self._terms:
            text = pattern.sub(partial(_term_as, word), text)
        return text

    def _fresh(self, draw: Callable[[], tuple[str, ...]], ending: str = "") -> str:
        for attempt in range(200):
            name = "_".join(draw()) + ("" if attempt < 100 else str(attempt)) + ending
            if name not in self._taken:
                self._taken.add(name)
                return name
        raise ValueError("no name is left for a function of the private library; give fewer codes or decoys")


@cache
def _term(term: str) -> re.Pattern[str]:
    return re.compile(rf"\b[{term[0]}{term[0].upper()}]{term[1:]}(s?)\b")


def _term_as(word: str, found: re.Match[str]) -> str:
    word = word.capitalize() if found[0][0].isupper() else word
    return word + _plural(word, found[1])


def _plural(word: str, ending: str) -> str:
    if not ending or word == "series":
        return ""
    return "es" if word.endswith(("s", "h")) else "s"
