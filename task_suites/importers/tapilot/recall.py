"""AccR's factor: how many of the reference's private functions the agent's code uses (Tapilot-Crossing, section 4)."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from deskgym.task_suites.importers.tapilot.words import LIBRARY
from deskgym.task_suites.table_analysis.private.reader import Reader

_READS = re.compile(r"(?<!def )read_csv_file\(|pd\.read_csv\(")


def recall(reference: str, executed: Sequence[str], head: str, functions: Collection[str]) -> float | None:
    """The share of the reference's private functions that the agent's code calls, 0 to 1; of ``"corrected"`` scoring.

    Aliases are resolved, and the functions that the template calls already do not count.

    Args:
        reference: the reference's code of the turn.
        executed: the agent's, in order.
        head: what the template gives the agent before the gap.
        functions: the names of all private functions.

    Returns:
        None when the reference uses none.
    """
    wanted = called([reference], functions) - called([head], functions)
    used = called([head, *executed], functions)
    return len(wanted & used) / len(wanted) if wanted else None


def paper_recall(reference: str, executed: Sequence[str], template: str, turn: str) -> float:
    """The same as the code of 2024 has it, which is ``"paper"`` scoring of its layout.

    Counted are the names that the reference imports, a comma at the end of the line being one name more, and a line
    without any one that nobody uses. The agent's names are those that it calls or reads attributes of. The template
    counts as the agent's only where its own code imports nothing. Of both, the first line that reads the table is taken
    out, though its function is among the reference's; but not in a turn that is, or begins with, the first.

    Args:
        reference: the reference's code of the turn.
        executed: the agent's, in order; code that is no Python has not run, and is no part of its answer.
        template: the whole of it, up to the gap.
        turn: name of the turn's folder, such as ``"turn_3"`` or ``"turn_2_short_1"``.
    """
    answer = "\n".join(code for code in map(_mended, executed) if _parsed(code) is not None)
    if not answer:
        return 0.0
    whole = "import " in "".join(executed)
    lines = (answer if whole else f"{_mended(template)}\n{answer}").split("\n")
    if ("turn_1_short_1" if "short_" in turn else "turn_1") not in turn:
        read = next((line for line in lines if _READS.search(line)), None)
        lines = [line for line in lines if line != read]
    used = set(_chains("\n".join(lines).replace('"""', "'''")))
    wanted = _imported(reference)
    return sum(name in wanted for name in used) / len(wanted)


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


def _mended(code: str) -> str:
    """The code without the template's import that is to be completed; the functions that are asked for replace it."""
    return "\n".join(line for line in code.split("\n") if f"from {LIBRARY} import read_csv_file," not in line)


def _imported(reference: str) -> list[str]:
    """The names on the first line that imports from the library."""
    mark = f"from {LIBRARY} import "
    line = next((line for line in reference.split("\n") if mark.strip() in line), "")
    return [name.strip() for name in line.replace(mark, "").split(",")]


def _chains(code: str) -> Iterator[str]:
    """Every dotted name that is called or has an attribute read; nothing for code that is no Python."""
    for node in ast.walk(_parsed(code) or ast.Module([], [])):
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


def _parsed(code: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            return ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
