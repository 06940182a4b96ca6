"""Programs that name marks: one that reads ``index_7`` gets ``index_7 = tag_7 = (x, y)`` in front of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TypeVar

from deskgym.envs.errors import ActionError

N = TypeVar("N", int, float)
Point = tuple[float, float]
"""x, y: whole numbers, but in a frame of shares of the screen."""

_MARK = re.compile(r"(?:index|tag)_([1-9][0-9]{0,5})")


def point_of(number: int, points: Sequence[tuple[N, N]]) -> tuple[N, N]:
    """The middle of a mark.

    Raises:
        ActionError: there is no such mark.
    """
    if 1 <= number <= len(points):
        return points[number - 1]
    legal = f"legal are 1 to {len(points)}" if points else "nothing is marked now"
    raise ActionError(f"there is no mark {number}; {legal}")


def with_marks(program: str, points: Sequence[Point]) -> str:
    r"""The program with the marks that it reads defined: ``index_k`` (Spider2-V's) and ``tag_k`` (ScienceBoard's).

    The assignments go on its first line, so that line numbers in tracebacks stay right. Where that cannot be (it
    begins with ``for``, ``if``, ``def``, ...), the names are replaced by their values; where that cannot be either (in
    an f-string), the assignments get a line of their own. Names in texts and comments do not count; a name that the
    program defines itself need not be a mark; a program that does not parse is left alone.

    Args:
        program: Python.
        points: x and y of the middle of marks 1, 2, 3, ..., in the program's coordinates.

    Raises:
        ActionError: it reads a mark that there is not.

    Examples:
        >>> with_marks("pyautogui.click(tag_1)", [(30, 40)])
        'index_1 = tag_1 = (30, 40); pyautogui.click(tag_1)'
        >>> with_marks("if True:\n    pyautogui.click(*tag_1)", [(30, 40)])
        'if True:\n    pyautogui.click(*(30, 40))'
    """
    if not _MARK.search(program):
        return program
    try:
        tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return program  # the guest says what is wrong with it
    reads = [
        (node, int(mark[1]))
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and (mark := _MARK.fullmatch(node.id))
    ]
    own = {int(mark[1]) for name in _bound(tree) if (mark := _MARK.fullmatch(name))}
    values = {
        number: point_of(number, points)
        for number in sorted({number for _, number in reads})
        if number not in own or number <= len(points)
    }
    if not values:
        return program
    assignments = "; ".join(f"index_{k} = tag_{k} = {point}" for k, point in values.items())
    if not _must_begin(tree):
        return f"{assignments}; {program}"
    replaced = (
        None if own & set(values) else _replaced(program, [(node, values[k]) for node, k in reads if k in values])
    )
    return replaced or f"{assignments}\n{program}"


def _bound(tree: ast.AST) -> set[str]:
    """The names that a program defines somewhere."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.ExceptHandler):
            names.add(node.name or "")
    return names


def _must_begin(tree: ast.Module) -> bool:
    """Whether nothing may stand before the program on its first line: a compound statement does, or a future import."""
    if any(isinstance(statement, ast.ImportFrom) and statement.module == "__future__" for statement in tree.body):
        return True
    first = tree.body[0]
    line = min([first.lineno, *(decorator.lineno for decorator in getattr(first, "decorator_list", []))])
    return line == 1 and (hasattr(first, "body") or hasattr(first, "cases"))


def _replaced(program: str, reads: Sequence[tuple[ast.Name, Point]]) -> str | None:
    """The program with names replaced by points; None where one is not found at its place (in an f-string)."""
    lines = program.encode().splitlines(keepends=True)
    for node, point in sorted(reads, key=lambda read: (read[0].lineno, read[0].col_offset), reverse=True):
        line, start = lines[node.lineno - 1], node.col_offset
        end = start + len(node.id)
        if line[start:end] != node.id.encode():
            return None
        lines[node.lineno - 1] = line[:start] + str(point).encode() + line[end:]
    return b"".join(lines).decode()
