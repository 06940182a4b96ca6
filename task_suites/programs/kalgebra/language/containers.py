"""Operators of Analitza on vectors, lists, strings and matrices; those on scalars are in the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from deskgym.task_suites.programs.kalgebra.language import numbers as numbers
from deskgym.task_suites.programs.kalgebra.language.ast import ExpressionError, ExpressionLimitError
from deskgym.task_suites.programs.kalgebra.language.numbers import Scalar
from deskgym.task_suites.programs.kalgebra.language.values import Lambda, List, Matrix, Value, Vector

_ELEMENTWISE: Final = ("plus", "minus", "times", "scalarproduct", "eq", "neq")


class Budget:
    """Work that is still allowed; every part of the evaluation draws on it."""

    def __init__(self, steps: int) -> None:
        self._limit = self._left = steps

    @property
    def spent(self) -> int:
        """What was taken off."""
        return self._limit - self._left

    def spend(self, steps: int) -> None:
        """Takes ``steps`` off.

        Raises:
            ExpressionLimitError: When nothing is left.
        """
        self._left -= steps
        if self._left < 0:
            raise ExpressionLimitError(f"the evaluation takes more than {self._limit} steps")


def unary(operator: str, value: Value) -> Value:
    """Applies a one-argument operator, or raises ExpressionError."""
    if operator == "card":
        if isinstance(value, Vector | List):
            return float(len(value.items))
        if isinstance(value, str):
            return float(len(value))
    elif operator == "transpose":
        if isinstance(value, Vector):
            return Matrix((value.items,))
        if isinstance(value, Matrix):
            return Matrix(tuple(zip(*value.rows, strict=True)))
    elif isinstance(value, float | int | complex):
        return numbers.unary(operator, value)
    raise ExpressionError(f"KAlgebra cannot compute {operator} of a {_kind(value)}")


def binary(operator: str, a: Value, b: Value, budget: Budget) -> Value:
    """Applies a two-argument operator, or raises ExpressionError; ``budget`` pays for each element."""
    if operator == "selector":
        return _selected(a, b)
    if isinstance(a, float | int | complex) and isinstance(b, float | int | complex):
        return numbers.binary(operator, a, b)
    if operator == "union":
        return _union(a, b, budget)
    if isinstance(a, Matrix) or isinstance(b, Matrix):
        return _matrix_binary(operator, a, b, budget)
    if isinstance(a, Vector) and isinstance(b, Vector) and operator in _ELEMENTWISE:
        return _vectors(operator, a, b, budget)
    if isinstance(a, Vector) and isinstance(b, float | int | complex) and operator in ("times", "divide"):
        budget.spend(len(a.items))
        return Vector(tuple(binary(operator, item, b, budget) for item in a.items))
    if isinstance(b, Vector) and isinstance(a, float | int | complex) and operator == "times":
        budget.spend(len(b.items))
        return Vector(tuple(binary(operator, a, item, budget) for item in b.items))
    raise ExpressionError(f"KAlgebra cannot compute {operator} between a {_kind(a)} and a {_kind(b)}")


def builtin(name: str, arguments: Sequence[float], budget: Budget) -> Value:
    """Calls ``comb(n, k)``, ``perm(n, k)``, or ``range`` of (last), (first, last) or (first, last, step)."""
    if name == "range":
        return _range(arguments, budget)
    if len(arguments) != 2 or not all(0 <= number < 2**31 for number in arguments):
        raise ExpressionError(f"{name} takes two natural numbers")
    n, k = int(arguments[0]), int(arguments[1])
    if k > n:
        return 0.0
    budget.spend(k)
    result = 1.0
    for index in range(k):
        result *= n - index
        if name == "comb":
            result /= index + 1
    return float(round(result)) if name == "comb" and result < 2**53 else result


def _range(arguments: Sequence[float], budget: Budget) -> List:
    if not 1 <= len(arguments) <= 3:
        raise ExpressionError("range takes one to three numbers")
    first, last, step = 1.0, arguments[-1], 1.0
    if len(arguments) > 1:
        first, last = arguments[:2]
    if len(arguments) == 3:
        step = arguments[2]
    if not all(map(math.isfinite, arguments)) or step == 0:
        raise ExpressionError("range needs finite numbers and a step that is not 0")
    count = (last - first) / step + 1
    if count > 1e9:
        raise ExpressionLimitError(f"the range has more than 1e9 elements ({count:g})")
    length = max(0, math.floor(count))
    budget.spend(length)
    return List(tuple(first + index * step for index in range(length)))


def _selected(index: Value, container: Value) -> Value:
    if isinstance(index, bool) or not isinstance(index, float | int):
        raise ExpressionError("an index must be a real number")
    position = numbers.to_int(index) - 1
    items: Sequence[Value]
    if isinstance(container, Matrix):
        items = [Vector(row) for row in container.rows]
    elif isinstance(container, Vector | List):
        items = container.items
    elif isinstance(container, str):
        items = container
    else:
        raise ExpressionError(f"a {_kind(container)} has no elements")
    if not 0 <= position < len(items):
        raise ExpressionError(f"index {position + 1} is not in 1..{len(items)}")
    return items[position]


def _union(a: Value, b: Value, budget: Budget) -> Value:
    if isinstance(a, str) and isinstance(b, str):
        budget.spend(len(a) + len(b))
        return a + b
    if isinstance(a, List) and isinstance(b, List):
        budget.spend(len(a.items) + len(b.items))
        return List(a.items + b.items)
    raise ExpressionError(f"KAlgebra cannot compute the union of a {_kind(a)} and a {_kind(b)}")


def _vectors(operator: str, a: Vector, b: Vector, budget: Budget) -> Vector:
    if len(a.items) != len(b.items):
        raise ExpressionError(f"{operator} needs vectors of the same size, got {len(a.items)} and {len(b.items)}")
    budget.spend(len(a.items))
    fold = "times" if operator == "scalarproduct" else operator  # Analitza 8 does not add the products up
    pairs = zip(a.items, b.items, strict=True)
    return Vector(tuple(binary(fold, first, second, budget) for first, second in pairs))


def _matrix_binary(operator: str, a: Value, b: Value, budget: Budget) -> Value:
    if isinstance(a, Matrix) and isinstance(b, Matrix):
        if operator in ("plus", "minus") and _shape(a) == _shape(b):
            rows = zip(a.rows, b.rows, strict=True)
            return Matrix(tuple(_vectors(operator, Vector(x), Vector(y), budget).items for x, y in rows))
        if operator == "times" and _shape(a)[1] == _shape(b)[0]:
            return _matrix_product(a, b, budget)
    elif operator == "times" and isinstance(a, Matrix) and isinstance(b, Vector):
        if _shape(a)[1] == len(b.items):
            column = _matrix_product(a, Matrix(tuple((item,) for item in b.items)), budget)
            return Vector(tuple(row[0] for row in column.rows))
    elif operator == "times" and isinstance(b, Matrix) and isinstance(a, float | int | complex):
        budget.spend(_shape(b)[0] * _shape(b)[1])
        return Matrix(tuple(tuple(binary("times", a, item, budget) for item in row) for row in b.rows))
    elif operator == "power" and isinstance(a, Matrix) and isinstance(b, float) and b == math.floor(b):
        return _matrix_power(a, abs(b), budget)
    raise ExpressionError(f"KAlgebra cannot compute {operator} between a {_kind(a)} and a {_kind(b)} of these sizes")


def _matrix_product(a: Matrix, b: Matrix, budget: Budget) -> Matrix:
    columns = tuple(zip(*b.rows, strict=True))
    budget.spend(len(a.rows) * len(columns) * len(b.rows))
    return Matrix(tuple(tuple(_dot(row, column) for column in columns) for row in a.rows))


def _dot(row: tuple[Value, ...], column: tuple[Value, ...]) -> Scalar:
    total: Scalar = 0.0
    for first, second in zip(row, column, strict=True):
        if not isinstance(first, float | complex) or not isinstance(second, float | complex):
            raise ExpressionError("matrix and vector entries must be numbers")
        total = numbers.binary("plus", total, numbers.binary("times", first, second))
    return total


def _matrix_power(base: Matrix, exponent: float, budget: Budget) -> Matrix:
    size, width = _shape(base)
    if size != width or not exponent < 2**31:
        raise ExpressionError("only a square matrix has powers, with an integer exponent")
    result = Matrix(tuple(tuple(float(row == column) for column in range(size)) for row in range(size)))
    left = int(exponent)
    while left:
        if left % 2:
            result = _matrix_product(result, base, budget)
        left //= 2
        if left:
            base = _matrix_product(base, base, budget)
    return result


def _shape(matrix: Matrix) -> tuple[int, int]:
    return len(matrix.rows), len(matrix.rows[0])


def _kind(value: Value) -> str:
    if isinstance(value, bool):
        return "truth value"
    if isinstance(value, float | int | complex):
        return "number"
    if isinstance(value, str):
        return "string"
    return "function" if isinstance(value, Lambda) else type(value).__name__.lower()
