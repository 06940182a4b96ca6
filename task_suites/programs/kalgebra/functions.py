"""Functions for the parameters of KAlgebra's task files: expected values are worked out here, never typed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.kalgebra.language.evaluator import evaluate
from deskgym.task_suites.programs.kalgebra.language.numerics import extrema, intersections, real_function
from deskgym.task_suites.programs.kalgebra.language.parser import parse
from deskgym.task_suites.programs.kalgebra.language.values import format_value
from deskgym.task_suites.programs.kalgebra.macros import COLOR_VALUES


def value(of: str, digits: int = 12) -> float:
    """The value of an expression without variables, as KAlgebra works it out.

    Raises:
        ValueError: it has no real value.
    """
    result = evaluate(parse(of))
    if isinstance(result, bool) or not isinstance(result, (int, float)):
        raise ValueError(f"{of!r} is {result!r}, no real number")
    return round(float(result), digits)


def printed(of: str) -> str:
    """The value of an expression without variables as KAlgebra prints it, such as ``"3+-2*i"``."""
    return format_value(evaluate(parse(of)))


def crossings(f: str, g: str, low: float, high: float) -> list[float]:
    """The x between ``low`` and ``high`` where two functions such as ``x->x^2`` cross, ascending."""
    return intersections(real_function(f), real_function(g), low, high)


def extremum(of: str, low: float, high: float) -> float:
    """The x of the only local extremum between ``low`` and ``high``.

    Raises:
        ValueError: there is none, or more than one.
    """
    found = extrema(real_function(of), low, high)
    if len(found) != 1:
        raise ValueError(f"{of!r} has {len(found)} extrema between {low} and {high}")
    return found[0]


def at(of: str, x: float) -> float:
    """The value of a function such as ``x->x^2`` at ``x``."""
    return real_function(of)(x)


def applied(outer: str, inner: str) -> str:
    """``outer`` with ``inner`` for its ``@``."""
    return outer.replace("@", inner)


def same(of: Any) -> Any:
    """What it is given: a part of a parameter, or a list, as a parameter of its own."""
    return of


def item(of: list[Any], number: int) -> Any:
    """One of a list, counted from 0."""
    return of[number]


def rgb(name: str) -> str:
    """A colour's ``#rrggbb``."""
    return COLOR_VALUES[name]


FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "kalgebra.value_of": value,
    "kalgebra.printed": printed,
    "kalgebra.crossings": crossings,
    "kalgebra.extremum": extremum,
    "kalgebra.at": at,
    "kalgebra.rgb": rgb,
    "kalgebra.applied": applied,
    "kalgebra.same": same,
    "kalgebra.item": item,
}
"""By the names that task files use."""
