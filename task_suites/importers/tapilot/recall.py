"""AccR's factor: how many of the reference's private functions the agent's code uses (Tapilot-Crossing, section 4)."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from deskgym.task_suites.importers.tapilot.turn import Scoring
from deskgym.task_suites.importers.tapilot.words import LIBRARY
from deskgym.task_suites.table_analysis.private.reader import Reader


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
    reader, names = Reader(LIBRARY, frozenset(functions)), dict[str, Any]()
    for code in codes:
        reader.read(code, names)
    return frozenset(reader.found)


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
