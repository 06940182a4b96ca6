"""Symbolic derivatives by the rules that KAlgebra knows, and only those.

KAlgebra refuses to plot what it cannot differentiate (``arctan``, ``root``, a call of a user's function...),
so the missing rules are not added here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import (
    Apply,
    Block,
    Expression,
    ExpressionError,
    ExpressionLimitError,
    Name,
    Number,
    Piecewise,
    free_names,
)

_MAX_NODES: Final = 20_000
_ZERO, _ONE, _TWO, _TEN = Number(0.0), Number(1.0), Number(2.0), Number(10.0)


def derivative(expression: Expression, variable: str) -> Expression:
    """Differentiates with respect to ``variable``.

    Raises:
        ExpressionError: If KAlgebra has no rule for an operator that occurs.
        ExpressionLimitError: If the result would be huge.
    """
    return _Derivative(variable).of(expression)


class _Derivative:
    def __init__(self, variable: str) -> None:
        self._variable = variable
        self._work = 0

    def of(self, node: Expression) -> Expression:
        if isinstance(node, Name) and node.name == self._variable:
            return _ONE
        names = free_names(node)
        self._work += 1 + len(names)
        if self._work > _MAX_NODES:
            raise ExpressionLimitError("the derivative is too large")
        if self._variable not in names:
            return _ZERO
        if isinstance(node, Apply) and node.bounds is None:
            return self._operator(node.operator, node.arguments)
        if isinstance(node, Piecewise):
            otherwise = None if node.otherwise is None else self.of(node.otherwise)
            return Piecewise(tuple((condition, self.of(value)) for condition, value in node.pieces), otherwise)
        if isinstance(node, Block) and node.kind in ("vector", "list"):
            return Block(node.kind, tuple(self.of(item) for item in node.items))
        raise ExpressionError("KAlgebra cannot differentiate this expression")

    def _operator(self, operator: str, arguments: tuple[Expression, ...]) -> Expression:
        if operator == "plus":
            return _sum([self.of(argument) for argument in arguments])
        if operator == "minus":
            return _difference([self.of(argument) for argument in arguments])
        if operator == "times":
            return self._product(arguments)
        if operator == "divide":
            f, g = arguments
            top = _difference([_product(self.of(f), g), _product(f, self.of(g))])
            return Apply("divide", (top, Apply("power", (g, _TWO))))
        if operator == "power":
            return self._power(*arguments)
        if operator in _CHAIN:
            inner = self.of(arguments[0])
            return _CHAIN[operator](arguments[0], inner)
        raise ExpressionError(f"KAlgebra cannot differentiate {operator}")

    def _product(self, factors: tuple[Expression, ...]) -> Expression:
        terms = []
        for index, factor in enumerate(factors):
            others = [*factors[:index], *factors[index + 1 :]]
            terms.append(_product(*others, self.of(factor)))
        return _sum(terms)

    def _power(self, base: Expression, exponent: Expression) -> Expression:
        if isinstance(exponent, Number):
            lower = Number(exponent.value - 1) if exponent.value >= 1 else None
            reduced = lower or Apply("minus", (exponent, _ONE))
            power = base if reduced == _ONE else Apply("power", (base, reduced))
            return _product(exponent, self.of(base), power)
        # KAlgebra simplifies ln(e) to 1 here, although its e has ten digits.
        logarithm = _ONE if base == Name("e") else Apply("ln", (base,))
        change = self.of(base)
        terms = [_product(self.of(exponent), logarithm)]
        if change != _ZERO:
            terms.append(_product(Apply("divide", (exponent, base)), change))
        return _product(Apply("power", (base, exponent)), _sum(terms))


_CHAIN: Final[dict[str, Callable[[Expression, Expression], Expression]]] = {
    "sin": lambda f, d: _product(d, Apply("cos", (f,))),
    "cos": lambda f, d: _product(d, Apply("minus", (Apply("sin", (f,)),))),
    "tan": lambda f, d: Apply("divide", (d, Apply("power", (Apply("cos", (f,)), _TWO)))),
    "exp": lambda f, d: _product(d, Apply("exp", (f,))),
    "ln": lambda f, d: Apply("divide", (d, f)),
    "log": lambda f, d: Apply("divide", (d, Apply("times", (Apply("ln", (_TEN,)), f)))),
    "abs": lambda f, d: Apply("divide", (Apply("times", (d, f)), Apply("abs", (f,)))),
}


def _sum(terms: list[Expression]) -> Expression:
    kept = [term for term in terms if term != _ZERO]
    if len(kept) < 2:
        return kept[0] if kept else _ZERO
    return Apply("plus", tuple(kept))


def _difference(terms: list[Expression]) -> Expression:
    first, rest = terms[0], [term for term in terms[1:] if term != _ZERO]
    if len(terms) == 1:
        return Apply("minus", (first,)) if first != _ZERO else _ZERO
    if not rest:
        return first
    return Apply("minus", (_sum(rest),)) if first == _ZERO else Apply("minus", (first, *rest))


def _product(*factors: Expression) -> Expression:
    if _ZERO in factors:
        return _ZERO
    kept = [factor for factor in factors if factor != _ONE]
    if len(kept) < 2:
        return kept[0] if kept else _ONE
    return Apply("times", tuple(kept))
