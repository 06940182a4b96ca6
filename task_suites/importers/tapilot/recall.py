"""AccR's factor: how many of the reference's private functions the agent's code uses (Tapilot-Crossing, section 4)."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from deskgym.task_suites.importers.tapilot.turn import Scoring
from deskgym.task_suites.importers.tapilot.words import LIBRARY


def recall(
    reference: str, executed: Sequence[str], head: str, functions: Collection[str], scoring: Scoring
) -> float | None:
    """The share of the reference's private functions that the agent's code uses, 0 to 1.

    Args:
        reference: the reference's code of the turn.
        executed: the agent's, in order.
        head: what the template gives the agent before the gap.
        functions: the names of all private functions.
        scoring: ``"corrected"`` compares the functions that are called, aliases resolved, but for those that the
            template calls already; ``"paper"`` those that the reference imports with the names that the template and
            the agent's code call or read, as published.

    Returns:
        None when the reference uses none.
    """
    if scoring == "corrected":
        wanted = called([reference], functions) - called([head], functions)
        used = called([head, *executed], functions)
    else:
        wanted = _imported(reference)
        used = frozenset(chain for code in (head, *executed) for chain in _chains(code))
    return len(wanted & used) / len(wanted) if wanted else None


def called(codes: Sequence[str], functions: Collection[str]) -> frozenset[str]:
    """The private functions that the cells of one kernel call, in any of the ways that Python has."""
    names: dict[str, str] = {}
    modules: set[str] = set()
    found: set[str] = set()
    for code in codes:
        for node in _nodes(code):
            if isinstance(node, ast.ImportFrom) and node.module == LIBRARY:
                for alias in node.names:
                    star = functions if alias.name == "*" else [alias.name]
                    names.update((alias.asname or name if alias.name != "*" else name, name) for name in star)
            elif isinstance(node, ast.Import):
                modules.update(alias.asname or LIBRARY for alias in node.names if alias.name == LIBRARY)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names:
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        names[target.id] = names[node.value.id]
        for node in _nodes(code):
            if isinstance(node, ast.Call):
                found.update(_called(node.func, names, modules))
    return frozenset(found) & frozenset(functions)


def _called(function: ast.expr, names: dict[str, str], modules: set[str]) -> Iterator[str]:
    if isinstance(function, ast.Name) and function.id in names:
        yield names[function.id]
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in modules:
        yield function.attr


def library_functions(source: str) -> frozenset[str]:
    """The names of the functions that a module defines.

    Raises:
        ValueError: it is no Python.
    """
    try:
        return frozenset(node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef))
    except SyntaxError as error:
        raise ValueError(f"is not Python: line {error.lineno}: {error.msg}") from None


def _imported(reference: str) -> frozenset[str]:
    """The names on the first line that imports from the library."""
    mark = f"from {LIBRARY} import "
    line = next((line for line in reference.split("\n") if mark in line), "")
    return frozenset(name.strip() for name in line.replace(mark, "").split(",")) - {""}


def _chains(code: str) -> Iterator[str]:
    """Every dotted name that is called or has an attribute read; nothing for code that is no Python."""
    for node in _nodes(code):
        if isinstance(node, ast.Call | ast.Attribute):
            parts: list[str] = []
            at: ast.expr = node
            while isinstance(at, ast.Call | ast.Attribute):
                if isinstance(at, ast.Attribute):
                    parts.append(at.attr)
                    at = at.value
                else:
                    at = at.func
            if isinstance(at, ast.Name):
                yield ".".join([at.id, *reversed(parts)])


def _nodes(code: str) -> Iterator[ast.AST]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
    yield from ast.walk(tree)
