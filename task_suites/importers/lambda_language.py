"""What the benchmarks' lambda strings may call and how much they may do: the tables and the budget."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any, Literal

from deskgym.envs.errors import TaskError

ErrorKind = Literal["syntax", "forbidden", "limit", "runtime"]


class LambdaError(TaskError):
    """A lambda string cannot be read, or failed when it was called.

    Attributes:
        kind: ``"syntax"`` (not a lambda), ``"forbidden"`` (outside the language), ``"limit"`` (too much
            work or too large a value) or ``"runtime"`` (what Python itself
            would raise, such as a missing key).
    """

    def __init__(self, message: str, kind: ErrorKind = "runtime") -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind


@dataclass(frozen=True)
class Limits:
    """How much one lambda may do, so that a hostile one can neither hang nor fill the host.

    Attributes:
        source: characters of source text.
        depth: nesting of the source, and of calls.
        steps: nodes evaluated in one call; making and comparing large values costs more than one.
        bits: size of an integer.
        length: characters of a string, or items of a sequence, that the lambda makes.
    """

    source: int = 10_000
    depth: int = 60
    steps: int = 200_000
    bits: int = 4096
    length: int = 1_000_000


class Budget:
    """What is left of one call's limits."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = limits.steps

    def spend(self, steps: int = 1) -> None:
        """Take ``steps`` off what is left; LambdaError when nothing is."""
        self.left -= steps
        if self.left < 0:
            raise LambdaError(f"takes more than {self.limits.steps} steps", "limit")

    def fits(self, length: int) -> None:
        """LambdaError if a string or sequence of this length would be too long to make."""
        if length > self.limits.length:
            raise LambdaError(f"makes a value longer than {self.limits.length}", "limit")

    def fits_bits(self, bits: int) -> None:
        """LambdaError if an integer of so many bits would be too large to make."""
        if bits > self.limits.bits:
            raise LambdaError(f"makes an integer of more than {self.limits.bits} bits", "limit")

    def made(self, value: Any) -> Any:
        """``value`` itself, once its size is within the limits and paid for."""
        if isinstance(value, int):
            self.fits_bits(value.bit_length())
        elif isinstance(value, str):
            self.fits(len(value))
            self.spend(len(value) // 64)
        elif isinstance(value, list | tuple | dict):
            self.fits(len(value))
            self.spend(len(value) // 2)
        elif isinstance(value, complex):
            raise LambdaError("makes a complex number", "forbidden")
        return value

    def each(self, values: Iterable[Any]) -> Iterator[Any]:
        """The items of ``values``, each costing one step."""
        for value in values:
            self.spend()
            yield value

    def weigh(self, *values: Any) -> None:
        """Pay for a walk through ``values``: lists shared inside lists can be exponentially large."""
        rest = [value for value in values if isinstance(value, list | tuple | dict)]
        while rest:
            top = rest.pop()
            self.spend(1 + len(top) // 2)
            inside = chain(top.keys(), top.values()) if isinstance(top, dict) else top
            rest.extend(value for value in inside if isinstance(value, list | tuple | dict))


def number_of(value: Any) -> bool:
    """Whether ``value`` is a plain number."""
    return isinstance(value, int | float)


def _items(budget: Budget, values: Iterable[Any]) -> list[Any]:
    items = list(budget.each(values))
    budget.weigh(*items)
    return items


def _sum(budget: Budget, values: Iterable[Any], start: Any = 0) -> Any:
    numbers = _items(budget, values)
    if not all(map(number_of, [start, *numbers])):
        raise LambdaError("sum() adds numbers only", "forbidden")
    return sum(numbers, start)


def _extreme(pick: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(budget: Budget, *values: Any, **options: Any) -> Any:
        items = [_items(budget, values[0])] if len(values) == 1 else values
        budget.weigh(*items)
        return pick(*items, **options)

    return extreme


def _range(budget: Budget, *bounds: Any) -> range:
    made = range(*bounds)
    budget.fits(max(0, -(-(made.stop - made.start) // made.step)))
    return made


def _round(budget: Budget, value: Any, ndigits: Any = None) -> Any:
    if isinstance(ndigits, int) and abs(ndigits) > 400:
        raise LambdaError("round() to more than 400 digits", "limit")
    return round(value, ndigits)


def _str(budget: Budget, value: Any = "") -> str:
    budget.weigh(value)
    if not isinstance(value, str | int | float | list | tuple | dict | None):
        raise LambdaError(f"str() of {type(value).__name__}", "forbidden")
    return str(value)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda budget, *args, **options: function(*args, **options)


#: Functions by name; each gets the call's budget first. What they return is checked by the evaluator.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _plain(abs),
    "all": lambda budget, values: all(budget.each(values)),
    "any": lambda budget, values: any(budget.each(values)),
    "bool": _plain(bool),
    "enumerate": lambda budget, values, start=0: enumerate(budget.each(values), start),
    "float": _plain(float),
    "int": _plain(int),
    "len": _plain(len),
    "list": lambda budget, values=(): list(budget.each(values)),
    "max": _extreme(max),
    "min": _extreme(min),
    "range": _range,
    "round": _round,
    "sorted": lambda budget, values, **options: sorted(_items(budget, values), **options),
    "str": _str,
    "sum": _sum,
    "tuple": lambda budget, values=(): tuple(budget.each(values)),
    "zip": lambda budget, *values: zip(*map(budget.each, values), strict=False),
}

#: The only keyword arguments, by function.
KEYWORDS: dict[str, frozenset[str]] = {
    "enumerate": frozenset({"start"}),
    "max": frozenset({"default", "key"}),
    "min": frozenset({"default", "key"}),
    "round": frozenset({"ndigits"}),
    "sorted": frozenset({"key", "reverse"}),
    "sum": frozenset({"start"}),
    "math.isclose": frozenset({"abs_tol", "rel_tol"}),
}


def _join(budget: Budget, text: str, parts: Iterable[Any]) -> str:
    parts = list(budget.each(parts))
    budget.fits(sum(len(part) for part in parts) + len(text) * len(parts))
    return text.join(parts)


def _replace(budget: Budget, text: str, old: str, new: str, count: int = -1) -> str:
    budget.fits(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new, count)


def _method(name: str) -> Callable[..., Any]:
    def call(budget: Budget, owner: Any, *args: Any) -> Any:
        budget.weigh(owner, *args)
        budget.spend(len(owner) // 64)
        return getattr(owner, name)(*args)

    return call


_TEXT = (
    "casefold count endswith find index isalnum isalpha isdigit islower isnumeric isspace isupper lower "
    "lstrip partition removeprefix removesuffix rfind rpartition rsplit rstrip split splitlines startswith "
    "strip title upper"
).split()

#: Methods by the type of their owner; each gets the call's budget and the owner first. None takes keywords.
METHODS: dict[type, dict[str, Callable[..., Any]]] = {
    str: {name: _method(name) for name in _TEXT} | {"join": _join, "replace": _replace},
    list: {name: _method(name) for name in ("count", "index")},
    tuple: {name: _method(name) for name in ("count", "index")},
    dict: {
        "get": _method("get"),
        "items": lambda budget, owner: list(owner.items()),
        "keys": lambda budget, owner: list(owner),
        "values": lambda budget, owner: list(owner.values()),
    },
}

_MATH = (
    "acos asin atan atan2 ceil copysign cos cosh degrees exp fabs floor fmod hypot isclose isfinite isinf "
    "isnan log log10 log1p log2 pow radians sin sinh sqrt tan tanh trunc"
).split()

#: What ``__import__('math')`` gives without a call.
CONSTANTS: dict[str, float] = {f"math.{name}": getattr(math, name) for name in ("e", "inf", "nan", "pi", "tau")}

# Only plain directives: glibc's "%999999999d" would pad to a gigabyte.
_DATE_FORMAT = re.compile(r"(?:[^%]|%-?[A-Za-z%]){0,200}", re.DOTALL)


def _strftime(now: datetime, template: Any) -> str:
    if not isinstance(template, str) or not _DATE_FORMAT.fullmatch(template):
        raise LambdaError(f"strftime() takes a short format of plain directives, got {template!r:.80}", "forbidden")
    return now.strftime(template)


def imported_functions(now: Callable[[], datetime]) -> dict[str, Callable[..., Any]]:
    """What ``__import__(...)`` reaches by a call, by its dotted path; ``now`` is today's clock."""
    today = {
        f"datetime.datetime.{name}().strftime": lambda _, text: _strftime(now(), text) for name in ("today", "now")
    }
    return {f"math.{name}": _plain(getattr(math, name)) for name in _MATH} | today
