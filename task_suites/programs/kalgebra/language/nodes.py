"""Makes nodes of the syntax tree from their parts, and refuses those that KAlgebra refuses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deskgym.task_suites.programs.kalgebra.language.ast import (
    BLOCKS,
    OPERATOR_ARITY,
    Apply,
    Block,
    Bounds,
    Call,
    Expression,
    ExpressionError,
    ExpressionLimitError,
    Name,
    Piecewise,
    child_expressions,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """``condition ? value``, or ``? value`` when the condition is None: legal only inside piecewise."""

    condition: Expression | None
    value: Expression
    at: int


Node = Expression | Piece


def whole(node: Node) -> Expression:
    """The node, in a place where a loose ``condition ? value`` is not legal."""
    if isinstance(node, Piece):
        raise ExpressionError(f"'condition ? value' belongs inside piecewise{{...}}, at character {node.at}")
    return node


def integer(digits: str, at: int) -> float:
    """The value of an integer literal.

    Analitza keeps it in a C int: 2147483648 is a syntax error there, and 2147483648.0 is not.
    """
    if len(digits.lstrip("0")) > 10 or int(digits) > 2**31 - 1:
        raise ExpressionError(f"the integer {digits[:20]} is over 2147483647, at character {at}")
    return float(int(digits))


def operation(function: Name, arguments: tuple[Expression, ...], bounds: Bounds | None, at: int) -> Expression:
    """An operator of KAlgebra's with its arguments and bounds, or the call of a function that a user has defined."""
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


def block(name: str, items: Sequence[Node], at: int) -> Expression:
    """What ``name{...}`` is: a list, vector, matrix, ... or a piecewise."""
    if name == "piecewise":
        return _piecewise(items, at)
    if name not in BLOCKS:
        raise ExpressionError(f"unknown container {name!r} at character {at}")
    if not items and name != "list":
        raise ExpressionError(f"a {name} needs at least one element, at character {at}")
    plain = tuple(whole(item) for item in items)
    if name == "matrix" and not all(isinstance(row, Block) and row.kind == "matrixrow" for row in plain):
        raise ExpressionError(f"a matrix holds matrixrow elements, at character {at}")
    return Block(name, plain)


def _piecewise(items: Sequence[Node], at: int) -> Piecewise:
    pieces: list[tuple[Expression, Expression]] = []
    for index, item in enumerate(items):
        if not isinstance(item, Piece):
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


def check_depth(root: Expression, most: int) -> None:
    """Refuse a tree of more levels. Left-associative chains (``1-1-1-...``) make deep trees without deep parsing."""
    layer: list[Expression] = [root]
    depth = 0
    while layer:
        depth += 1
        if depth > most:
            raise ExpressionLimitError(f"more than {most} levels of nested operations")
        layer = [child for node in layer for child in child_expressions(node)]
