"""What the commands print: tables and JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
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
    """A table on stdout; cells that begin with an outcome are coloured. No word, so no id, is ever broken.

    Where the words do not fit beside each other, each row's first cell has a line, and the others follow below it.
    """
    from rich.console import Console

    cells = [[str(cell) for cell in row] for row in rows]
    console = Console()
    if console.is_terminal:
        _print_cells(console, title, columns, cells)
        return
    wide = Console(width=_PIPE_WIDTH)
    with wide.capture() as captured:
        _print_cells(wide, title, columns, cells)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _print_cells(console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    def styled(cell: str) -> Text:
        return Text(cell, STYLES.get(_first_word(cell), ""))

    widths = _widths(columns, rows, console.width)
    if widths is not None:
        table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for column, width in zip(columns, widths, strict=True):
            table.add_column(column, width=width, overflow="fold")  # of wide characters, rich counts a space too many
        for row in rows:
            table.add_row(*map(styled, row))
        console.print(table)
        return
    if title:
        console.print(title, style="italic", soft_wrap=True, highlight=False)
    for first, *others in rows:
        console.print(styled(first), soft_wrap=True)
        named = [Text(f"{name}: ").append(styled(cell)) for name, cell in zip(columns[1:], others, strict=True) if cell]
        below = Text(", ").join(named)
        for line in below.wrap(console, max(console.width - 2, *map(cell_len, below.plain.split()), 1)):
            console.print(Text("  ").append(line), soft_wrap=True)


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """How wide each column is, with room for its longest word; None where the words need more than ``room``."""
    from rich.cells import cell_len

    by_column = [
        [name, *cells]
        for name, cells in zip(columns, zip(*rows, strict=True) if rows else ((),) * len(columns), strict=True)
    ]
    widths = [max((cell_len(word) for cell in cells for word in cell.split()), default=0) for cells in by_column]
    spare = room - sum(widths) - 3 * len(columns) + 1  # three between columns, one at either side
    if spare < 0:
        return None
    wanted = [max(map(cell_len, cells)) for cells in by_column]
    for left, k in zip(
        range(len(columns), 0, -1), sorted(range(len(columns)), key=lambda k: wanted[k] - widths[k]), strict=True
    ):
        more = min(wanted[k] - widths[k], spare // left)
        widths[k] += more
        spare -= more
    return widths


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


@contextmanager
def pulse(doing: Callable[[], str], seconds: float = 10.0) -> Iterator[None]:
    """Say on stderr now and then what is being done, where there is no progress bar: silence looks like a hang.

    Args:
        doing: what is being done now; it is said when it has lasted for ``seconds``, and then as often again.
        seconds: between two lines.
    """
    if sys.stderr.isatty():
        yield
        return
    ended, began = threading.Event(), time.monotonic()

    def say() -> None:
        while not ended.wait(seconds):
            note(f"{doing()} (after {time.monotonic() - began:.0f} s)")

    thread = threading.Thread(target=say, name="deskgym-pulse", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def note(text: str) -> None:
    """A line for people, on stderr."""
    print(text, file=sys.stderr, flush=True)


def agreed(line: str) -> bool:
    """Whether the user lets a command run.

    Raises:
        ValueError: there is no terminal to ask at.
    """
    if not sys.stdin.isatty():
        raise ValueError(f"there is nobody to ask; give --yes, or run: {line}")
    return input(f"{line}\nrun this? [y/N] ").strip().lower() in ("y", "yes")


def _first_word(cell: object) -> str:
    return str(cell).partition(" ")[0].rstrip(":")
