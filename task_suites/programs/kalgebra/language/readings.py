"""What a text that KAlgebra *displays* may stand for.

KAlgebra lists plots and variables by printing their syntax trees, and its printer leaves out parentheses that matter:
``x-(1-x)`` is listed as ``x-1-x``, ``(-x)^2`` as ``-x^2``, and ``e^(-(x-1))`` as ``e^-x-1``. What was typed cannot be
recovered from such a text, so readings() gives every syntax tree that is displayed as that text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from deskgym.task_suites.programs.kalgebra.language.ast import (
    Apply,
    Block,
    Bounds,
    Call,
    Declaration,
    Expression,
    Function,
    Name,
    Number,
    Piecewise,
    Text,
)
from deskgym.task_suites.programs.kalgebra.language.parser import parse

MAX_READINGS: Final = 32
_MAX_TREES: Final = 300
_SYMBOLS: Final = {
    "plus": "+",
    "minus": "-",
    "times": "*",
    "divide": "/",
    "power": "^",
    "eq": "=",
    "neq": "!=",
    "lt": "<",
    "leq": "<=",
    "gt": ">",
    "geq": ">=",
}
_INNER: Final = ("minus", "times", "divide", "power")
_TIGHT: Final = ("times", "divide", "power")


def readings(text: str) -> tuple[Expression, ...]:
    """Lists what a displayed text may mean.

    Args:
        text: A text as KAlgebra shows it. Here numbers such as ``1e+20`` and ``3000000000`` are accepted, which
            KAlgebra prints but does not read.

    Returns:
        First the tree that the text parses to, then the others that KAlgebra prints the same way; at most
        ``MAX_READINGS``, and for long ambiguous texts not all.

    Raises:
        ExpressionError: If the text does not parse.
    """
    plain = parse(text, displayed=True)
    wanted = "".join(text.split())
    try:
        others = (tree for tree in _reachable(plain) if _displayed(tree) == wanted)
        return (plain, *itertools.islice(others, MAX_READINGS - 1))
    except RecursionError:
        return (plain,)


def _reachable(plain: Expression) -> Iterator[Expression]:
    """Yields what rearranging makes of a tree, nearest first, up to ``_MAX_TREES``."""
    seen = {plain}
    queue = [plain]
    for tree in queue:
        for other in _rearranged(tree):
            if len(seen) >= _MAX_TREES:
                return
            if other not in seen:
                seen.add(other)
                queue.append(other)
                yield other


def _rearranged(node: Expression) -> Iterator[Expression]:
    """Yields the trees that differ from ``node`` by moving one pair of parentheses that is not displayed."""
    if isinstance(node, Apply):
        yield from _moved(node)
        for index, argument in enumerate(node.arguments):
            for other in _rearranged(argument):
                arguments = (*node.arguments[:index], other, *node.arguments[index + 1 :])
                yield replace(node, arguments=arguments)
    elif isinstance(node, Function):
        for other in _rearranged(node.body):
            yield replace(node, body=other)
    elif isinstance(node, Declaration):
        for other in _rearranged(node.value):
            yield replace(node, value=other)
    elif isinstance(node, Call):
        for index, argument in enumerate(node.arguments):
            for other in _rearranged(argument):
                yield replace(node, arguments=(*node.arguments[:index], other, *node.arguments[index + 1 :]))
        for other in _rearranged(node.function):
            yield replace(node, function=other)
    elif isinstance(node, Block):
        for index, item in enumerate(node.items):
            for other in _rearranged(item):
                yield replace(node, items=(*node.items[:index], other, *node.items[index + 1 :]))
    elif isinstance(node, Piecewise):
        yield from _rearranged_piecewise(node)


def _rearranged_piecewise(node: Piecewise) -> Iterator[Expression]:
    for index, (condition, value) in enumerate(node.pieces):
        before, after = node.pieces[:index], node.pieces[index + 1 :]
        for other in _rearranged(condition):
            yield replace(node, pieces=(*before, (other, value), *after))
        for other in _rearranged(value):
            yield replace(node, pieces=(*before, (condition, other), *after))
    if node.otherwise is not None:
        for other in _rearranged(node.otherwise):
            yield replace(node, otherwise=other)


def _moved(node: Apply) -> Iterator[Expression]:
    """Yields the rearrangements of the topmost operators, of which the caller keeps those displayed alike."""
    first, *rest = node.arguments
    last = node.arguments[-1]
    if _is_negation(node):
        if isinstance(first, Apply) and first.operator in _INNER and len(first.arguments) > 1:
            yield _with_first(first, _negated(first.arguments[0]))  # -(b*c) -> (-b)*c
        return
    if node.operator == "minus" and len(rest) == 1 and isinstance(last, Apply) and _is_difference(last):
        b, c = last.arguments
        yield _minus(_minus(first, b), c)  # a-(b-c) -> (a-b)-c
    if node.operator == "minus" and isinstance(first, Apply) and _is_difference(first):
        a, b = first.arguments
        yield _minus(a, _minus(b, rest[0]))  # (a-b)-c -> a-(b-c)
    if node.operator in _SYMBOLS and isinstance(last, Apply) and _is_negation(last):
        inner = _operand(last)
        if isinstance(inner, Apply) and inner.operator in _INNER and len(inner.arguments) > 1:
            arguments = (*node.arguments[:-1], _negated(inner.arguments[0]))  # a^(-(b*c)) -> (a^(-b))*c
            yield _with_first(inner, replace(node, arguments=arguments))
    if node.operator in _INNER and isinstance(first, Apply):
        if _is_negation(first):
            yield _negated(_with_first(node, first.arguments[0]))  # (-b)*c -> -(b*c)
        elif first.operator in _SYMBOLS and len(first.arguments) > 1 and _is_negation(first.arguments[-1]):
            b = _operand(first.arguments[-1])  # (a^(-b))*c -> a^(-(b*c))
            yield replace(first, arguments=(*first.arguments[:-1], _negated(_with_first(node, b))))
    if node.operator == "minus" and isinstance(first, Apply) and first.operator == "plus":
        difference = _minus(first.arguments[-1], rest[0])  # (a+b)-c -> a+(b-c)
        yield replace(first, arguments=(*first.arguments[:-1], difference))
    if node.operator in _INNER and _is_negation(first) and isinstance(last, Apply) and last.operator in _TIGHT:
        z, *others = last.arguments  # (-a)*z^n -> (-(a*z))^n
        base = replace(node, arguments=(_operand(first), *node.arguments[1:-1], z))
        yield replace(last, arguments=(_negated(base), *others))


def _is_negation(node: Expression) -> bool:
    return isinstance(node, Apply) and node.operator == "minus" and len(node.arguments) == 1


def _is_difference(node: Apply) -> bool:
    return node.operator == "minus" and len(node.arguments) == 2


def _operand(negation: Expression) -> Expression:
    return negation.arguments[0] if isinstance(negation, Apply) else negation


def _negated(node: Expression) -> Expression:
    return Apply("minus", (node,))


def _minus(a: Expression, b: Expression) -> Expression:
    return Apply("minus", (a, b))


def _with_first(node: Apply, first: Expression) -> Expression:
    return replace(node, arguments=(first, *node.arguments[1:]))


def _displayed(node: Expression) -> str:
    """Prints like KAlgebra, slips included, but without spaces."""
    if isinstance(node, Number):
        return f"{node.value:.12g}"
    if isinstance(node, Text):
        return f'"{node.value}"'.replace(" ", "")
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Function):
        return f"{_names(node.parameters)}->{_displayed(node.body)}"
    if isinstance(node, Block):
        return f"{node.kind}{{{_joined(node.items)}}}"
    if isinstance(node, Piecewise):
        pieces = [f"{_displayed(condition)}?{_displayed(value)}" for condition, value in node.pieces]
        if node.otherwise is not None:
            pieces.append(f"?{_displayed(node.otherwise)}")
        return f"piecewise{{{','.join(pieces)}}}"
    if isinstance(node, Call):
        function = _displayed(node.function)
        return f"{function if isinstance(node.function, Name) else f'({function})'}({_joined(node.arguments)})"
    if isinstance(node, Declaration):
        return f"{node.name}:={_displayed(node.value)}"
    return _displayed_operator(node)


def _displayed_operator(node: Apply) -> str:
    if node.operator in _SYMBOLS:
        parts = [_displayed_operand(node, index) for index in range(len(node.arguments))]
        return "-" + parts[0] if len(parts) == 1 else _SYMBOLS[node.operator].join(parts)
    if node.operator == "selector":
        container = _displayed(node.arguments[1])
        held = node.arguments[1]
        if isinstance(held, Apply) and held.operator in _SYMBOLS:
            container = f"({container})"
        return f"{container}[{_displayed(node.arguments[0])}]"
    return f"{node.operator}({_joined(node.arguments)}{_displayed_bounds(node.bounds)})"


def _displayed_operand(parent: Apply, index: int) -> str:
    child = parent.arguments[index]
    text = _displayed(child)
    if not isinstance(child, Apply) or len(child.arguments) == 1:
        return text  # (-x)^2 loses its parentheses here
    return f"({text})" if _weight(parent.operator, -1) > _weight(child.operator, index) else text


def _weight(operator: str, position: int) -> int:
    if operator in ("divide", "power"):
        return (6 if operator == "divide" else 8) - (position > 0)
    weights = {"plus": 2, "minus": 3, "times": 4, "and": 6, "or": 6, "xor": 6}
    return weights.get(operator, 1 if operator in _SYMBOLS else 1000)


def _displayed_bounds(bounds: Bounds | None) -> str:
    if bounds is None:
        return ""
    text = f":{_names(bounds.variables)}"
    if bounds.lower is not None and bounds.upper is not None:
        return f"{text}={_displayed(bounds.lower)}..{_displayed(bounds.upper)}"
    return text if bounds.domain is None else f"{text}@{_displayed(bounds.domain)}"


def _names(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"({','.join(names)})"


def _joined(items: tuple[Expression, ...]) -> str:
    return ",".join(map(_displayed, items))
