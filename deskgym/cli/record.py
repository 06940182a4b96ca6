"""Record: recorded episodes as demonstrations in WONDERBREAD's format, and what is wrong with demonstrations."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

from deskgym.cli.output import print_json, print_table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR, --out, --slim and --json."""
    parser.add_argument("folder", metavar="DIR", help="recorded episodes; or demonstrations, which are checked")
    parser.add_argument("--out", metavar="DIR", help="write the episodes as demonstrations into this folder")
    parser.add_argument("--slim", action="store_true", help="no video, small pictures, no lists of elements")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write demonstrations and check them, or check those that are there; 0 when none has a problem."""
    from deskgym.datasets.demonstration_export import write_demonstration
    from deskgym.datasets.demonstration_lint import problems_of
    from deskgym.task_suites.bpm.demonstration import Demonstration, DemonstrationError, find_demonstrations
    from deskgym.wrappers.recording.recording import find_recordings

    if arguments.slim and arguments.out is None:
        raise ValueError("--slim is about what is written: give --out DIR too")
    sources: list[tuple[str, Callable[[], Demonstration]]]
    if arguments.out is None:
        found = find_demonstrations(arguments.folder)
        sources = [(path.name, partial(Demonstration.load, path)) for path in found]
    else:
        recorded = find_recordings(arguments.folder)
        write = partial(write_demonstration, out=arguments.out, slim=arguments.slim)
        sources = [(each.folder.name, partial(write, each)) for each in recorded]
    rows: list[tuple[str, int, list[str]]] = []
    for name, make in sources:
        try:
            demonstration = make()
            told = [] if arguments.slim else problems_of(demonstration)
            rows.append((demonstration.name, len(demonstration.actions), told))
        except DemonstrationError as error:
            rows.append((name, 0, [str(error)]))
    if arguments.json:
        print_json([{"demonstration": name, "actions": count, "problems": told} for name, count, told in rows])
    else:
        where = Path(arguments.out or arguments.folder)
        cells = [(name, count, "; ".join(told) or "-") for name, count, told in rows]
        print_table(f"{len(rows)} demonstrations in {where}", ("demonstration", "actions", "problems"), cells)
    return int(any(told for _, _, told in rows))
