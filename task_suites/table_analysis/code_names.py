"""Which names a piece of code needs, sets and changes: told from its syntax tree, erring to the safe side."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

_IN_PLACE = {
    "add", "append", "clear", "discard", "extend", "fit", "insert", "partial_fit", "pop", "remove", "reverse",
    "setdefault", "sort", "update",
}  # fmt: skip
"""Methods that change the object that they are called on, and no argument."""
_DRAWING = {
    "annotate", "axhline", "axvline", "bar", "bar_label", "barh", "boxplot", "errorbar", "fill_between", "grid", "hist",
    "imshow", "legend", "pie", "plot", "print", "scatter", "step", "suptitle", "text", "tick_params", "tight_layout",
}  # fmt: skip
"""Functions and methods that change no argument."""


@dataclass(frozen=True)
class Names:
    """What code does with names of its module.

    Attributes:
        needs: those it reads and has not surely set before.
        sets: those it sets.
        changes: those it sets, and those whose objects it may change.
    """

    needs: frozenset[str]
    sets: frozenset[str]
    changes: frozenset[str]


@lru_cache(maxsize=4096)
def names(code: str) -> Names:
    """The names of a piece of code.

    Raises:
        SyntaxError: it is not Python.

    Examples:
        >>> found = names("figure, axes = plt.subplots(); axes.plot(rides); days['n'] = 1")
        >>> sorted(found.needs), sorted(found.sets), sorted(found.changes)
        (['days', 'plt', 'rides'], ['axes', 'figure'], ['axes', 'days', 'figure'])
    """
    needs: set[str] = set()
    surely: set[str] = set()
    sets: set[str] = set()
    changed: set[str] = set()
    aliases: dict[str, str] = {}
    for statement in ast.parse(code).body:
        needs |= set(_loaded(statement)) - surely
        stored = set(_stored(statement))
        sets |= stored
        if not isinstance(statement, (ast.If, ast.For, ast.While, ast.Try)):
            surely |= stored
        changed |= set(_changed(statement))
        aliases.update(_aliases(statement))
    for name in list(changed):
        while name in aliases and aliases[name] not in changed:
            name = aliases[name]
            changed.add(name)
    return Names(frozenset(needs), frozenset(sets), frozenset(sets | changed))


def needed(codes: Sequence[str], final: Sequence[str], anyhow: Sequence[bool] = ()) -> list[bool]:
    """For codes that ran one after the other, which must run so that the codes ``final`` that come next can.

    Args:
        codes: in their order.
        final: what comes next.
        anyhow: those of the codes that run in any case, and so need what they need.
    """
    wanted: set[str] = set().union(*(names(code).needs for code in final))
    marks = []
    for k in range(len(codes) - 1, -1, -1):
        code = codes[k]
        marks.append((bool(anyhow) and anyhow[k]) or not wanted.isdisjoint(names(code).changes))
        if marks[-1]:
            wanted |= names(code).needs
    return marks[::-1]


def sliced(codes: Sequence[str], final: Sequence[str]) -> list[str]:
    """Those statements of codes that ran one after the other which the codes ``final`` that come next need.

    So what was drawn is not drawn again where only the numbers matter. Functions are taken not to change what they
    are given, unless nothing is done with their result.

    Examples:
        >>> sliced(["n = len(rides); figure, axes = plt.subplots(); axes.bar(['all'], [n])"], ["right = str(n)"])
        ['n = len(rides)']
    """
    statements = [statement for code in codes for statement in _statements(code)]
    wanted: set[str] = set().union(*(names(code).needs for code in final))
    kept = []
    for source, effects in reversed(statements):
        if not wanted.isdisjoint(names(source).changes | effects):
            wanted |= names(source).needs
            kept.append(source)
    return kept[::-1]


@lru_cache(maxsize=4096)
def _statements(code: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """The statements, each with the names that it may change by calls whose result it does not use."""
    return tuple((ast.unparse(node), frozenset(_effects(node))) for node in ast.parse(code).body)


def _effects(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
            continue
        call = node.value
        named = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if isinstance(call.func, ast.Attribute):
            yield from _root(call.func)
        spares = named in _DRAWING | _IN_PLACE or named.startswith("set_")
        given = [*([] if spares else call.args), *(k.value for k in call.keywords if not spares or k.arg == "ax")]
        for argument in given:
            yield from _root(argument)


def _loaded(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Load, ast.Del)):
            yield node.id
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _stored(node: ast.AST) -> Iterator[str]:
    """Names set at the module's level: not those inside functions and comprehensions."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
        return
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield (alias.asname or alias.name).partition(".")[0]
    for child in ast.iter_child_nodes(node):
        yield from _stored(child)


def _changed(statement: ast.stmt) -> Iterator[str]:
    """The roots of what is assigned into, deleted from, or called a method of that works in place."""
    for node in ast.walk(statement):
        if isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield from _root(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _IN_PLACE or any(keyword.arg == "inplace" for keyword in node.keywords):
                yield from _root(node.func)


def _root(node: ast.expr) -> Iterator[str]:
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def _aliases(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value.id
