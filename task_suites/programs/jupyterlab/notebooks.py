"""Notebooks as data: how tasks write them, and what is compared of those that are found."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.files import parse_json, read_text

LIMIT = 16 << 20
KERNELS = {"python3": "Python 3 (ipykernel)", "jupyterlab": "Python (jupyterlab)"}
"""What kernels are called on the screen, by name."""


def notebook(cells: list[Any], kernel: str = "python3") -> dict[str, Any]:
    """A notebook in format 4.5.

    Args:
        cells: in order: a text is a code cell; a mapping has ``markdown``, or ``code`` and what it ``prints``.
        kernel: one of ``KERNELS``.
    """
    spec = {"display_name": KERNELS[kernel], "language": "python", "name": kernel}
    made = [_cell(number, cell) for number, cell in enumerate(cells, 1)]
    return {"cells": made, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}


def _cell(number: int, cell: str | Mapping[str, str]) -> dict[str, Any]:
    given = {"code": cell} if isinstance(cell, str) else cell
    base = {"id": f"cell-{number}", "metadata": {}}
    if "markdown" in given:
        return {**base, "cell_type": "markdown", "source": given["markdown"].strip()}
    outputs, count = [], None
    if "prints" in given:
        outputs, count = [{"output_type": "stream", "name": "stdout", "text": given["prints"]}], number
    source = given["code"].strip()
    return {**base, "cell_type": "code", "source": source, "outputs": outputs, "execution_count": count}


def sources(cells: list[Any]) -> list[tuple[str, str]]:
    """Type and source of cells as task files write them."""
    return [(cell["cell_type"], cell["source"]) for cell in notebook(cells)["cells"]]


def read_notebook(final: FinalState, path: str) -> dict[str, Any]:
    """A notebook of the agent's, with one text as the source of each cell.

    Raises:
        CheckFailed: it is missing, or no notebook of format 4.
    """
    found = parse_json(read_text(final, path, LIMIT), path)
    try:
        if found["nbformat"] != 4:
            raise CheckFailed(f"{path} is of notebook format {found['nbformat']!r}; right is 4")
        for cell in found["cells"]:
            cell["source"] = joined(cell["source"]).strip()
            if cell["cell_type"] not in ("code", "markdown", "raw"):
                raise CheckFailed(f"{path} has a cell of type {cell['cell_type']!r}")
            if cell["cell_type"] == "code" and not isinstance(cell["outputs"], list):
                raise CheckFailed(f"{path} has a code cell without a list of outputs")
        return dict(found)
    except (KeyError, TypeError) as error:
        raise CheckFailed(f"{path} is no notebook: {type(error).__name__} {error}") from None


def joined(text: Any) -> str:
    """A text that may be stored as a list of lines."""
    if isinstance(text, list):
        return "".join(joined(line) for line in text if isinstance(line, str))
    if not isinstance(text, str):
        raise TypeError(f"{type(text).__name__} is no text")
    return text


def sqlite(tables: Mapping[str, list[list[Any]]]) -> bytes:
    """An SQLite database: rows by table, the first one its columns' names."""
    with sqlite3.connect(":memory:") as base:
        for name, (header, *rows) in tables.items():
            columns = ", ".join(f'"{column}"' for column in header)
            base.execute(f'CREATE TABLE "{name}" ({columns})')
            base.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(header))})', rows)
    return base.serialize()
