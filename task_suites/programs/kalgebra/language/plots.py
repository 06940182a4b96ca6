"""Tells whether points lie on what KAlgebra plots for an expression.

KAlgebra chooses the kind of plot by the *names* of the parameters. An equation ``a=b`` becomes the function
``a-b`` of the variables in it, and a bare ``x^2`` becomes ``x->x^2``. Hence, in the program as here: ``y=5``
plots the line ``x=y-5``, and ``x^2+y^2=1`` on the 3-D tab is the surface ``z=x^2+y^2-1`` and no cylinder. All
this was checked with the library's PlotsFactory.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from deskgym.task_suites.programs.kalgebra.language.ast import (
    Apply,
    Declaration,
    Expression,
    ExpressionError,
    ExpressionLimitError,
    Function,
)
from deskgym.task_suites.programs.kalgebra.language.containers import Budget
from deskgym.task_suites.programs.kalgebra.language.evaluator import (
    NO_VARIABLES,
    Bindings,
    call,
    evaluate,
    unknown_names,
)
from deskgym.task_suites.programs.kalgebra.language.parser import parse
from deskgym.task_suites.programs.kalgebra.language.readings import readings
from deskgym.task_suites.programs.kalgebra.language.values import Lambda, Value, Vector

TOLERANCE: Final = 1e-4
"""Absolute tolerance, the one of ScienceBoard's patched KAlgebra (``is_near``)."""
RELATIVE_TOLERANCE: Final = 1e-7
"""Added in proportion to a value: ScienceBoard compares 32-bit floats, and KAlgebra's e has ten digits."""
PLOT_STEPS: Final = 300_000
"""Work that one contains() may do, see evaluator.MAX_STEPS."""
MATCH_STEPS: Final = 3_000_000
"""Work that one matches() may do, over all its plots and points: about three seconds."""
PARAMETER_INTERVAL: Final = (0.0, 2 * math.pi)
"""Values of the parameter for which a parametric curve is searched."""

CurveKind = Literal["y=f(x)", "x=f(y)", "polar", "implicit", "implicit polar", "parametric"]
SurfaceKind = Literal[
    "z=f(x,y)",
    "y=f(x,z)",
    "x=f(y,z)",
    "implicit",
    "cylindrical",
    "spherical",
    "parametric curve",
    "parametric",
]

_CURVES: Final[dict[tuple[str, ...], CurveKind]] = {
    ("x",): "y=f(x)",
    ("y",): "x=f(y)",
    ("q",): "polar",
    ("t",): "parametric",
    ("x", "y"): "implicit",
    ("p", "r"): "implicit polar",
}
_SURFACES: Final[dict[tuple[str, ...], SurfaceKind]] = {
    ("x", "y"): "z=f(x,y)",
    ("x", "z"): "y=f(x,z)",
    ("y", "z"): "x=f(y,z)",
    ("x", "y", "z"): "implicit",
    ("p", "r"): "cylindrical",
    ("p", "t"): "spherical",
    ("t",): "parametric curve",
    ("u", "v"): "parametric",
}


