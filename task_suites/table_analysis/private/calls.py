"""Which private functions a code calls: what Tapilot-Crossing's AccR counts, here by calls and not by imports."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from deskgym.task_suites.table_analysis.private.library import PrivateLibrary
from deskgym.task_suites.table_analysis.private.reader import MODULE, Reader
from deskgym.task_suites.table_analysis.private.scope import parse


def called(
    code: str, library: PrivateLibrary, *, before: Sequence[str] = (), results: Iterable[str] = ()
) -> frozenset[str]:  # fmt: skip
    """The names of the library's functions that a code calls.

    Found in the syntax tree: whatever the module or a function is called there, but not in branches that are never
    taken (``if False:``) nor in functions that nothing calls. The library's usual alias is known without an import,
    as the history may hold it.

    Args:
        code: Python; if it is not, it calls nothing.
        library: the library.
        before: codes that ran earlier in the same kernel, for the names that they left.
        results: variables that are called later, such as a function that was asked for.
    """
    return _called([code], library, before, results)


def recall(
    reference: str,
    executed: Sequence[str],
    library: PrivateLibrary,
    *,
    before: Sequence[str] = (),
    results: Iterable[str] | None = None,
    ran: Iterable[str] | None = None,
) -> float:
    """The share, 0 to 1, of the functions that the reference calls that executed code calls as well.

    A tree cannot tell whether a call is reached, and a trace can be forged by the code that it is of: a function counts
    when both have it.

    Args:
        reference: the reference's code over the library.
        executed: the agent's codes of the turn, in order, run in one kernel.
        library: the library.
        before: see ``called``.
        results: see ``called``; if left out, the functions that the reference leaves.
        ran: the functions that a trace of the executed code has; if left out, its tree alone decides.

    Raises:
        ValueError: the reference calls no function of the library.
    """
    if isinstance(executed, str):
        raise ValueError("executed is one text; legal is a list of codes")
    results = left_functions(reference) if results is None else tuple(results)
    wanted = _called([reference], library, before, results)
    if not wanted:
        raise ValueError(
            f"the reference calls no function of {library.module}, so there is no share of them; give code that"
            f" library.translate made, and in results the functions that are asked for: {reference[:200]!r}"
        )
    found = wanted & _called(executed, library, before, results)
    return len(found if ran is None else found.intersection(ran)) / len(wanted)


def left_functions(code: str) -> tuple[str, ...]:
    """The names of the functions that Python code defines for later use, outside of all blocks."""
    names = []
    for node in parse(code).body:
        if isinstance(node, ast.FunctionDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return tuple(names)


def _called(
    codes: Sequence[str], library: PrivateLibrary, before: Sequence[str], results: Iterable[str]
) -> frozenset[str]:  # fmt: skip
    reader = Reader(library.module, library.names)
    names: dict[str, Any] = {library.alias: MODULE}
    for code in before:
        reader.read(code, names)
    reader.found.clear()
    reader.entered.clear()
    for code in codes:
        reader.read(code, names)
    for name in results:
        reader.call(names.get(name), names)
    return frozenset(reader.found)
