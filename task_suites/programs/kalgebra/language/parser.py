"""Parser of KAlgebra's expression language (Analitza 8, as shipped with KAlgebra 22.12).

The grammar was checked against the real ``calgebra``. What surprises a reader of ordinary mathematics:

* implicit multiplication is tighter than ``^``: ``2x^2`` is ``(2*x)^2``, and ``sin x^2`` is ``(sin(x))^2``;
* ``^`` associates to the left: ``2^3^2`` is 64; a unary minus is weaker than ``^``: ``-2^2`` is -4;
* only a number multiplies what follows it: ``(2)3`` and ``x y`` are function calls;
* ``f(1)(2)`` does not parse, ``(f(1))(2)`` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import (
    BLOCKS,
    OPERATOR_ARITY,
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
    child_expressions,
)
from deskgym.task_suites.programs.kalgebra.language.lexer import Token, tokenize

MAX_LENGTH: Final = 4096
"""Longest accepted text, in characters."""
MAX_NESTING: Final = 100
"""Deepest accepted syntax tree. The evaluator recurses once per level."""

_INFIX: Final = {
    "=": ("eq", 4),
    "!=": ("neq", 4),
    "<": ("lt", 4),
    ">": ("gt", 4),
    "<=": ("leq", 4),
    ">=": ("geq", 4),
    "+": ("plus", 5),
    "-": ("minus", 5),
    "*": ("times", 6),
    "/": ("divide", 6),
    "^": ("power", 8),
    "**": ("power", 8),
}
_LAMBDA, _OTHERWISE, _QUESTION, _UNARY_MINUS, _SUPERSCRIPT, _PIPE = 1, 2, 3, 7, 9, 10
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


@dataclass(frozen=True, slots=True)
class _Piece:
    """``condition ? value``, or ``? value`` when the condition is None: legal only inside piecewise."""

    condition: Expression | None
    value: Expression
    at: int


_Node = Expression | _Piece


def parse(text: str, displayed: bool = False) -> Expression:
    """Parses one expression or declaration (``name := expression``).

    Args:
        text: What a user types into KAlgebra, or what KAlgebra displays; at most ``MAX_LENGTH`` characters.
        displayed: Also accepts the numbers that KAlgebra prints but does not read, ``1e+20`` and ``3000000000``.

    Returns:
        An immutable, picklable syntax tree.

    Raises:
        ExpressionError: If KAlgebra would refuse the text, or it is too long or nested too deeply.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionLimitError(f"the expression has {len(text)} characters, the limit is {MAX_LENGTH}")
    try:
        return _Parser(tokenize(text, displayed), displayed).program()
    except RecursionError:
        raise ExpressionLimitError("the expression is nested too deeply for this call stack") from None


