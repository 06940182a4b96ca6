"""Values that KAlgebra expressions evaluate to, and how KAlgebra prints them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import (
    OPERATOR_ARITY,
    Apply,
    Block,
    Call,
    Declaration,
    Expression,
    ExpressionLimitError,
    Function,
    Name,
    Number,
    Piecewise,
    Text,
)

MAX_PRINTED: Final = 100_000
"""Longest text that format_value makes, in characters."""


@dataclass(frozen=True, slots=True)
class Vector:
    """``vector { 1, 2 }``."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class List:
    """``list { 1, 2 }``."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    """``matrix { matrixrow { 1, 2 }, matrixrow { 3, 4 } }``; all rows have the same length."""

    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True)
class Lambda:
    """A function value, with the values of the enclosing lambdas' parameters that it was made under."""

    parameters: tuple[str, ...]
    body: Expression
    scope: Mapping[str, Value] = field(default_factory=dict)


Value = float | complex | bool | str | Vector | List | Matrix | Lambda
"""Numbers are float, or complex when the imaginary part is not 0; a string is str."""


def format_value(value: Value) -> str:
    """Prints a value the way KAlgebra's console does.

    Numbers have 12 significant digits. The text of a lambda parses back to the same function, but may have
    fewer or more parentheses than KAlgebra's.

    Raises:
        ExpressionLimitError: If the text would be longer than ``MAX_PRINTED``.
    """
    printer = _Printer()
    try:
        return printer.value(value)
    except RecursionError:
        raise ExpressionLimitError("the value is nested too deeply to be printed") from None


def format_expression(expression: Expression) -> str:
    """Prints a syntax tree as text that parses to the same tree (but for flattened sums and products)."""
    try:
        return _Printer().expression(expression, {}, 0)
    except RecursionError:
        raise ExpressionLimitError("the expression is nested too deeply to be printed") from None


def format_number(number: float) -> str:
    """Prints a real number as Qt's ``QString::number(x, 'g', 12)`` does."""
    return "0" if number == 0 else f"{number:.12g}"


def format_complex(number: complex) -> str:
    """Prints a complex number with KAlgebra's quirks: ``1+-i``, ``2*i``, and nothing at all for NaN."""
    smallest = 1e-13
    real = format_number(number.real) if abs(number.real) > smallest else ""
    if abs(abs(number.imag) - 1) * 1e12 <= min(abs(number.imag), 1.0):
        return real + ("+" if real else "") + ("i" if number.imag > 0 else "-i")
    if not abs(number.imag) > smallest:
        return real
    return real + ("+" if real and number.imag > 0 else "") + format_number(number.imag) + "*i"


_INFIX: Final = {
    "eq": ("=", 4),
    "neq": ("!=", 4),
    "lt": ("<", 4),
    "gt": (">", 4),
    "leq": ("<=", 4),
    "geq": (">=", 4),
    "plus": ("+", 5),
    "minus": ("-", 5),
    "times": ("*", 6),
    "divide": ("/", 6),
    "power": ("^", 8),
}


