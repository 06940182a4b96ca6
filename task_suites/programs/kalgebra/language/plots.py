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
from typing import Final

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

_Place = Callable[..., tuple[dict[str, float], float | None]]
"""What a point means to a kind of plot: the function's arguments, and the value there; None: it is 0 on the plot."""


def _angle(x: float, y: float) -> float:
    return math.atan2(y, x) % (2 * math.pi)


def _spherical(x: float, y: float, z: float) -> tuple[dict[str, float], float]:
    radius = math.hypot(x, y, z)
    return {"t": _angle(x, y), "p": math.acos(z / radius) if radius else 0.0}, radius


_CURVES: Final[dict[tuple[str, ...], tuple[str, _Place | None]]] = {
    ("x",): ("y=f(x)", lambda x, y: ({"x": x}, y)),
    ("y",): ("x=f(y)", lambda x, y: ({"y": y}, x)),
    ("q",): ("polar", lambda angle, radius: ({"q": angle}, radius)),
    ("t",): ("parametric", None),
    ("x", "y"): ("implicit", lambda x, y: ({"x": x, "y": y}, None)),
    ("p", "r"): ("implicit polar", lambda angle, radius: ({"p": angle, "r": radius}, None)),
}
_SURFACES: Final[dict[tuple[str, ...], tuple[str, _Place | None]]] = {
    ("x", "y"): ("z=f(x,y)", lambda x, y, z: ({"x": x, "y": y}, z)),
    ("x", "z"): ("y=f(x,z)", lambda x, y, z: ({"x": x, "z": z}, y)),
    ("y", "z"): ("x=f(y,z)", lambda x, y, z: ({"y": y, "z": z}, x)),
    ("x", "y", "z"): ("implicit", lambda x, y, z: ({"x": x, "y": y, "z": z}, None)),
    ("p", "r"): ("cylindrical", lambda x, y, z: ({"r": math.hypot(x, y), "p": _angle(x, y)}, z)),
    ("p", "t"): ("spherical", _spherical),
    ("t",): ("parametric curve", None),
    ("u", "v"): ("parametric", None),
}
"""By the parameters: what the plot is called, and what a point means to it; None: it is searched along the plot."""
_FORMS: Final = {2: _CURVES, 3: _SURFACES}


@dataclass(frozen=True)
class Plot:
    """What a tab draws for an expression; made by curve() and surface().

    Attributes:
        text: The expression as given.
        function: The function that KAlgebra plots.
        variables: Values of the variables that it refers to.
        dimensions: 2 or 3.
    """

    text: str
    function: Lambda
    variables: Bindings = field(repr=False)
    dimensions: int

    @property
    def kind(self) -> str:
        """How it is drawn, such as ``"y=f(x)"``, ``"polar"`` or ``"implicit"``."""
        return self._form[0]

    @property
    def _form(self) -> tuple[str, _Place | None]:
        return _FORMS[self.dimensions][tuple(sorted(self.function.parameters))]

    def contains(self, point: Sequence[float], tolerance: float = TOLERANCE, budget: Budget | None = None) -> bool:
        """Tells whether a point is on the plot.

        Args:
            point: (x, y) or (x, y, z); for a polar curve (angle, radius), which is how ScienceBoard's tasks give
                them, with no regard to other angles of the same point.
            tolerance: Allowed difference in value for a function, distance for other kinds.
            budget: Shares one work limit between several calls; by default each has ``PLOT_STEPS``.

        Returns:
            False also where the function is undefined, infinite or complex.

        Raises:
            ExpressionLimitError: If the expression takes too much work.
        """
        budget = budget or Budget(PLOT_STEPS)
        numbers = tuple(map(float, point))
        place = self._form[1]
        if not all(map(math.isfinite, numbers)):
            return False
        if place is None:
            return self._passes_near(numbers, tolerance, budget)
        arguments, value = place(*numbers)
        if value is None:
            return self._is_zero_near(arguments, tolerance, budget)
        return self._is_function_value(arguments, value, tolerance, budget)

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


def curve(text: str, variables: Bindings = NO_VARIABLES) -> Plot:
    """Reads an expression of the 2-D tab's list.

    Args:
        text: As the program shows it, such as ``x->x^2``, ``q->6*sin(3*q)`` or ``x=(y+2)*ln(y)``.
        variables: The program's variables, values or parsed expressions.

    Raises:
        ExpressionError: If KAlgebra would not draw it in 2-D.
    """
    return _plot(2, text, parse(text), variables)


def surface(text: str, variables: Bindings = NO_VARIABLES) -> Plot:
    """Reads an expression of the 3-D tab, such as ``(x, y)->x*y`` or ``x^2+y^2-z^2=1``; see curve()."""
    return _plot(3, text, parse(text), variables)


def displayed_curves(text: str, variables: Bindings = NO_VARIABLES) -> tuple[Plot, ...]:
    """Lists the curves that a *displayed* text may stand for, which is ambiguous: see readings().

    Raises:
        ExpressionError: If KAlgebra draws none of them in 2-D.
    """
    return _displayed(2, text, variables)


def displayed_surfaces(text: str, variables: Bindings = NO_VARIABLES) -> tuple[Plot, ...]:
    """Lists the surfaces that a displayed text may stand for; see displayed_curves()."""
    return _displayed(3, text, variables)


def matches(plots: Iterable[Plot], points: Mapping[tuple[float, ...], bool], tolerance: float = TOLERANCE) -> bool:
    """Tells whether one of the plots has all the points that are True and none that are False.

    This is what an ``eqn`` item of a ScienceBoard task asks.

    Raises:
        ExpressionLimitError: If it takes more than ``MATCH_STEPS``, which bounds the time whatever an agent plots.
    """
    budget = Budget(MATCH_STEPS)
    return any(
        all(plot.contains(point, tolerance, budget) is wanted for point, wanted in points.items()) for plot in plots
    )


def _displayed(dimensions: int, text: str, variables: Bindings) -> tuple[Plot, ...]:
    drawn: list[Plot] = []
    reason = None
    for expression in readings(text):
        try:
            drawn.append(_plot(dimensions, text, expression, variables))
        except ExpressionError as error:
            reason = reason or error
    if reason is not None and not drawn:
        raise reason
    return tuple(drawn)


def _plot(dimensions: int, text: str, expression: Expression, variables: Bindings) -> Plot:
    function = _function(expression, variables)
    if tuple(sorted(function.parameters)) not in _FORMS[dimensions]:
        raise ExpressionError(f"a function of {', '.join(function.parameters)} is not drawn in {dimensions}-D")
    return Plot(text, function, dict(variables), dimensions)


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