class _Parser:
    """Precedence climbing. Levels are those of Analitza's table, higher binds tighter."""

    def __init__(self, tokens: list[Token], displayed: bool) -> None:
        self._displayed = displayed
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    # -- token helpers

    def _peek(self, ahead: int = 0) -> Token:
        return self._tokens[min(self._position + ahead, len(self._tokens) - 1)]

    def _next(self) -> Token:
        token = self._peek()
        self._position += 1
        return token

    def _is_op(self, text: str, ahead: int = 0) -> bool:
        token = self._peek(ahead)
        return token.kind == "op" and token.text == text

    def _accept(self, text: str) -> bool:
        found = self._is_op(text)
        self._position += found
        return found

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._unexpected(f"expected {text!r}")

    def _expect_name(self) -> str:
        if self._peek().kind != "name":
            raise self._unexpected("expected a name")
        return self._next().text

    def _unexpected(self, wanted: str) -> ExpressionError:
        token = self._peek()
        found = "the end" if token.kind == "end" else repr(token.text)
        return ExpressionError(f"{wanted} but found {found} at character {token.at}")

    # -- grammar

    def program(self) -> Expression:
        result: Expression
        if self._peek().kind == "name" and self._is_op(":=", 1):
            name = self._next().text
            self._next()
            result = Declaration(name, self._plain(0))
        else:
            result = self._plain(0)
        if self._peek().kind != "end":
            raise self._unexpected("expected an operator or the end")
        _check_depth(result)
        return result

    def _plain(self, level: int) -> Expression:
        """An expression in a place where a loose ``condition ? value`` is not allowed."""
        return _no_piece(self._expression(level))

    def _expression(self, level: int) -> _Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise ExpressionLimitError(f"more than {MAX_NESTING} levels of nesting at character {self._peek().at}")
        left = self._operand()
        while (joined := self._infix(left, level)) is not None:
            left = joined
        self._depth -= 1
        return left

    def _infix(self, left: _Node, level: int) -> _Node | None:
        token = self._peek()
        if token.kind == "superscript" and _SUPERSCRIPT > level:
            self._next()
            exponent = Number(_integer(token.text.translate(_SUPERSCRIPTS), token.at))
            return Apply("power", (_no_piece(left), exponent))
        if token.kind != "op":
            return None
        if token.text == "?" and _QUESTION > level:
            self._next()
            return _Piece(_no_piece(left), self._plain(_QUESTION), token.at)
        if token.text == "|" and _PIPE > level:
            self._next()
            return self._piped(_no_piece(left))
        operator, own_level = _INFIX.get(token.text, ("", 0))
        if own_level <= level:
            return None
        self._next()
        first, second = _no_piece(left), self._plain(own_level)
        # A long sum is one flat node, so that it does not count as deep nesting. Both are left folds.
        if operator in ("plus", "times") and isinstance(first, Apply) and first.operator == operator:
            return Apply(operator, (*first.arguments, second))
        return Apply(operator, (first, second))

    def _operand(self) -> _Node:
        token = self._peek()
        if self._accept("-"):
            return Apply("minus", (self._plain(_UNARY_MINUS),))
        if self._accept("?"):
            return _Piece(None, self._plain(_OTHERWISE), token.at)
        parameters = self._lambda_parameters()
        if parameters:
            return Function(parameters, self._plain(_LAMBDA))
        if token.kind == "number":
            number = self._number()
            if self._peek().kind in ("number", "text", "name") or self._is_op("("):
                return Apply("times", (number, self._primary()))
            return self._subscripts(number)
        if token.kind == "name" and self._peek(1).kind in ("number", "text", "name"):
            self._next()
            return self._apply(Name(token.text), (self._simple(),), None, token.at)
        if self._is_op("("):
            inner = self._parenthesised()
            if self._peek().kind in ("number", "text", "name"):
                return Call(inner, (self._simple(),))
            return self._subscripts(self._called(inner))
        return self._primary()

    def _lambda_parameters(self) -> tuple[str, ...]:
        """Consumes ``x ->`` or ``(x, y) ->`` if that comes next, else consumes nothing."""
        if self._peek().kind == "name" and self._is_op("->", 1):
            self._position += 2
            return (self._peek(-2).text,)
        if not self._is_op("("):
            return ()
        ahead = 1
        names = []
        while self._peek(ahead).kind == "name":
            names.append(self._peek(ahead).text)
            ahead += 1
            if not self._is_op(",", ahead):
                break
            ahead += 1
        if len(names) < 2 or not (self._is_op(")", ahead) and self._is_op("->", ahead + 1)):
            return ()
        self._position += ahead + 2
        return tuple(names)

    def _simple(self) -> Expression:
        """What may follow a function's name without parentheses: a value, a name, or a block."""
        token = self._peek()
        if token.kind == "number":
            return self._number()
        if token.kind == "text":
            self._next()
            return Text(token.text[1:-1])
        if token.kind == "name":
            self._next()
            return self._block(token) if self._is_op("{") else Name(token.text)
        raise self._unexpected("expected a value")

    def _primary(self) -> Expression:
        """A value, block, parenthesised expression or call, with any ``[index]`` after it."""
        token = self._peek()
        if self._is_op("("):
            return self._subscripts(self._called(self._parenthesised()))
        if token.kind == "name" and self._is_op("(", 1):
            self._next()
            arguments, bounds = self._arguments()
            return self._subscripts(self._apply(Name(token.text), arguments, bounds, token.at))
        return self._subscripts(self._simple())

    def _parenthesised(self) -> Expression:
        self._expect("(")
        inner = self._plain(0)
        self._expect(")")
        return inner

    def _called(self, function: Expression) -> Expression:
        if not self._is_op("("):
            return function
        at = self._peek().at
        arguments, bounds = self._arguments()
        if bounds is not None:
            raise ExpressionError(f"only an operator takes bounds, at character {at}")
        return Call(function, arguments)

    def _subscripts(self, value: Expression) -> Expression:
        while self._accept("["):
            value = Apply("selector", (self._plain(0), value))
            self._expect("]")
        return value

    def _piped(self, argument: Expression) -> Expression:
        parameters = self._lambda_parameters()
        if parameters:
            return Call(Function(parameters, self._plain(_LAMBDA)), (argument,))
        if self._is_op("("):
            return Call(self._parenthesised(), (argument,))
        at = self._peek().at
        return self._apply(Name(self._expect_name()), (argument,), None, at)

    def _arguments(self) -> tuple[tuple[Expression, ...], Bounds | None]:
        self._expect("(")
        if self._accept(")"):
            return (), None
        arguments = [self._plain(0)]
        while self._accept(","):
            arguments.append(self._plain(0))
        bounds = self._bounds() if self._accept(":") else None
        self._expect(")")
        return tuple(arguments), bounds

    def _bounds(self) -> Bounds:
        variables = []
        if self._accept("("):
            variables.append(self._expect_name())
            while self._accept(","):
                variables.append(self._expect_name())
            self._expect(")")
        else:
            variables.append(self._expect_name())
        if self._accept("@"):
            return Bounds(tuple(variables), domain=self._plain(0))
        if not self._accept("="):
            return Bounds(tuple(variables))
        lower = self._primary()
        self._expect("..")
        return Bounds(tuple(variables), lower=lower, upper=self._primary())

    def _block(self, name: Token) -> Expression:
        self._expect("{")
        items: list[_Node] = []
        if not self._accept("}"):
            items.append(self._expression(0))
            while self._accept(","):
                items.append(self._expression(0))
            self._expect("}")
        if name.text == "piecewise":
            return _piecewise(items, name.at)
        if name.text not in BLOCKS:
            raise ExpressionError(f"unknown container {name.text!r} at character {name.at}")
        if not items and name.text != "list":
            raise ExpressionError(f"a {name.text} needs at least one element, at character {name.at}")
        plain = tuple(_no_piece(item) for item in items)
        if name.text == "matrix" and not all(isinstance(row, Block) and row.kind == "matrixrow" for row in plain):
            raise ExpressionError(f"a matrix holds matrixrow elements, at character {name.at}")
        return Block(name.text, plain)

    def _number(self) -> Number:
        token = self._next()
        if token.text.isdigit() and not self._displayed:
            return Number(_integer(token.text, token.at))
        value = float(token.text)
        if value in (float("inf"), float("-inf")):
            raise ExpressionError(f"the number {token.text} is too large, at character {token.at}")
        return Number(value)

    @staticmethod
    def _apply(function: Name, arguments: tuple[Expression, ...], bounds: Bounds | None, at: int) -> Expression:
        operator = function.name
        if operator not in OPERATOR_ARITY:
            if bounds is not None:
                raise ExpressionError(f"{operator} takes no bounds, at character {at}")
            return Call(function, arguments)
        least, most = OPERATOR_ARITY[operator]
        if not least <= len(arguments) <= most:
            wanted = str(least) if least == most else f"at least {least}"
            raise ExpressionError(f"{operator} needs {wanted} argument(s), got {len(arguments)}, at character {at}")
        ranged = bounds is not None and (bounds.lower is not None or bounds.domain is not None)
        if operator in ("sum", "product", "forall", "exists"):
            if not ranged:
                raise ExpressionError(f"{operator} needs bounds such as x=1..5 or x@list{{1}}, at character {at}")
        elif operator == "diff":
            if bounds is None:
                raise ExpressionError(f"diff needs a variable, as in diff(x^2:x), at character {at}")
        elif bounds is not None:
            raise ExpressionError(f"{operator} takes no bounds, at character {at}")
        return Apply(operator, arguments, bounds)