class _Printer:
    def __init__(self) -> None:
        self._length = 0

    def _leaf(self, text: str) -> str:
        self._length += len(text) + 2
        if self._length > MAX_PRINTED:
            raise ExpressionLimitError(f"the text is longer than {MAX_PRINTED} characters")
        return text

    def value(self, value: Value) -> str:
        if isinstance(value, bool):
            return self._leaf("true" if value else "false")
        if isinstance(value, float | int):
            return self._leaf(format_number(value))
        if isinstance(value, complex):
            return self._leaf(format_complex(value))
        if isinstance(value, str):
            return self._leaf(f'"{value}"')
        if isinstance(value, Lambda):
            return self.expression(Function(value.parameters, value.body), value.scope, 0)
        if isinstance(value, Matrix):
            rows = (f"matrixrow {{ {', '.join(map(self.value, row))} }}" for row in value.rows)
            return f"matrix {{ {', '.join(rows)} }}"
        kind = "vector" if isinstance(value, Vector) else "list"
        self._leaf(kind)
        return f"{kind} {{ {', '.join(map(self.value, value.items))} }}"

    def expression(self, node: Expression, scope: Mapping[str, Value], level: int) -> str:
        """Prints ``node`` with the values in ``scope`` written in; parenthesised if looser than ``level``."""
        if isinstance(node, Number):
            # 17 digits, so that nothing is lost on the way; KAlgebra prints 12.
            text = f"{node.value:.12g}" if float(f"{node.value:.12g}") == node.value else repr(node.value)
            return self._leaf(_literal(text))
        if isinstance(node, Text):
            return self._leaf(f'"{node.value}"')
        if isinstance(node, Name):
            if node.name not in scope:
                return self._leaf(node.name)
            held = scope[node.name]
            simple = isinstance(held, float | int) and held >= 0
            return self.value(held) if simple or level == 0 else f"({self.value(held)})"
        if isinstance(node, Function):
            inner = {name: value for name, value in scope.items() if name not in node.parameters}
            names = ", ".join(node.parameters)
            head = names if len(node.parameters) == 1 else f"({names})"
            return _wrap(f"{self._leaf(head)}->{self.expression(node.body, inner, 1)}", level > 1)
        if isinstance(node, Block):
            self._leaf(node.kind)
            return f"{node.kind} {{ {self._joined(node.items, scope)} }}"
        if isinstance(node, Piecewise):
            pieces = [f"{self.expression(c, scope, 4)} ? {self.expression(v, scope, 4)}" for c, v in node.pieces]
            if node.otherwise is not None:
                pieces.append(f"? {self.expression(node.otherwise, scope, 4)}")
            self._leaf("piecewise")
            return f"piecewise {{ {', '.join(pieces)} }}"
        if isinstance(node, Call):
            simple = isinstance(node.function, Name) and not (
                node.function.name in scope or node.function.name in OPERATOR_ARITY
            )
            function = self.expression(node.function, scope, 0)
            return f"{function if simple else f'({function})'}({self._joined(node.arguments, scope)})"
        if isinstance(node, Declaration):
            return f"{self._leaf(node.name)}:={self.expression(node.value, scope, 0)}"
        return self._apply(node, scope, level)

    def _joined(self, items: tuple[Expression, ...], scope: Mapping[str, Value]) -> str:
        return ", ".join(self.expression(item, scope, 0) for item in items)

    def _apply(self, node: Apply, scope: Mapping[str, Value], level: int) -> str:
        arguments = node.arguments
        self._leaf(node.operator)
        if node.operator == "minus" and len(arguments) == 1:
            return _wrap("-" + self.expression(arguments[0], scope, 7), level > 0)
        if node.operator in _INFIX and (len(arguments) == 2 or node.operator in ("plus", "times")):
            symbol, own = _INFIX[node.operator]
            first = self.expression(arguments[0], scope, own)
            rest = [self.expression(argument, scope, own + 1) for argument in arguments[1:]]
            return _wrap(symbol.join([first, *rest]), level > own)
        if node.operator == "selector":
            held = arguments[1]
            container = self.expression(held, scope, 0)
            simple = isinstance(held, Name | Block | Call) and not (isinstance(held, Name) and held.name in scope)
            return f"{container if simple else f'({container})'}[{self.expression(arguments[0], scope, 0)}]"
        if node.bounds is None:
            return f"{node.operator}({self._joined(arguments, scope)})"
        bounds = node.bounds
        inner = {name: value for name, value in scope.items() if name not in bounds.variables}
        names = ", ".join(bounds.variables)
        tail = names if len(bounds.variables) == 1 else f"({names})"
        if bounds.domain is not None:
            tail += f"@{self.expression(bounds.domain, scope, 0)}"
        elif bounds.lower is not None and bounds.upper is not None:
            tail += f"=({self.expression(bounds.lower, scope, 0)})..({self.expression(bounds.upper, scope, 0)})"
        return f"{node.operator}({self._joined(arguments, inner)}:{tail})"


def _literal(text: str) -> str:
    """Writes a double the way Analitza's lexer reads numbers: no ``e+``, and no integer above 2**31 - 1."""
    mantissa, _, exponent = text.partition("e")
    if exponent:
        return f"{mantissa}e{int(exponent)}"
    if mantissa.isdigit() and int(mantissa) >= 2**31:
        return mantissa + ".0"
    return mantissa


def _wrap(text: str, parenthesise: bool) -> str:
    return f"({text})" if parenthesise else text
