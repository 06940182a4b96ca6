"""Points on and off a reference plot, by which another plot is told to be the same or not."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from deskgym.task_suites.programs.kalgebra.language.ast import ExpressionError
from deskgym.task_suites.programs.kalgebra.language.containers import Budget
from deskgym.task_suites.programs.kalgebra.language.evaluator import call
from deskgym.task_suites.programs.kalgebra.language.numerics import zeros
from deskgym.task_suites.programs.kalgebra.language.plots import PLOT_STEPS, Plot, curve, surface
from deskgym.task_suites.programs.kalgebra.language.values import Value, Vector

Points = dict[tuple[float, ...], bool]

_OFF = (0.37, -0.61, 1.9)  # how far off a point is moved, in turn
_RANGE = 12.0  # implicit curves are looked for this far from the origin
_MOST = 1e6  # larger values are left out: they say little about the shape
_FEWEST = 3


@dataclass(frozen=True)
class Reference:
    """Points by which a plot is recognised.

    Attributes:
        cartesian: (x, y) or (x, y, z) → whether it is on the plot.
        polar: as (angle, radius) for plots that are given so, where the radius may be negative; empty for others.
    """

    cartesian: Points
    polar: Points

    def fits(self, plot: Plot) -> bool:
        """Whether the plot has all the points that it must have, and none of the others."""
        points = self.cartesian
        if plot.kind in ("polar", "implicit polar"):
            points = self.polar or {(math.atan2(y, x), math.hypot(x, y)): on for (x, y), on in points.items()}
        return bool(points) and all(plot.contains(point) is wanted for point, wanted in points.items())


class _Places:
    """Where a reference is looked at: drawn by a seed, one in each of equal parts, so that they lie everywhere.

    An agent that knew them could plot anything that passes there.
    """

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.xs = [k - 8 + rng.uniform(0.05, 0.95) for k in range(16)]
        self.angles = [0.41 * (k + rng.uniform(0.05, 0.95)) for k in range(15)]
        self.plane = list(zip(self.xs, rng.sample(self.xs, len(self.xs)), strict=True))


def reference_curve(text: str, seed: int) -> Reference:
    """Points of a 2D plot given as KAlgebra's text.

    Args:
        text: the plot.
        seed: draws where it is looked at.

    Raises:
        ExpressionError: it is none, or too few points of it are found to tell it from others.
    """
    plot, places = curve(text), _Places(seed)
    if plot.kind == "polar":
        radius = _value(plot)
        on_polar = [(angle, radius(angle)) for angle in places.angles if _usable(radius(angle))]
        on = [(r * math.cos(angle), r * math.sin(angle)) for angle, r in on_polar]
        return Reference(_labelled(plot, on, check=False), _labelled(plot, on_polar))
    if plot.kind == "y=f(x)":
        value = _value(plot)
        return Reference(_labelled(plot, [(x, value(x)) for x in places.xs if _usable(value(x))]), {})
    if plot.kind == "x=f(y)":
        value = _value(plot)
        return Reference(_labelled(plot, [(value(y), y) for y in places.xs if _usable(value(y))]), {})
    if plot.kind == "parametric":
        return Reference(_labelled(plot, list(_parametric(plot, places.angles))), {})
    if plot.kind == "implicit":
        difference = _value(plot, ("x", "y"))
        on = [(x, y) for x in places.xs for y in zeros(lambda y, x=x: difference(x, y), -_RANGE, _RANGE)]  # type: ignore[misc]
        return Reference(_labelled(plot, on), {})
    raise ExpressionError(f"points of a {plot.kind} plot are not worked out here: {text!r}")


def reference_surface(text: str, seed: int) -> Reference:
    """Points of a 3D plot given as KAlgebra's text.

    Args:
        text: the plot.
        seed: draws where it is looked at.

    Raises:
        ExpressionError: it is none, or too few points of it are found to tell it from others.
    """
    plot, plane = surface(text), _Places(seed).plane
    if plot.kind == "z=f(x,y)":
        height = _value(plot, ("x", "y"))
        return Reference(_labelled(plot, [(x, y, height(x, y)) for x, y in plane if _usable(height(x, y))]), {})
    if plot.kind == "implicit":
        f = _value(plot, ("x", "y", "z"))
        near = [(x / 4, y / 4) for x, y in plane]
        on = [(x, y, z) for x, y in near for z in zeros(lambda z, x=x, y=y: f(x, y, z), -_RANGE, _RANGE)]  # type: ignore[misc]
        return Reference(_labelled(plot, on), {})
    raise ExpressionError(f"points of a {plot.kind} surface are not worked out here: {text!r}")


def _value(plot: Plot, names: tuple[str, ...] | None = None) -> Callable[..., float]:
    """The plotted function in Python, its arguments in the order of ``names``; NaN where it has no real value."""
    order = names or plot.function.parameters

    def compute(*arguments: float) -> float:
        given = dict(zip(order, arguments, strict=True))
        value = _result(plot, tuple(float(given[name]) for name in plot.function.parameters))
        return value if isinstance(value, float) else math.nan

    return compute


def _parametric(plot: Plot, times: Sequence[float]) -> Iterator[tuple[float, float]]:
    for t in times:
        point = _result(plot, (t,))
        if isinstance(point, Vector) and len(point.items) == 2:
            x, y = point.items
            if isinstance(x, float) and isinstance(y, float):
                yield x, y


def _result(plot: Plot, arguments: tuple[float, ...]) -> Value | None:
    try:
        return call(plot.function, arguments, plot.variables, Budget(PLOT_STEPS))
    except ExpressionError:
        return None


def _usable(value: float) -> bool:
    return math.isfinite(value) and abs(value) <= _MOST


def _labelled(plot: Plot, on: Sequence[tuple[float, ...]], check: bool = True) -> Points:
    """The points, and as many beside them that are not on the plot; a dozen of each is enough."""
    step = max(1, len(on) // 14)
    on = on[::step]
    if len(on) < _FEWEST:
        raise ExpressionError(f"only {len(on)} points of {plot.text!r} were found, too few to recognise it by")
    points: Points = dict.fromkeys(on, True)
    for k, point in enumerate(on):
        moved = (*point[:-1], point[-1] + _OFF[k % len(_OFF)] * max(1.0, abs(point[-1])))
        if moved not in points and (not check or not plot.contains(moved)):
            points[moved] = False
    return points
