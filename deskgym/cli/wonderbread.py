"""WONDERBREAD: the paper's tables, computed again from the results in your copy of its repository."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from deskgym.cli.output import print_json, print_table
from deskgym.envs.extras import needs_extra

if TYPE_CHECKING:
    from deskgym.task_suites.importers.wonderbread.result_tables import Cell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR and --json."""
    parser.add_argument("folder", metavar="DIR", help="the folder of your copy, which has data/experimental_results")
    parser.add_argument("--json", action="store_true", help="print JSON, with all digits")


def run(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    from deskgym.task_suites.importers.wonderbread.result_tables import result_tables

    with needs_extra("procedures", "the tables need"):
        tables = result_tables(arguments.folder)
    if arguments.json:
        print_json([{"title": table.title, "columns": table.columns, "rows": table.rows} for table in tables])
        return 0
    for table in tables:
        print_table(table.title, table.columns, [[_cell(cell) for cell in row] for row in table.rows])
    return 0


def _cell(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:.2e}" if 0 < abs(cell) < 1e-3 else f"{cell:.3f}"
    return "-" if cell is None else str(cell)
