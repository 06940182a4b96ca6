"""Tables of a run in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.benchmarks.desks import PROGRAMS
from deskgym.benchmarks.rows import number, spread


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(str(cell) for cell in line)} |\n" for line in lines)


LOOP_COLUMNS = ("one step", "deskgym", "conventional, 0.5 s sleep", "conventional, no sleep")


def loop_cells(rows: Sequence[Mapping[str, Any]], programs: Sequence[str], percent: int = 10) -> list[list[str]]:
    """A line for each program and view: our step, and the conventional ones with how many times they take.

    Args:
        rows: their JSON, as ``peers.compare_loops`` made them.
        programs: keys of ``PROGRAMS``.
        percent: of the spread, see ``rows.spread``.
    """
    by_key = {row["key"]: row for row in rows}
    lines = []
    for name in programs:
        for view in ("screenshot", "screenshot + a11y"):
            ours = by_key[f"{name}/step/{view}"]
            cells = [f"{PROGRAMS[name].title}, {view}", f"{_ms(ours['median'])} ({spread(ours, percent)})"]
            for sleep in ("0.5 s sleep", "no sleep"):
                theirs = by_key[f"{name}/conventional/{view}, {sleep}"]
                times = theirs["median"] / ours["median"]
                cells.append(f"{_ms(theirs['median'])} ({spread(theirs, percent)}), **{times:.1f}×**")
            lines.append(cells)
    return lines


def phase_table(breakdown: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """A line for each, with the medians of its phases in ms."""
    phases = list(next(iter(breakdown.values()), {}))
    lines = [[what, *(f"{found[phase]['median']:.1f}" for phase in phases)] for what, found in breakdown.items()]
    return table(("", *phases), lines)


def _ms(value: float) -> str:
    return f"{number(value)} ms"
