"""Parser of KAlgebra's expression language (Analitza 8, as shipped with KAlgebra 22.12).

The grammar was checked against the real ``calgebra``. What surprises a reader of ordinary mathematics:

* implicit multiplication is tighter than ``^``: ``2x^2`` is ``(2*x)^2``, and ``sin x^2`` is ``(sin(x))^2``;
* ``^`` associates to the left: ``2^3^2`` is 64; a unary minus is weaker than ``^``: ``-2^2`` is -4;
* only a number multiplies what follows it: ``(2)3`` and ``x y`` are function calls;
* ``f(1)(2)`` does not parse, ``(f(1))(2)`` does.
"""

from __future__ import annotations

from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import (
    Apply,
    Bounds,
    Call,
    Declaration,
    Expression,
    ExpressionError,
    ExpressionLimitError,
    Function,
    Name,
    Number,
    Text,
)
from deskgym.task_suites.programs.kalgebra.language.lexer import Token, tokenize
from deskgym.task_suites.programs.kalgebra.language.nodes import (
    Node,
    Piece,
    block,
    check_depth,
    integer,
    operation,
    whole,
)

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
        check_depth(result, 2 * MAX_NESTING)
        return result

    def _plain(self, level: int) -> Expression:
        """An expression in a place where a loose ``condition ? value`` is not allowed."""
        return whole(self._expression(level))

    def _expression(self, level: int) -> Node:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise ExpressionLimitError(f"more than {MAX_NESTING} levels of nesting at character {self._peek().at}")
        left = self._operand()
        while (joined := self._infix(left, level)) is not None:
            left = joined
        self._depth -= 1
        return left

    def _infix(self, left: Node, level: int) -> Node | None:
        token = self._peek()
        if token.kind == "superscript" and _SUPERSCRIPT > level:
            self._next()
            exponent = Number(integer(token.text.translate(_SUPERSCRIPTS), token.at))
            return Apply("power", (whole(left), exponent))
        if token.kind != "op":
            return None
        if token.text == "?" and _QUESTION > level:
            self._next()
            return Piece(whole(left), self._plain(_QUESTION), token.at)
        if token.text == "|" and _PIPE > level:
            self._next()
            return self._piped(whole(left))
        operator, own_level = _INFIX.get(token.text, ("", 0))
        if own_level <= level:
            return None
        self._next()
        first, second = whole(left), self._plain(own_level)
        # A long sum is one flat node, so that it does not count as deep nesting. Both are left folds.
        if operator in ("plus", "times") and isinstance(first, Apply) and first.operator == operator:
            return Apply(operator, (*first.arguments, second))
        return Apply(operator, (first, second))

    def _operand(self) -> Node:
        token = self._peek()
        if self._accept("-"):
            return Apply("minus", (self._plain(_UNARY_MINUS),))
        if self._accept("?"):
            return Piece(None, self._plain(_OTHERWISE), token.at)
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
            return operation(Name(token.text), (self._simple(),), None, token.at)
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
            return self._subscripts(operation(Name(token.text), arguments, bounds, token.at))
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
        return operation(Name(self._expect_name()), (argument,), None, at)

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
        items: list[Node] = []
        if not self._accept("}"):
            items.append(self._expression(0))
            while self._accept(","):
                items.append(self._expression(0))
            self._expect("}")
        return block(name.text, items, name.at)

    def _number(self) -> Number:
        token = self._next()
        if token.text.isdigit() and not self._displayed:
            return Number(integer(token.text, token.at))
        value = float(token.text)
        if value in (float("inf"), float("-inf")):
            raise ExpressionError(f"the number {token.text} is too large, at character {token.at}")
        return Number(value)
