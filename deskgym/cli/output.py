"""What the commands print: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress

STYLES = {
    "solved": "green", "ok": "green", "pass": "green", "failed": "yellow", "unfinished": "yellow", "changed": "yellow",
    "warn": "yellow", "error": "bold red", "fault": "bold magenta", "wrong": "bold red", "missing": "bold red",
    "fail": "bold red", "equivalent": "green", "survived": "bold red",
}  # fmt: skip
"""Colours of the words that tell an outcome, by the first word of a cell."""

_PIPE_WIDTH = 240  # where there is no terminal, no id may be cut


def print_json(data: Any) -> None:
    """One JSON document on stdout."""
    print(json.dumps(data, ensure_ascii=False, indent=2, default=str))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table on stdout; cells that begin with an outcome are coloured."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell), STYLES.get(_first_word(cell), "")) for cell in row))
    console = Console()
    if console.is_terminal:
        console.print(table)
        return
    wide = Console(width=_PIPE_WIDTH)
    with wide.capture() as captured:
        wide.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def progress(quiet: bool = False) -> Progress:
    """A progress bar on stderr; it shows nothing where stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def note(text: str) -> None:
    """A line for people, on stderr."""
    print(text, file=sys.stderr, flush=True)


def _first_word(cell: object) -> str:
    return str(cell).partition(" ")[0].rstrip(":")
