"""Zeros, intersections and extrema of one-variable functions, to compute what a task's answer must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import ExpressionError, Function
from deskgym.task_suites.programs.kalgebra.language.containers import Budget
from deskgym.task_suites.programs.kalgebra.language.evaluator import (
    MAX_STEPS,
    NO_VARIABLES,
    Bindings,
    call,
    evaluate,
)
from deskgym.task_suites.programs.kalgebra.language.parser import parse
from deskgym.task_suites.programs.kalgebra.language.values import Lambda

RealFunction = Callable[[float], float]
SAMPLES: Final = 2000


def real_function(text: str, variables: Bindings = NO_VARIABLES) -> RealFunction:
    """Makes a Python function of a one-parameter lambda such as ``x->x^2``.

    Returns:
        A function that returns NaN where the expression has no real value, and raises ExpressionError when its calls
        together take more than ten times ``MAX_STEPS``.

    Raises:
        ExpressionError: If the text is not a lambda of one parameter.
    """
    expression = parse(text)
    function = evaluate(expression, variables) if isinstance(expression, Function) else None
    if not isinstance(function, Lambda) or len(function.parameters) != 1:
        raise ExpressionError(f"expected a function of one variable such as x->x^2, got {text!r}")
    made = function
    together = Budget(10 * MAX_STEPS)

    def compute(x: float) -> float:
        own = Budget(MAX_STEPS)
        try:
            value = call(made, (float(x),), variables, own)
        except ExpressionError:
            return math.nan
        finally:
            together.spend(own.spent)
        return value if isinstance(value, float) else math.nan

    return compute


def solve_zero(f: RealFunction, a: float, b: float) -> float:
    """Finds a zero of a continuous function between ``a`` and ``b`` by bisection, to the last bit.

    Raises:
        ValueError: If the function has no sign change over the interval.
    """
    at_a, at_b = f(a), f(b)
    if at_a == 0:
        return a
    if at_b == 0:
        return b
    if not at_a * at_b < 0:
        raise ValueError(f"no sign change between {a} and {b}: {at_a} and {at_b}")
    while True:
        middle = a + (b - a) / 2
        if middle in (a, b):
            return middle
        value = f(middle)
        if value == 0:
            return middle
        if (value < 0) == (at_a < 0):
            a = middle
        else:
            b = middle


def zeros(f: RealFunction, a: float, b: float, samples: int = SAMPLES) -> list[float]:
    """Finds the zeros between ``a`` and ``b`` where the sign changes; poles are left out.

    Zeros closer to each other than ``(b - a) / samples`` may be missed, and so are those where f touches 0.
    """
    step = (b - a) / samples
    found: list[float] = []
    for index in range(samples):
        left, right = a + index * step, a + (index + 1) * step
        at_left, at_right = f(left), f(right)
        if at_left == 0:
            found.append(left)
        elif at_left * at_right < 0:
            zero = solve_zero(f, left, right)
            if abs(f(zero)) <= min(abs(at_left), abs(at_right)):
                found.append(zero)
    return found + [b] if f(b) == 0 else found


def intersections(f: RealFunction, g: RealFunction, a: float, b: float, samples: int = SAMPLES) -> list[float]:
    """Finds the x between ``a`` and ``b`` where f and g cross; see zeros()."""
    return zeros(lambda x: f(x) - g(x), a, b, samples)


def extrema(f: RealFunction, a: float, b: float, samples: int = SAMPLES) -> list[float]:
    """Finds the x strictly between ``a`` and ``b`` of local minima and maxima, to about eight digits."""
    step = (b - a) / samples
    values = [f(a + index * step) for index in range(samples + 1)]
    found: list[float] = []
    for index in range(1, samples):
        before, here, after = values[index - 1 : index + 2]
        if here < before and here <= after:
            found.append(_minimum(f, a + (index - 1) * step, a + (index + 1) * step))
        elif here > before and here >= after:
            found.append(_minimum(lambda x: -f(x), a + (index - 1) * step, a + (index + 1) * step))
    return found


def _minimum(f: RealFunction, a: float, b: float) -> float:
    for _ in range(100):
        left, right = a + (b - a) / 3, b - (b - a) / 3
        if f(left) <= f(right):
            b = right
        else:
            a = left
    return (a + b) / 2
