"""Syntax tree of KAlgebra expressions: immutable, comparable, picklable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final


class ExpressionError(ValueError):
    """An expression that cannot be parsed or evaluated; the message says what is wrong, and where."""


class ExpressionLimitError(ExpressionError):
    """An expression that is too long, too deep, or takes too much work; says nothing about its value."""


@dataclass(frozen=True, slots=True)
class Number:
    """A literal. Analitza computes in double precision throughout."""

    value: float


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal, to Analitza a list of characters."""

    value: str


@dataclass(frozen=True, slots=True)
class Name:
    """A variable, a parameter, or a constant such as ``pi``."""

    name: str


@dataclass(frozen=True, slots=True)
class Bounds:
    """``: x``, ``: x=lower..upper`` or ``: x@domain`` inside an operator's parentheses."""

    variables: tuple[str, ...]
    lower: Expression | None = None
    upper: Expression | None = None
    domain: Expression | None = None


@dataclass(frozen=True, slots=True)
class Apply:
    """A built-in operator; ``operator`` is its MathML name and a key of OPERATOR_ARITY (``plus``)."""

    operator: str
    arguments: tuple[Expression, ...]
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a lambda, or of a name that holds one."""

    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A lambda: ``x->body`` or ``(x, y)->body``."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Block:
    """``vector{...}``, ``list{...}``, ``matrix{...}`` or ``matrixrow{...}``."""

    kind: str
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Piecewise:
    """``piecewise{condition ? value, ..., ? otherwise}``."""

    pieces: tuple[tuple[Expression, Expression], ...]
    otherwise: Expression | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """``name := value``."""

    name: str
    value: Expression


Expression = Number | Text | Name | Apply | Call | Function | Block | Piecewise | Declaration

BLOCKS: Final = ("vector", "list", "matrix", "matrixrow")

_ANY: Final = 10_000
_UNARY: Final = (
    "factorial not abs floor ceiling sin cos tan sec csc cot sinh cosh tanh sech csch coth arcsin arccos "
    "arctan arccot arccosh arccsc arccsch arcsec arcsech arcsinh arctanh exp ln log conjugate arg "
    "real imaginary sum product diff card forall exists transpose"
)
_BINARY: Final = "divide quotient power root rem factorof lt gt eq neq leq geq implies approx selector map filter"
_NARY: Final = "plus times and or xor gcd lcm max min scalarproduct union"
OPERATOR_ARITY: Final[dict[str, tuple[int, int]]] = {
    **{name: (1, 1) for name in _UNARY.split()},
    **{name: (2, 2) for name in _BINARY.split()},
    **{name: (2, _ANY) for name in _NARY.split()},
    "minus": (1, _ANY),
}
"""Fewest and most arguments of each operator of Analitza 8."""


def child_expressions(node: Expression) -> Iterator[Expression]:
    """Yields the direct children, whatever scope they are in."""
    if isinstance(node, Apply):
        yield from node.arguments
        if node.bounds is not None:
            for bound in (node.bounds.lower, node.bounds.upper, node.bounds.domain):
                if bound is not None:
                    yield bound
    elif isinstance(node, Call):
        yield node.function
        yield from node.arguments
    elif isinstance(node, Function):
        yield node.body
    elif isinstance(node, Block):
        yield from node.items
    elif isinstance(node, Piecewise):
        for condition, value in node.pieces:
            yield condition
            yield value
        if node.otherwise is not None:
            yield node.otherwise
    elif isinstance(node, Declaration):
        yield node.value


def free_names(node: Expression, bound: frozenset[str] = frozenset()) -> set[str]:
    """Names that the expression takes from outside, those it calls included."""
    if isinstance(node, Name):
        return set() if node.name in bound else {node.name}
    names: set[str] = set()
    if isinstance(node, Function):
        bound |= set(node.parameters)
    elif isinstance(node, Apply) and node.bounds is not None:
        for outside in (node.bounds.lower, node.bounds.upper, node.bounds.domain):
            if outside is not None:
                names |= free_names(outside, bound)
        inside = bound | set(node.bounds.variables)
        for argument in node.arguments:
            names |= free_names(argument, inside)
        return names
    for child in child_expressions(node):
        names |= free_names(child, bound)
    return names
