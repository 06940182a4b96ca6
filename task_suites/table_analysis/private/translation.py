"""Rewriting pandas-level code into code over a private library, leaving what does not change as it was written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from deskgym.task_suites.table_analysis.private.functions import Function
from deskgym.task_suites.table_analysis.private.scope import Scope, parse
from deskgym.task_suites.table_analysis.private.shapes import (
    Match,
    Shape,
    match_assignment,
    match_attribute,
    match_call,
    match_subscript,
)

MAX_POSITIONAL = 3
"""A call with more arguments than this names them."""
NESTED = 2
"""How many calls of the library stand inside each other before a line of its own is begun."""
_HARMLESS = {
    "len", "sum", "range", "list", "dict", "set", "tuple", "min", "max", "sorted", "round", "str", "int", "float",
    "bool", "abs", "zip", "enumerate", "slice", "frozenset", "isinstance",
}  # fmt: skip
_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Delete, ast.Raise, ast.Assert)
_COMPOUND = (ast.stmt, ast.ExceptHandler, ast.match_case)
Edit = tuple[int, int, bytes]


class Rewriter(ast.NodeTransformer):
    """Replaces operations by calls of private functions, also inside lambdas, comprehensions and functions.

    Attributes:
        changes: how many were replaced.
        first: id of a new call -> the place of the argument that is evaluated first.
    """

    def __init__(self, scope: Scope, pick: Callable[[Match], Function | None], alias: str = "") -> None:
        self.scope = scope
        self.pick = pick
        self.alias = alias
        self.changes = 0
        self.first: dict[int, tuple[Any, Any]] = {}

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: D102, N802
        return self._replaced(node, match_call(node, self.scope))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:  # noqa: D102, N802
        found = match_subscript(node, self.scope) if isinstance(node.ctx, ast.Load) else None
        return self._replaced(node, found)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:  # noqa: D102, N802
        found = match_attribute(node, self.scope) if isinstance(node.ctx, ast.Load) else None
        return self._replaced(node, found)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:  # noqa: D102, N802
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:  # noqa: D102, N802
        found = match_assignment(node.targets[0], node.value) if len(node.targets) == 1 else None
        function = self.pick(found) if found else None
        if found and function:
            return ast.Expr(self._call(found, function))
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: D102, N802
        if node.value:
            node.value = self.visit(node.value)
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:  # noqa: D102, N802
        node.defaults = [self.visit(one) for one in node.defaults]
        node.kw_defaults = [one and self.visit(one) for one in node.kw_defaults]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:  # noqa: D102, N802
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        node.returns = returns
        return node

    def _replaced(self, node: ast.expr, found: Match | None) -> ast.AST:
        function = self.pick(found) if found else None
        return self._call(found, function) if found and function else self.generic_visit(node)

    def _call(self, match: Match, function: Function) -> ast.Call:
        free = all(self._order_free(part.node) for part in match.parts)
        made = {part.name: self.visit(part.node) for part in match.parts}
        private = {name: word for name, (word, _) in function.parameters.items()}
        source_order = [part.name for part in match.parts]
        order = [name for name in function.parameters if name in made]
        by_position = function.shape.through or len(order) <= MAX_POSITIONAL and (free or order == source_order)
        names = order if free or by_position else source_order
        arguments = [made[name] for name in names] if by_position else []
        keywords = [] if by_position else [ast.keyword(private[name], made[name]) for name in names]
        keywords += [ast.keyword(one.arg, self.visit(one.value)) for one in match.through]
        call = ast.Call(ast.Attribute(ast.Name(self.alias, ast.Load()), function.name, ast.Load()), arguments, keywords)
        self.changes += 1
        first = names.index(source_order[0]) if source_order else None
        if first is not None:
            self.first[id(call)] = (arguments, first) if by_position else (keywords[first], "value")
        return call

    def _order_free(self, node: ast.AST) -> bool:
        """Whether it does not matter when an expression is evaluated, as it changes nothing."""
        if isinstance(node, ast.Lambda):
            return True
        if isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)):
            return False
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _HARMLESS):
            found = match_call(node, self.scope)
            if not found or not found.pure:
                return False
        return all(self._order_free(child) for child in ast.iter_child_nodes(node))


def translated(
    code: str, scope: Scope, functions: Mapping[Shape, Function], module: str, alias: str, step: str
) -> str:  # fmt: skip
    """Code over a library.

    Args:
        code: pandas-level Python.
        scope: what its names stand for.
        functions: the library's functions by shape.
        module: the library's name.
        alias: what the code is to call it.
        step: first part of the names of intermediate results.

    Raises:
        ValueError: the code is not Python.
    """
    rewriter = Rewriter(scope, lambda match: functions.get(match.shape), alias)
    lines = code.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    steps = (f"{step}_{k}" for k in range(1, 10**6))
    tree = parse(code)
    edits = [edit for statement in tree.body for edit in _edits(statement, rewriter, code.encode(), starts, steps)]
    if not rewriter.changes:
        return code
    text = code.encode()
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    top = _import_offset(tree, starts)
    import_line = f"import {module}\n" if alias == module else f"import {module} as {alias}\n"
    return (text[:top] + import_line.encode() + text[top:]).decode()


def _import_offset(tree: ast.Module, starts: list[int]) -> int:
    """Where an import may stand: behind a docstring and imports from ``__future__``."""
    offset = 0
    for node in tree.body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        if isinstance(node, ast.ImportFrom):
            offset = starts[node.end_lineno or 0]
    return offset


def _edits(node: ast.AST, rewriter: Rewriter, text: bytes, starts: list[int], steps: Iterator[str]) -> Iterator[Edit]:
    """The changes to the text that a statement needs."""
    if isinstance(node, _SIMPLE):
        start, end = _span(node, starts)
        before, changed = rewriter.changes, rewriter.visit(node)
        if rewriter.changes > before:
            head = text[text.rfind(b"\n", 0, start) + 1 : start]
            joint = "; " if head.strip() else "\n" + head.decode()
            parts = [*_hoisted(changed, rewriter, steps), changed]
            yield start, end, joint.join(ast.unparse(ast.fix_missing_locations(part)) for part in parts).encode()
        return
    for child in _children(node):
        if isinstance(child, _COMPOUND):
            yield from _edits(child, rewriter, text, starts, steps)
        elif isinstance(child, ast.expr):
            start, end = _span(child, starts)
            before, new = rewriter.changes, rewriter.visit(child)
            if rewriter.changes > before:
                yield start, end, ast.unparse(ast.fix_missing_locations(new)).encode()


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """The statements and expressions of a compound statement, without annotations, patterns and targets."""
    for name, value in ast.iter_fields(node):
        if name in ("returns", "target", "pattern", "type_params", "type"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.arguments):
                yield from (one for one in (*child.defaults, *child.kw_defaults) if one)
            elif isinstance(child, ast.withitem):
                yield child.context_expr
            elif isinstance(child, ast.AST):
                yield child


def _span(node: ast.stmt | ast.expr, starts: list[int]) -> tuple[int, int]:
    last, column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return starts[node.lineno - 1] + node.col_offset, starts[last - 1] + column


def _hoisted(statement: ast.AST, rewriter: Rewriter, steps: Iterator[str]) -> list[ast.stmt]:
    """The first steps of a long chain, taken out of a statement as assignments of their own."""
    places: list[tuple[Any, Any]] = []
    place: tuple[Any, Any] | None = None if isinstance(statement, ast.AugAssign) else (statement, "value")
    while place is not None:
        node = _at(place)
        if id(node) in rewriter.first:
            places.append(place)
        place = rewriter.first.get(id(node)) or _first_place(node)
    made: list[ast.stmt] = []
    for place in reversed(places[NESTED::NESTED]):
        name = next(steps)
        made.append(ast.Assign([ast.Name(name, ast.Store())], _at(place), lineno=0))
        _put(place, ast.Name(name, ast.Load()))
    return made


def _first_place(node: Any) -> tuple[Any, Any] | None:
    """The place of what is evaluated first in an expression that is no call of the library."""
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return (node.args, 0) if node.args and not isinstance(node.args[0], ast.Starred) else None
        return (node, "func")
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return (node, "value")
    if isinstance(node, (ast.BinOp, ast.Compare)):
        return (node, "left")
    return None


def _at(place: tuple[Any, Any]) -> Any:
    owner, key = place
    return owner[key] if isinstance(owner, list) else getattr(owner, key, None)


def _put(place: tuple[Any, Any], node: ast.expr) -> None:
    owner, key = place
    if isinstance(owner, list):
        owner[key] = node
    else:
        setattr(owner, key, node)