@dataclass(frozen=True)
class _Plot:
    text: str
    function: Lambda
    variables: Bindings = field(repr=False)

    def _result(self, arguments: dict[str, float], budget: Budget) -> Value | None:
        values = tuple(float(arguments[name]) for name in self.function.parameters)
        try:
            return call(self.function, values, self.variables, budget)
        except ExpressionLimitError:
            raise
        except ExpressionError:
            return None  # outside of the domain, such as 1/0: nothing is drawn there

    def _number(self, arguments: dict[str, float], budget: Budget) -> float:
        """Returns NaN where the function has no real value."""
        result = self._result(arguments, budget)
        return result if isinstance(result, float) else math.nan

    def _is_function_value(self, arguments: dict[str, float], value: float, tolerance: float, budget: Budget) -> bool:
        result = self._number(arguments, budget)
        slack = tolerance + RELATIVE_TOLERANCE * max(abs(result), abs(value))
        return math.isfinite(result) and abs(result - value) <= slack

    def _is_zero_near(self, point: dict[str, float], tolerance: float, budget: Budget) -> bool:
        """Tells whether the function has a zero about ``tolerance`` away.

        |F(p)| is compared with how much F changes within the tolerance, so that neither the scale of the
        equation (``1000*x=1000*y``) nor a vanishing gradient (``(x-y)^2=0``) matters.
        """
        here = self._number(point, budget)
        if not math.isfinite(here):
            return False
        change = 0.0
        for name, offset in itertools.product(point, (-tolerance, tolerance)):
            there = self._number({**point, name: point[name] + offset}, budget)
            if math.isfinite(there):
                change = max(change, abs(there - here))
        return abs(here) <= change

    def _passes_near(self, point: Sequence[float], tolerance: float, budget: Budget) -> bool:
        """Searches the parameter whose point is nearest, by samples refined around each local minimum."""
        names = self.function.parameters
        if len(names) != 1:
            raise ExpressionError("points on parametric surfaces cannot be tested")
        low, high = PARAMETER_INTERVAL
        count = 1024
        step = (high - low) / count
        distances = [self._distance(names[0], low + index * step, point, budget) for index in range(count + 1)]
        best = min(distances)
        for index, distance in enumerate(distances):
            if distance <= min(distances[max(index - 1, 0)], distances[min(index + 1, count)]) < math.inf:
                left, right = max(low, low + (index - 1) * step), min(high, low + (index + 1) * step)
                for _ in range(40):
                    first, second = left + (right - left) / 3, right - (right - left) / 3
                    near = self._distance(names[0], first, point, budget)
                    far = self._distance(names[0], second, point, budget)
                    left, right = (left, second) if near <= far else (first, right)
                    best = min(best, near, far)
                if best <= tolerance:
                    return True
        return best <= tolerance

    def _distance(self, name: str, parameter: float, point: Sequence[float], budget: Budget) -> float:
        result = self._result({name: parameter}, budget)
        if not isinstance(result, Vector) or len(result.items) != len(point):
            return math.inf
        numbers = [item for item in result.items if isinstance(item, float)]
        distance = math.dist(numbers, point) if len(numbers) == len(point) else math.inf
        return math.inf if math.isnan(distance) else distance


@dataclass(frozen=True)
class Curve(_Plot):
    """What the 2-D tab draws for an expression; made by curve().

    Attributes:
        kind: How the expression is drawn.
        text: The expression as given.
        function: The function that KAlgebra plots.
        variables: Values of the variables that it refers to.
    """

    kind: CurveKind

    def contains(self, point: Sequence[float], tolerance: float = TOLERANCE, budget: Budget | None = None) -> bool:
        """Tells whether a point is on the curve.

        Args:
            point: (x, y); for a polar curve (angle, radius), which is how ScienceBoard's tasks give them,
                with no regard to other angles of the same point.
            tolerance: Allowed difference in value for a function, distance for other kinds.
            budget: Shares one work limit between several calls; by default each has ``PLOT_STEPS``.

        Returns:
            False also where the function is undefined, infinite or complex.

        Raises:
            ExpressionLimitError: If the expression takes too much work.
        """
        budget = budget or Budget(PLOT_STEPS)
        first, second = map(float, point)
        if not (math.isfinite(first) and math.isfinite(second)):
            return False
        if self.kind == "y=f(x)":
            return self._is_function_value({"x": first}, second, tolerance, budget)
        if self.kind == "x=f(y)":
            return self._is_function_value({"y": second}, first, tolerance, budget)
        if self.kind == "polar":
            return self._is_function_value({"q": first}, second, tolerance, budget)
        if self.kind == "implicit":
            return self._is_zero_near({"x": first, "y": second}, tolerance, budget)
        if self.kind == "implicit polar":
            return self._is_zero_near({"p": first, "r": second}, tolerance, budget)
        return self._passes_near((first, second), tolerance, budget)


@dataclass(frozen=True)
class Surface(_Plot):
    """What the 3-D tab draws for an expression; made by surface(). The attributes are those of Curve."""

    kind: SurfaceKind

    def contains(self, point: Sequence[float], tolerance: float = TOLERANCE, budget: Budget | None = None) -> bool:
        """Tells whether the point (x, y, z) is on the surface or space curve; see Curve.contains()."""
        budget = budget or Budget(PLOT_STEPS)
        x, y, z = map(float, point)
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            return False
        if self.kind == "z=f(x,y)":
            return self._is_function_value({"x": x, "y": y}, z, tolerance, budget)
        if self.kind == "y=f(x,z)":
            return self._is_function_value({"x": x, "z": z}, y, tolerance, budget)
        if self.kind == "x=f(y,z)":
            return self._is_function_value({"y": y, "z": z}, x, tolerance, budget)
        if self.kind == "implicit":
            return self._is_zero_near({"x": x, "y": y, "z": z}, tolerance, budget)
        if self.kind == "cylindrical":
            return self._is_function_value({"r": math.hypot(x, y), "p": _angle(x, y)}, z, tolerance, budget)
        if self.kind == "spherical":
            radius = math.hypot(x, y, z)
            polar = math.acos(z / radius) if radius else 0.0
            return self._is_function_value({"t": _angle(x, y), "p": polar}, radius, tolerance, budget)
        return self._passes_near((x, y, z), tolerance, budget)


