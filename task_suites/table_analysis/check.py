"""``python -m deskgym.task_suites.table_analysis.check [FILES...] [--seeds N]``: what authors of dialogues run.

Every turn of every seed is drawn, its reference and its wrong codes run on the host, and all results are compared. It
prints a line per problem, how long the turns take, and a table of what the files cover; its exit status is 1 if there
is a problem.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from deskgym.envs.errors import TaskError
from deskgym.task_suites.table_analysis.check_turns import Report, check_file
from deskgym.task_suites.table_analysis.dialogue_file import DialogueFile, load_dialogues
from deskgym.task_suites.table_analysis.domains import Domain
from deskgym.task_suites.table_analysis.host_run import PackagedDomains
from deskgym.task_suites.table_analysis.sampling import places
from deskgym.task_suites.table_analysis.turns import MODES

FOLDER = Path(__file__).parent / "dialogues"
LIMITS = {"plot": 100.0, "model": 300.0}
"""Milliseconds of processor time that a reference may take, by result type; 50 for all others."""

DRAW_LIMIT = 40.0
"""Milliseconds of processor time that drawing a turn may take, at each reset."""


def coverage(files: Sequence[DialogueFile]) -> list[str]:
    """A table: how many templates there are by mode, action type and result type."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for file in files:
        for place in places(file).values():
            turn = file.turns[place.turn]
            kinds = ["choice"] if turn.action else list(turn.result.values())
            for kind in {*kinds, *(["unanswerable"] if turn.action == "fast_fail" else [])}:
                counts[place.action or "normal", kind, place.mode] += 1
    lines = [f"{'action type':16}{'result type':16}" + "".join(f"{mode:>16}" for mode in MODES)]
    for action, kind in sorted({key[:2] for key in counts}):
        lines.append(f"{action:16}{kind:16}" + "".join(f"{counts[action, kind, mode] or '':>16}" for mode in MODES))
    total = sum(len(places(file)) for file in files)
    turns = sum(len(file.turns) for file in files)
    return [*lines, f"{total} templates in {turns} turns of {len(files)} dialogues"]


def time_lines(files: Sequence[DialogueFile], report: Report) -> list[str]:
    """A line per turn: milliseconds of its reference (the least) and of drawing it (the median)."""
    lines = [f"{'turn':44}{'code ms':>9}{'draw ms':>9}"]
    for file in files:
        for turn in file.turns:
            name = f"{file.id} {turn.id}"
            code, draw = min(report.times.get(name, [0.0])), statistics.median_low(report.draws.get(name, [0.0]))
            limit = max([LIMITS.get(kind, 50.0) for kind in turn.result.values()], default=50.0)
            slow = f"  slow: the limit is {limit:.0f}" if code > limit else ""
            slow += f"  slow to draw: the limit is {DRAW_LIMIT:.0f}" if draw > DRAW_LIMIT else ""
            lines.append(f"{name:44}{code:9.1f}{draw:9.1f}{slow}")
    return lines


def main(arguments: Sequence[str] | None = None, domains: Mapping[str, Domain] | None = None) -> int:
    """The program; gives its exit status. ``domains`` are the package's if left out."""
    domains = PackagedDomains() if domains is None else domains
    parser = argparse.ArgumentParser(prog="check", description="Check dialogue files of the table analysis suite.")
    parser.add_argument("files", nargs="*", type=Path, default=[FOLDER], help="files or folders; all if left out")
    parser.add_argument("--seeds", type=int, default=5, help="how many seeds are tried (default %(default)s)")
    options = parser.parse_args(arguments)
    report = Report()
    try:
        files = list(load_dialogues(options.files, domains).values())
    except TaskError as error:
        print(error)
        return 1
    for file in files:
        check_file(file, domains[file.domain], options.seeds, report)
    print("\n".join([*time_lines(files, report), "", *coverage(files), "", *report.problems]))
    print(f"{len(report.problems)} problems with {options.seeds} seeds")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
