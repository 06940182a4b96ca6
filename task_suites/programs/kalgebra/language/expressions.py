"""KAlgebra's expression language on the host: parse, evaluate, print, and test points on plots.

The parts are in the ``expression_*`` modules; this one gathers what others need.

Example:
    >>> format_value(evaluate(parse("conjugate(1+i)")))
    '1+-i'
    >>> curve("x->x^2").contains((3, 9))
    True
"""

from deskgym.task_suites.programs.kalgebra.language.ast import (
    Expression,
    ExpressionError,
    ExpressionLimitError,
)
from deskgym.task_suites.programs.kalgebra.language.evaluator import CONSTANTS, evaluate
from deskgym.task_suites.programs.kalgebra.language.numerics import (
    extrema,
    intersections,
    real_function,
    solve_zero,
    zeros,
)
from deskgym.task_suites.programs.kalgebra.language.parser import parse
from deskgym.task_suites.programs.kalgebra.language.plots import (
    Curve,
    Surface,
    curve,
    displayed_curves,
    displayed_surfaces,
    matches,
    surface,
)
from deskgym.task_suites.programs.kalgebra.language.readings import readings
from deskgym.task_suites.programs.kalgebra.language.values import (
    Lambda,
    List,
    Matrix,
    Value,
    Vector,
    format_expression,
    format_value,
)

__all__ = [
    "CONSTANTS",
    "Curve",
    "Expression",
    "ExpressionError",
    "ExpressionLimitError",
    "Lambda",
    "List",
    "Matrix",
    "Surface",
    "Value",
    "Vector",
    "curve",
    "displayed_curves",
    "displayed_surfaces",
    "evaluate",
    "extrema",
    "format_expression",
    "format_value",
    "intersections",
    "matches",
    "parse",
    "readings",
    "real_function",
    "solve_zero",
    "surface",
    "zeros",
]