_P = TypeVar("_P", Curve, Surface)


def curve(text: str, variables: Bindings = NO_VARIABLES) -> Curve:
    """Reads an expression of the 2-D tab's list.

    Args:
        text: As the program shows it, such as ``x->x^2``, ``q->6*sin(3*q)`` or ``x=(y+2)*ln(y)``.
        variables: The program's variables, values or parsed expressions.

    Raises:
        ExpressionError: If KAlgebra would not draw it in 2-D.
    """
    return _curve(text, parse(text), variables)


def surface(text: str, variables: Bindings = NO_VARIABLES) -> Surface:
    """Reads an expression of the 3-D tab, such as ``(x, y)->x*y`` or ``x^2+y^2-z^2=1``; see curve()."""
    return _surface(text, parse(text), variables)


def displayed_curves(text: str, variables: Bindings = NO_VARIABLES) -> tuple[Curve, ...]:
    """Lists the curves that a *displayed* text may stand for, which is ambiguous: see readings().

    Raises:
        ExpressionError: If KAlgebra draws none of them in 2-D.
    """
    return _drawn(_curve, text, variables)


def displayed_surfaces(text: str, variables: Bindings = NO_VARIABLES) -> tuple[Surface, ...]:
    """Lists the surfaces that a displayed text may stand for; see displayed_curves()."""
    return _drawn(_surface, text, variables)


def matches(
    plots: Iterable[Curve | Surface], points: Mapping[tuple[float, ...], bool], tolerance: float = TOLERANCE
) -> bool:
    """Tells whether one of the plots has all the points that are True and none that are False.

    This is what an ``eqn`` item of a ScienceBoard task asks.

    Raises:
        ExpressionLimitError: If it takes more than ``MATCH_STEPS``, which bounds the time whatever an agent plots.
    """
    budget = Budget(MATCH_STEPS)
    return any(
        all(plot.contains(point, tolerance, budget) is wanted for point, wanted in points.items()) for plot in plots
    )


def _drawn(make: Callable[[str, Expression, Bindings], _P], text: str, variables: Bindings) -> tuple[_P, ...]:
    drawn: list[_P] = []
    reason = None
    for expression in readings(text):
        try:
            drawn.append(make(text, expression, variables))
        except ExpressionError as error:
            reason = reason or error
    if reason is not None and not drawn:
        raise reason
    return tuple(drawn)


def _curve(text: str, expression: Expression, variables: Bindings) -> Curve:
    function = _function(expression, variables)
    kind = _CURVES.get(tuple(sorted(function.parameters)))
    if kind is None:
        raise ExpressionError(f"a function of {', '.join(function.parameters)} is not drawn in 2-D")
    return Curve(text, function, dict(variables), kind)


def _surface(text: str, expression: Expression, variables: Bindings) -> Surface:
    function = _function(expression, variables)
    kind = _SURFACES.get(tuple(sorted(function.parameters)))
    if kind is None:
        raise ExpressionError(f"a function of {', '.join(function.parameters)} is not drawn in 3-D")
    return Surface(text, function, dict(variables), kind)


def _function(expression: Expression, variables: Bindings) -> Lambda:
    if isinstance(expression, Declaration):
        expression = expression.value
    if isinstance(expression, Apply) and expression.operator == "eq":
        expression = Apply("minus", expression.arguments)
    free = tuple(sorted(unknown_names(expression, variables)))
    if free:
        if isinstance(expression, Function):
            raise ExpressionError(f"unknown identifier: {', '.join(free)}")
        expression = Function(free, expression)
    if not isinstance(expression, Function) and not (isinstance(expression, Apply) and expression.operator == "diff"):
        raise ExpressionError("KAlgebra draws functions and equations only")
    function = evaluate(expression, variables)
    if not isinstance(function, Lambda):
        raise ExpressionError("KAlgebra draws functions and equations only")
    return function


def _angle(x: float, y: float) -> float:
    return math.atan2(y, x) % (2 * math.pi)
