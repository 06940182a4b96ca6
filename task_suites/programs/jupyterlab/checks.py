"""Checks of notebooks: what their files hold, and what they do when they are run again."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers.compare import Rules, differences, listed
from deskgym.envs.evaluation.readers.files import parse_csv
from deskgym.envs.evaluation.readers.table_source import column_name
from deskgym.envs.evaluation.readers.tables import Table
from deskgym.task_suites.programs.jupyterlab.notebooks import joined, read_notebook, sources
from deskgym.task_suites.programs.jupyterlab.rerun import Given, rerun

Outcome = tuple[bool, str]


def cells(
    final: FinalState, path: str, cells: list[Any], changed: list[int] | None = None, more: bool = False
) -> Outcome:
    """A saved notebook has these cells: their kinds and texts, in this order.

    Args:
        final: the final state.
        path: the notebook.
        cells: as the hook ``jupyterlab.notebook`` takes them; white space around a text does not count.
        changed: numbers from 1 of cells whose text may be another one.
        more: further cells after the last one are allowed; empty ones at the end always are.
    """
    found = [(cell["cell_type"], cell["source"]) for cell in read_notebook(final, path)["cells"]]
    while len(found) > len(cells) and not found[-1][1]:
        found.pop()
    right = sources(cells)
    if len(found) < len(right) or (len(found) > len(right) and not more):
        return False, f"{path} has {len(found)} cells; right are {'at least ' if more else ''}{len(right)}"
    for number, ((kind, text), (its_kind, its_text)) in enumerate(zip(right, found, strict=False), 1):
        if kind != its_kind or (text != its_text and number not in (changed or ())):
            return False, f"{path}, cell {number} is {its_kind} {shown(its_text)}; right is {kind} {shown(text)}"
    return True, f"{path} has its {len(right)} cells"


def cleared(final: FinalState, path: str) -> Outcome:
    """No code cell of a saved notebook has an output or a number."""
    for number, cell in enumerate(read_notebook(final, path)["cells"], 1):
        if cell["cell_type"] == "code" and (cell["outputs"] or cell.get("execution_count") is not None):
            return False, f"{path}, cell {number} has outputs {shown(cell['outputs'])}, {cell.get('execution_count')!r}"
    return True, f"{path} has no outputs"


def executed(final: FinalState, path: str, given: Given | None = None) -> Outcome:
    """A saved notebook shows what its cells give when they are run in order, on the data ``given`` by path."""
    own = [cell for cell in read_notebook(final, path)["cells"] if cell["cell_type"] == "code"]
    counts = [cell.get("execution_count") for cell in own if cell["source"]]
    if None in counts or counts != sorted(counts) or len(set(counts)) != len(counts):
        return False, f"{path}: its cells were not run in order; their numbers are {counts}"
    again = rerun(final, path, given or {}).outputs
    for number, (cell, outputs) in enumerate(zip(own, again, strict=True), 1):
        shows, right = _shown(cell["outputs"], path), _shown(outputs, path)
        if shows != right:
            return False, f"{path}, code cell {number} shows {shown(shows)}; it gives {shown(right)}"
    return True, f"{path} shows what its {len(own)} code cells give"


def result(final: FinalState, path: str, ask: str, that: Predicate, given: Given | None = None) -> Outcome:
    """A saved notebook, run again on the data ``given``, gives a fitting value of a Python expression.

    ``drawn()`` in the expression is a list with what each axes of its figures shows: ``title``, ``x``, ``y``, ``kind``,
    ``bars`` (label and height of each) and ``lines``.
    """
    (value,) = rerun(final, path, given or {}, (ask,)).answers
    return that(value), f"{path}, run again: {ask} is {shown(value, 400)}; right is {that}"


def writes(
    final: FinalState, path: str, file: str, rows: list[list[Any]], given: Given | None = None,
    ordered: bool = True, abs: float = 0.0,
) -> Outcome:  # fmt: skip
    """A saved notebook, run again on the data ``given``, writes a CSV file with these rows, its header included."""
    (text,) = rerun(final, path, given or {}, files=(file,)).files
    if text is None:
        return False, f"{path}, run again, writes no {file}"
    found = [[cell.strip() for cell in row] for row in parse_csv(text, file)]
    width = max(map(len, rows))
    if any(len(row) != width for row in found):
        return False, f"{file}, written again, has rows of other than {width} cells"
    columns = [column_name(k + 1) for k in range(width)]
    table = Table(file, columns, found, [f"row {k}" for k in range(1, len(found) + 1)], typed=False)
    wrong = differences(table, rows, Rules(abs, 0.0), ordered, more=False)
    return not wrong, f"{file}, written again: {listed(wrong) or f'its {len(rows)} rows are right'}"


def _shown(outputs: list[Any], path: str) -> list[str]:
    """What outputs show: their texts without addresses of memory; of a picture only that there is one."""
    shows: list[str] = []
    try:
        for output in outputs:
            kind = output["output_type"]
            if kind == "stream":
                text = joined(output["text"])
                if shows and shows[-1].startswith(output["name"]):
                    shows[-1] += text
                else:
                    shows.append(f"{output['name']}\n{text}")
            elif kind == "error":
                shows.append(f"error\n{output['ename']}")
            elif any(name.startswith("image/") for name in output["data"]):
                shows.append("picture")
            else:
                shows.append(f"value\n{joined(output['data'].get('text/plain', ''))}")
    except (KeyError, TypeError, AttributeError) as error:
        raise CheckFailed(f"{path} has an output that is none: {error}") from None
    return [re.sub(r"0x[0-9a-f]{6,}", "0x", text).rstrip() for text in shows]


CHECKS: Mapping[str, Callable[..., Outcome]] = {
    "jupyterlab.cells": cells,
    "jupyterlab.cleared": cleared,
    "jupyterlab.executed": executed,
    "jupyterlab.result": result,
    "jupyterlab.writes": writes,
}
"""By the names that task files use."""