def _no_piece(node: _Node) -> Expression:
    if isinstance(node, _Piece):
        raise ExpressionError(f"'condition ? value' belongs inside piecewise{{...}}, at character {node.at}")
    return node


def _piecewise(items: list[_Node], at: int) -> Piecewise:
    pieces: list[tuple[Expression, Expression]] = []
    for index, item in enumerate(items):
        if not isinstance(item, _Piece):
            raise ExpressionError(f"element {index + 1} of piecewise has no '?', at character {at}")
        if item.condition is not None:
            pieces.append((item.condition, item.value))
        elif index == len(items) - 1:
            return Piecewise(tuple(pieces), item.value)
        else:
            raise ExpressionError(f"'? value' must come last in piecewise, at character {item.at}")
    if not pieces:
        raise ExpressionError(f"empty piecewise at character {at}")
    return Piecewise(tuple(pieces), None)


def _integer(digits: str, at: int) -> float:
    # Analitza keeps an integer literal in a C int; 2147483648 is a syntax error there, 2147483648.0 is not.
    if len(digits.lstrip("0")) > 10 or int(digits) > 2**31 - 1:
        raise ExpressionError(f"the integer {digits[:20]} is over 2147483647, at character {at}")
    return float(int(digits))


def _check_depth(root: Expression) -> None:
    """Left-associative chains (``1-1-1-...``) make deep trees without deep parsing."""
    layer: list[Expression] = [root]
    depth = 0
    while layer:
        depth += 1
        if depth > 2 * MAX_NESTING:
            raise ExpressionLimitError(f"more than {2 * MAX_NESTING} levels of nested operations")
        layer = [child for node in layer for child in child_expressions(node)]
