"""Results: the result table of table analysis, as the paper's Table 3, from recorded episodes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from deskgym.cli.output import print_json, print_table

if TYPE_CHECKING:
    from deskgym.task_suites.table_analysis.results import Row

COLUMNS = (
    "", "intents", "Acc", "95 %", "AccR", "AccSE", "AccSER", "chance", "above chance", "errors",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR and --json."""
    parser.add_argument("folder", metavar="DIR", help="folder of recorded episodes")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    from deskgym.datasets.analysis_results import read_results

    results = read_results(arguments.folder)
    if arguments.json:
        print_json(results.to_dict())
        return 0
    title = f"{results.episodes} episodes, {results.turns} turns; in percent of intents"
    for name, rows in ((title, results.modes), ("by action type", results.actions), ("by result type", results.kinds)):
        _print(name, rows)
    for reason, count in results.left_out.items():
        print(f"left out: {count} episodes {reason}")
    for note in results.notes:
        print(note)
    return 0


def _print(title: str, rows: Sequence[Row]) -> None:
    print_table(title, COLUMNS, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[object, ...]:
    scores = row.scores
    interval = "-" if scores.low is None or scores.high is None else f"{100 * scores.low:.1f}-{100 * scores.high:.1f}"
    above = {None: "-", True: "yes", False: "no"}[scores.above_chance]
    shares = [_percent(share) for share in (scores.acc_r, scores.acc_se, scores.acc_ser, scores.chance)]
    return (row.label, scores.intents, _percent(scores.acc), interval, *shares, above, row.errors or "-")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
