"""Predicates: what a value must be, written as data such as ``{close: {to: 3.5, abs: 0.01}}``.

=============  ==========================================================================================
predicate      holds for a value that
=============  ==========================================================================================
``equals``     equals ``to`` as JSON does (1 equals 1.0; true equals only true)
``text``       is a text equal to ``to`` but for case and spacing (``case: true`` minds the case)
``close``      is a number, or a list of numbers, within ``abs`` or ``rel`` (of ``to``) of ``to``
``between``    is a number in ``[low, high]``
``one_of``     equals one of a list
``matches``    is a text that matches a regular expression from beginning to end (``whole: false``: anywhere)
``contains``   is a text, list or mapping that has all the parts, items or keys given (one, or a list)
``has``        is a mapping, and predicates hold for the values of its keys: ``{has: {name: {equals: x}}}``
``length``     has a length for which a predicate holds
``each``       is a list, and a predicate holds for each item
``some``       is a list, and a predicate holds for at least one item
``all``        all of a list of predicates hold for
``any``        at least one of a list of predicates holds for
``not``        a predicate does not hold for
=============  ==========================================================================================

Numbers are Python's int and float, finite; a text that looks like a number is a text. Values come from a
hostile machine: texts longer than ``MAX_TEXT`` characters match no expression, and matching stops after
``MAX_SECONDS``, which is an error of the check and not a failure of the agent.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from deskgym.envs.evaluation.calls import UNKNOWN, Call, CallMistakes, Mistake, bind, shown

MAX_TEXT = 1_000_000
MAX_SECONDS = 2.0
MAX_DEPTH = 50


@dataclass(frozen=True)
class Predicate:
    """A test of a value, and how it is written.

    Attributes:
        data: as in the task file.
        holds: the test.
    """

    data: Any
    holds: Callable[[Any], bool]

    def __call__(self, value: Any) -> bool:
        """Whether it holds for the value."""
        return self.holds(value)

    def __str__(self) -> str:
        return shown(self.data, 300)

    @classmethod
    def parse(cls, data: Any) -> Predicate:
        """Read a predicate.

        Raises:
            CallMistakes: it is unknown or its arguments do not fit.

        Examples:
            >>> near = Predicate.parse({"close": {"to": 3.5, "abs": 0.01}})
            >>> near(3.509), near("3.5"), near(3.52)
            (True, False, False)
        """
        call = Call.parse(data, PREDICATES, "predicate")
        function = PREDICATES[call.name]
        try:
            given = bind(function, call.arguments, converters={Predicate: Predicate.parse})
            _look_closer(given)
        except CallMistakes as wrong:
            raise CallMistakes([mistake.under(call.name) for mistake in wrong.mistakes]) from None
        return cls(data, partial(function, **given))


def _look_closer(given: Mapping[str, Any]) -> None:
    """What a signature cannot say: an expression compiles, a range has two ends in order."""
    if isinstance(pattern := given.get("pattern"), str):
        _compiled(pattern)
    bounds = given.get("bounds")
    if isinstance(bounds, list) and UNKNOWN not in bounds and (len(bounds) != 2 or bounds[0] > bounds[1]):
        raise CallMistakes([Mistake((), f"legal is [low, high] with low <= high, got {shown(bounds)}")])


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def same(value: Any, to: Any, _depth: int = 0) -> bool:
    """Equality of JSON data: numbers by value, ``True`` never equals 1."""
    if _depth > MAX_DEPTH:
        return False
    if isinstance(value, bool) or isinstance(to, bool):
        return value is to
    if isinstance(value, Mapping) and isinstance(to, Mapping):
        return value.keys() == to.keys() and all(same(value[key], to[key], _depth + 1) for key in to)
    if isinstance(value, (list, tuple)) and isinstance(to, (list, tuple)):
        return len(value) == len(to) and all(same(a, b, _depth + 1) for a, b in zip(value, to, strict=True))
    return bool(value == to)


def within(value: Any, to: float, abs: float = 0.0, rel: float = 0.0) -> bool:
    """Whether a number is within ``abs``, or within ``rel`` times ``|to|``, of ``to``."""
    # The slack forgives the rounding of the comparison itself: 3.51 is within 0.01 of 3.5.
    distance = max(abs, rel * math.fabs(to)) * (1 + 1e-9)
    return _number(value) and math.fabs(value - to) <= distance


def plain(text: str, case: bool = False) -> str:
    """A text with compatible characters unified, runs of white space made one blank, and case folded."""
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    return text if case else text.casefold()


def equals(value: Any, to: Any) -> bool:
    """Equal as JSON."""
    return same(value, to)


def text(value: Any, to: str, case: bool = False) -> bool:
    """Equal but for spacing and case."""
    return isinstance(value, str) and len(value) <= MAX_TEXT and plain(value, case) == plain(to, case)


def close(value: Any, to: float | list[float], abs: float = 0.0, rel: float = 0.0) -> bool:
    """Numbers within a tolerance."""
    if isinstance(to, list):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(to)
            and all(within(v, t, abs, rel) for v, t in zip(value, to, strict=True))
        )
    return within(value, to, abs, rel)


def between(value: Any, bounds: list[float]) -> bool:
    """A number in a closed range."""
    low, high = bounds
    return _number(value) and bool(low <= value <= high)


def one_of(value: Any, of: list[Any]) -> bool:
    """Equal to one of several."""
    return any(same(value, item) for item in of)


def matches(value: Any, pattern: str, whole: bool = True, case: bool = True) -> bool:
    """A text that a regular expression matches.

    Raises:
        TimeoutError: the expression took longer than ``MAX_SECONDS``.
    """
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        return False
    expression = _compiled(pattern, case)
    match = expression.fullmatch if whole else expression.search
    try:
        return match(value, timeout=MAX_SECONDS) is not None
    except TimeoutError:
        raise TimeoutError(f"the expression {pattern!r} took longer than {MAX_SECONDS:g} s") from None


def _compiled(pattern: str, case: bool = True) -> Any:
    import regex  # type: ignore[import-untyped,unused-ignore]  # like re, with a timeout

    try:
        return regex.compile(pattern, 0 if case else regex.IGNORECASE)
    except regex.error as wrong:
        raise CallMistakes([Mistake((), f"not a regular expression: {pattern!r}: {wrong}")]) from None


def contains(value: Any, parts: Any) -> bool:
    """Has all the parts, items or keys."""
    wanted = parts if isinstance(parts, list) else [parts]
    if isinstance(value, str):
        return all(isinstance(part, str) and part in value for part in wanted)
    if isinstance(value, Mapping):
        return all(isinstance(part, str) and part in value for part in wanted)
    if isinstance(value, (list, tuple)):
        return all(any(same(item, part) for item in value) for part in wanted)
    return False


def has(value: Any, parts: dict[str, Predicate]) -> bool:
    """A mapping whose keys have such values; a key that is not there is null."""
    return isinstance(value, Mapping) and all(that(value.get(key)) for key, that in parts.items())


def length(value: Any, that: Predicate) -> bool:
    """A length for which a predicate holds."""
    return isinstance(value, (str, list, tuple, Mapping)) and that(len(value))


def each(value: Any, that: Predicate) -> bool:
    """Every item of a list."""
    return isinstance(value, (list, tuple)) and all(that(item) for item in value)


def some(value: Any, that: Predicate) -> bool:
    """At least one item of a list."""
    return isinstance(value, (list, tuple)) and any(that(item) for item in value)


def all_(value: Any, of: list[Predicate]) -> bool:
    """All of several predicates."""
    return all(that(value) for that in of)


def any_(value: Any, of: list[Predicate]) -> bool:
    """At least one of several predicates."""
    return any(that(value) for that in of)


def not_(value: Any, that: Predicate) -> bool:
    """Not a predicate."""
    return not that(value)


PREDICATES: Mapping[str, Callable[..., bool]] = {
    "equals": equals, "text": text, "close": close, "between": between, "one_of": one_of, "matches": matches,
    "contains": contains, "has": has, "length": length, "each": each, "some": some, "all": all_, "any": any_,
    "not": not_,
}  # fmt: skip
