"""Evaluates KAlgebra expressions on the host: no ``eval``, and a bound on work, depth and size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType
from typing import Final, cast

from deskgym.task_suites.programs.kalgebra.language import containers as containers
from deskgym.task_suites.programs.kalgebra.language.ast import (
    Apply,
    Block,
    Bounds,
    Call,
    Declaration,
    Expression,
    ExpressionError,
    ExpressionLimitError,
    Function,
    Name,
    Number,
    Piecewise,
    Text,
    free_names,
)
from deskgym.task_suites.programs.kalgebra.language.containers import Budget
from deskgym.task_suites.programs.kalgebra.language.derivative import derivative
from deskgym.task_suites.programs.kalgebra.language.values import Lambda, List, Matrix, Value, Vector

MAX_STEPS: Final = 1_000_000
"""Work that one evaluate() may do, in syntax-tree nodes visited and elements made: about a second."""

CONSTANTS: Final[dict[str, Value]] = {
    "true": True,
    "false": False,
    "pi": math.pi,
    # Analitza has these two with ten digits only: in KAlgebra ln(e) is 0.999999999831.
    "e": 2.718281828,
    "euler": 0.5772156649,
    "i": 1j,
}
"""The variables that a fresh KAlgebra has."""

FUNCTIONS: Final = ("comb", "perm", "range")
"""Built-in functions that are not operators, as far as they are supported here."""

_FOLDS: Final[dict[str, tuple[str, Value]]] = {
    "sum": ("plus", 0.0),
    "product": ("times", 1.0),
    "forall": ("and", True),
    "exists": ("or", False),
}

Bindings = Mapping[str, Value | Expression]

NO_VARIABLES: Final[Bindings] = MappingProxyType({})


def evaluate(expression: Expression, variables: Bindings = NO_VARIABLES, budget: Budget | None = None) -> Value:
    """Computes the value of an expression in KAlgebra's "Calculate" mode, the one that plots use.

    Args:
        expression: What parse() returned; of a declaration, the right-hand side is evaluated.
        variables: Values of the variables. One given as an Expression is evaluated where it is used, which is
            what KAlgebra does with ``y := x+1``. CONSTANTS are there unless overridden.
        budget: Shares one work limit between several evaluations; by default each has ``MAX_STEPS``.

    Raises:
        ExpressionLimitError: If it takes too much work, recursion, or memory.
        ExpressionError: If a name is unknown, types do not fit, or the program reports an error (``1/0``).
            Results that are not numbers, as of ``ln(-1)``, are NaN and no error, as in the program.
    """
    _check_names(expression, variables)
    try:
        return _Evaluator(variables, budget or Budget(MAX_STEPS)).value(expression, {})
    except RecursionError:
        raise ExpressionLimitError("the evaluation recurses too deeply") from None
    except OverflowError as error:
        raise ExpressionError(f"a number went out of range: {error}") from None


def call(function: Lambda, arguments: tuple[Value, ...], variables: Bindings, budget: Budget) -> Value:
    """Applies a lambda that evaluate() returned to values; raises what evaluate() raises."""
    try:
        return _Evaluator(variables, budget).called(function, arguments)
    except RecursionError:
        raise ExpressionLimitError("the evaluation recurses too deeply") from None
    except OverflowError as error:
        raise ExpressionError(f"a number went out of range: {error}") from None


def unknown_names(expression: Expression, variables: Bindings) -> set[str]:
    """Names in the expression that no variable, constant or built-in function provides."""
    return free_names(expression) - variables.keys() - CONSTANTS.keys() - set(FUNCTIONS)


def _check_names(expression: Expression, variables: Bindings) -> None:
    # KAlgebra refuses an unknown name even in a branch that would not be reached.
    own = {expression.name} if isinstance(expression, Declaration) else set()
    unknown = unknown_names(expression, variables) - own
    if unknown:
        raise ExpressionError(f"unknown identifier: {', '.join(sorted(unknown))}")


class _Evaluator:
    def __init__(self, variables: Bindings, budget: Budget) -> None:
        self._variables = variables
        self._budget = budget

    def value(self, node: Expression, scope: Mapping[str, Value]) -> Value:
        """Evaluates ``node``; ``scope`` holds the parameters of the enclosing lambdas."""
        self._budget.spend(1)
        if isinstance(node, Number):
            return node.value
        if isinstance(node, Name):
            return self._named(node.name, scope)
        if isinstance(node, Apply):
            return self._applied(node, scope)
        if isinstance(node, Call):
            return self._call(node, scope)
        if isinstance(node, Function):
            self._budget.spend(len(scope))
            return Lambda(node.parameters, node.body, dict(scope))
        if isinstance(node, Text):
            return node.value
        if isinstance(node, Piecewise):
            return self._piecewise(node, scope)
        if isinstance(node, Declaration):
            return self.value(node.value, scope)
        return self._block(node, scope)

    def called(self, function: Value, arguments: tuple[Value, ...]) -> Value:
        """Applies a lambda; what it has from outside comes from where it was made, globals from now."""
        if not isinstance(function, Lambda):
            raise ExpressionError("only a function can be called")
        if len(function.parameters) != len(arguments):
            wanted = f"{len(function.parameters)} argument(s)"
            raise ExpressionError(f"the function takes {wanted}, got {len(arguments)}")
        self._budget.spend(len(function.scope) + 1)
        bound = dict(zip(function.parameters, arguments, strict=True))
        return self.value(function.body, {**function.scope, **bound})

    def _named(self, name: str, scope: Mapping[str, Value]) -> Value:
        if name in scope:
            return scope[name]
        if name in self._variables:
            held = self._variables[name]
            return self.value(held, {}) if isinstance(held, Expression) else held
        if name in CONSTANTS:
            return CONSTANTS[name]
        raise ExpressionError(f"unknown identifier: {name}")

    def _call(self, node: Call, scope: Mapping[str, Value]) -> Value:
        function = node.function
        if isinstance(function, Name) and function.name in FUNCTIONS:
            if function.name not in scope and function.name not in self._variables:
                numbers = [_real(self.value(argument, scope)) for argument in node.arguments]
                return containers.builtin(function.name, numbers, self._budget)
        held = self.value(function, scope)
        return self.called(held, tuple(self.value(argument, scope) for argument in node.arguments))

    def _piecewise(self, node: Piecewise, scope: Mapping[str, Value]) -> Value:
        for condition, value in node.pieces:
            if self._truth(condition, scope):
                return self.value(value, scope)
        if node.otherwise is None:
            raise ExpressionError("no condition of the piecewise holds")
        return self.value(node.otherwise, scope)

    def _truth(self, node: Expression, scope: Mapping[str, Value]) -> bool:
        value = self.value(node, scope)
        if not isinstance(value, bool):
            raise ExpressionError("a condition must be true or false")
        return value

    def _block(self, node: Block, scope: Mapping[str, Value]) -> Value:
        if node.kind == "matrix":
            blocks = cast(tuple[Block, ...], node.items)
            rows = [tuple(self.value(item, scope) for item in block.items) for block in blocks]
            if len({len(row) for row in rows}) != 1:
                raise ExpressionError("the rows of a matrix must have the same length")
            return Matrix(tuple(rows))
        items = tuple(self.value(item, scope) for item in node.items)
        if node.kind == "list":
            return List(items)
        if node.kind == "vector":
            return Vector(items)
        raise ExpressionError("a matrixrow belongs inside a matrix")

    def _applied(self, node: Apply, scope: Mapping[str, Value]) -> Value:
        operator, arguments = node.operator, node.arguments
        if operator == "diff":
            variables = cast(Bounds, node.bounds).variables
            return Lambda(variables, derivative(arguments[0], variables[0]), dict(scope))
        if node.bounds is not None:
            return self._bounded(operator, arguments[0], node.bounds, scope)
        if operator in ("map", "filter"):
            return self._mapped(operator, arguments, scope)
        result = self.value(arguments[0], scope)
        if len(arguments) == 1:
            return containers.unary(operator, result)
        for argument in arguments[1:]:
            if _decided(operator, result):
                break
            result = containers.binary(operator, result, self.value(argument, scope), self._budget)
        return result

    def _mapped(self, operator: str, arguments: tuple[Expression, ...], scope: Mapping[str, Value]) -> Value:
        function, held = (self.value(argument, scope) for argument in arguments)
        if not isinstance(held, List):
            raise ExpressionError(f"{operator} works on a list")
        results = [self.called(function, (item,)) for item in held.items]
        if operator == "map":
            return List(tuple(results))
        if not all(isinstance(result, bool) for result in results):
            raise ExpressionError("a filter's function must return true or false")
        return List(tuple(item for item, keep in zip(held.items, results, strict=True) if keep))

    def _bounded(self, operator: str, body: Expression, bounds: Bounds, scope: Mapping[str, Value]) -> Value:
        fold, result = _FOLDS[operator]
        for values in self._ranges(bounds, scope):
            self._budget.spend(len(scope) + 1)
            bound = dict(zip(bounds.variables, values, strict=True))
            term = self.value(body, {**scope, **bound})
            result = containers.binary(fold, result, term, self._budget)
            if _decided(fold, result):
                break
        return result

    def _ranges(self, bounds: Bounds, scope: Mapping[str, Value]) -> Iterator[tuple[Value, ...]]:
        if bounds.domain is not None:
            domain = self.value(bounds.domain, scope)
            if not isinstance(domain, List | Vector):
                raise ExpressionError("a domain must be a list or a vector")
            return product(domain.items, repeat=len(bounds.variables))
        lower = _real(self.value(cast(Expression, bounds.lower), scope))
        upper = _real(self.value(cast(Expression, bounds.upper), scope))
        if not lower <= upper:
            raise ExpressionError(f"the lower limit {lower:g} is greater than the upper limit {upper:g}")
        return self._steps(lower, upper, len(bounds.variables))

    def _steps(self, lower: float, upper: float, count: int) -> Iterator[tuple[float, ...]]:
        """Yields the tuples from ``lower`` to ``upper`` in steps of 1; the range may be huge."""
        current = [lower] * count
        while True:
            yield tuple(current)
            for index in reversed(range(count)):
                current[index] += 1
                if current[index] <= upper:
                    break
                current[index] = lower
            else:
                return


def _decided(operator: str, result: Value) -> bool:
    """Tells whether ``and`` or ``or`` has its result already; Analitza does not look at the rest."""
    return (operator == "and" and result is False) or (operator == "or" and result is True)


def _real(value: Value) -> float:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return float(value)
    raise ExpressionError("expected a real number")
