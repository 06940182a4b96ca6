"""Functions that every suite has for derived parameters and for the constraints in ``where``."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.envs.evaluation.calls import unknown
from deskgym.envs.evaluation.predicates import Predicate, same

_OPERATORS: Mapping[type, Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Not: operator.not_,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: same, ast.NotEq: lambda a, b: not same(a, b),
}  # fmt: skip
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "sqrt": math.sqrt, "sin": math.sin, "cos": math.cos,
    "tan": math.tan, "exp": math.exp, "log": math.log, "floor": math.floor, "ceil": math.ceil, "gcd": math.gcd,
    "round": lambda number, digits=None: _round(number, digits),
}  # fmt: skip
MAX_POWER = 64
MAX_DIGITS = 300
"""Of a whole number, and to which a number is rounded."""
MAX_LENGTH = 2000
"""Characters of a formula."""


def formula(values: Mapping[str, Any], of: str, digits: int | None = None) -> Any:
    """A number, rounded to ``digits``, or whether a condition holds.

    It is computed from parameters by name, ``+ - * / // % **``, comparisons, ``and``, ``or``, ``not``, brackets,
    ``pi``, ``e`` and the usual functions; nothing else is run.

    Raises:
        ValueError: there is something else in it, or it or one of its numbers is too long.

    Examples:
        >>> formula({"a": -3}, "a**2 + sqrt(16)"), formula({"a": 2, "b": 5}, "a < b and a != 1")
        (13.0, True)
    """
    if len(of) > MAX_LENGTH:
        raise ValueError(f"a formula has at most {MAX_LENGTH} characters, got {len(of)}")
    value = _compute(ast.parse(of.strip(), mode="eval").body, values)
    if isinstance(value, complex):
        raise ValueError(f"{of!r} is complex")
    return value if digits is None else _round(value, digits)


def _round(number: Any, digits: int | None) -> Any:
    if digits is not None and abs(digits) > MAX_DIGITS:
        raise ValueError(f"digits are {-MAX_DIGITS} to {MAX_DIGITS}, got {digits}")
    return round(number, digits)


def _bounded(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MAX_DIGITS * 4:
        raise ValueError(f"a whole number has more than {MAX_DIGITS} digits")
    return value


def _compute(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float, str):
        return node.value
    if isinstance(node, ast.Name):
        known = {"pi": math.pi, "e": math.e, **values}
        if node.id not in known:
            raise ValueError(unknown("parameter", node.id, values))
        return known[node.id]
    if isinstance(node, ast.BoolOp):
        holding = (bool(_compute(value, values)) for value in node.values)
        return all(holding) if isinstance(node.op, ast.And) else any(holding)
    if isinstance(node, ast.Compare) and all(type(op) in _OPERATORS for op in node.ops):
        sides = [_compute(side, values) for side in [node.left, *node.comparators]]
        return all(_OPERATORS[type(op)](a, b) for op, a, b in zip(node.ops, sides, sides[1:], strict=False))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_compute(node.operand, values))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = _number(node.left, values), _number(node.right, values)
        if isinstance(node.op, ast.Pow) and abs(right) > MAX_POWER:
            raise ValueError(f"an exponent is at most {MAX_POWER}, got {right}")
        return _bounded(_OPERATORS[type(node.op)](left, right))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        if node.func.id not in _FUNCTIONS:
            raise ValueError(unknown("function", node.func.id, _FUNCTIONS))
        return _FUNCTIONS[node.func.id](*(_number(argument, values) for argument in node.args))
    raise ValueError(f"{ast.unparse(node)!r} is not legal in a formula")


def _number(node: ast.expr, values: Mapping[str, Any]) -> Any:
    value = _compute(node, values)
    if not isinstance(value, (int, float)):
        raise ValueError(f"{ast.unparse(node)!r} is {value!r}, not a number")
    return value


def text(of: str) -> str:
    """A text, put together from other parameters: ``{text: "{a}*x + {b}"}``."""
    return of


def holds(value: Any, that: Predicate) -> bool:
    """A predicate holds for a value: ``{holds: {value: "{a}", that: {between: [1, 9]}}}``."""
    return that(value)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "text": text,
    "holds": holds,
}
"""Functions of the task file's arguments."""
