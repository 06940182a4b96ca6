"""Measures machines beside each other: start, restore, step, snapshot, memory, disk, and a run of episodes.

``python -m deskgym.benchmarks.machines``; ``--help`` has the options. The kinds take turns, so that all see the same
load. The exit status is 1 where a target is missed or a kind failed. See ``docs/appendix/machines.md``.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deskgym.benchmarks.host import describe_host, load, warn_if_busy
from deskgym.benchmarks.machines_kinds import ACCELS, KINDS, SIZE, check_kinds, find_kinds
from deskgym.benchmarks.machines_measure import Bench
from deskgym.benchmarks.machines_page import columns, kinds_table, notes, write_into
from deskgym.benchmarks.measure import Part
from deskgym.benchmarks.targets import COLUMNS, Target
from deskgym.cli.numbers import whole
from deskgym.cli.output import note, print_json, print_table, progress
from deskgym.envs.errors import DeskgymError

FORMAT = 1  # of the JSON
CLICKS = 20
LIMITS = (
    ("reset/screenshot", 1500.0, "restore to a settled first observation with KAlgebra open"),
    ("snapshot", 2000.0, "taking a snapshot with KAlgebra open"),
    ("disk/second", 64.0, "disk that a second machine takes at its start"),
)
"""What virtual machines have to reach: key, the most, what it is."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the tables, and write the data."""
    options = parse(argv)
    if options.probe:
        options.machine = ["qemu"]
        options.boots = options.restores = options.snapshots = options.episodes = 0
    try:
        data = read(options.read) if options.read else measure(options)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            path = options.out / "machines.json"
            path.write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
            note(f"wrote {path}")
        if options.write_docs is not None:
            write_into(options.write_docs, data)
            note(f"wrote {options.write_docs}")
    except (DeskgymError, ValueError, OSError) as error:
        note(str(error))
        return 1
    if options.json:
        print_json(data)
    else:
        show(data)
    failed = any(why.startswith("failed") for why in data["skipped"].values())
    return int(failed or any(not target["passed"] for target in data["targets"]))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.machines", description=__doc__)
    parser.add_argument("--machine", type=_names, default=["sandbox", "qemu"], metavar="A,B", help=", ".join(KINDS))
    parser.add_argument("--accel", type=_names, default=[], metavar="A,B", help=f"{', '.join(ACCELS)}; all that work")
    parser.add_argument("--image", default="science", help="of the virtual machines")
    parser.add_argument("--boots", type=whole(0), default=3, help="cold starts of each kind")
    parser.add_argument("--restores", type=whole(0), default=30, help="resets of each kind and observation; 0: none")
    parser.add_argument("--snapshots", type=whole(0), default=5)
    parser.add_argument("--episodes", type=whole(0), default=100, help="of each kind; 0 plays none")
    parser.add_argument("--probe", action="store_true", help="only find out which accelerators work here")
    parser.add_argument("--json", action="store_true", help="print the data and nothing else")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write machines.json there")
    parser.add_argument("--write-docs", type=Path, metavar="PAGE", help="put the tables between a page's markers")
    parser.add_argument("--from", type=Path, dest="read", metavar="FILE", help="measure nothing: take a machines.json")
    return parser.parse_args(argv)


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def read(path: Path) -> dict[str, Any]:
    """What an earlier run wrote.

    Raises:
        ValueError: it is no such file.
    """
    try:
        data = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {path}: {error}; legal is the machines.json of an earlier --out") from error
    if not isinstance(data, dict) or data.get("benchmark") != "machines" or data.get("format") != FORMAT:
        raise ValueError(f"{path} is no machines.json of this version (format {FORMAT}): measure again")
    return data


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One run; returns what ``machines.json`` has.

    Raises:
        ValueError: an unknown kind or accelerator.
    """
    check_kinds(options.machine, options.accel)
    part, began, busy = Part(), time.time(), warn_if_busy()
    with progress(options.json) as bar:
        running = bar.add_task("looking what there is", total=None)
        part.tell = lambda what: bar.update(running, description=what)
        with part.watched():
            kinds = find_kinds(part, options.machine, options.accel, options.image)
            bench = Bench(part, list(kinds))
            bench.boots(options.boots)
            if options.restores:
                bench.starts(min(options.restores, 10))
            for view in ("screenshot", "elements") if options.restores else ():
                bench.resets(view, options.restores, min(options.restores * 2, CLICKS))
            bench.footprints(options.snapshots)
            if options.episodes:
                bench.episodes(options.episodes)
    check(part, [kind.name for kind in kinds if kind.image is not None])
    return {
        "benchmark": "machines",
        "format": FORMAT,
        "time": time.strftime("%Y-%m-%d %H:%M", time.gmtime(began)) + " UTC",
        "screen_size": SIZE,
        "host": describe_host(),
        "load": {"before": part.facts["load"][0], "after": load()[0], "busy": busy},
        "kinds": [kind.name for kind in kinds],
        **part.to_dict(),
    }


def check(part: Part, virtual: Sequence[str]) -> None:
    """Note the targets: of the virtual machines, and that no kind has faults or leaks."""
    for name in virtual:
        for key, limit, what in LIMITS:
            if f"{name}/{key}" in part.rows:
                part.limit(f"{name}: {what}", limit, f"{name}/{key}")
    for name, run in part.facts.get("episodes", {}).items():
        solved, played = run["ends"].get("solved", 0), run["count"]
        ends = ", ".join(f"{count} {end}" for end, count in run["ends"].items())
        part.targets.append(Target(f"{name}: episodes that the oracle solves", played, solved, "", True, ends))
        clean = played - run["stats"].get("faults", 0)
        part.targets.append(Target(f"{name}: episodes without a fault", played, clean, "", True))
        leaks = ", ".join(f"{what}: {old:g} to {new:g}" for what, (old, new) in run["leaks"].items())
        what = f"{name}: counts that are after {played} episodes what they were before"
        kept = len(run["before"]) - len(run["leaks"])
        part.targets.append(Target(what, len(run["before"]), kept, "", True, leaks))


def show(data: dict[str, Any]) -> None:
    """Print all tables."""
    print(f"load {data['load']['before']:g} before, {data['load']['after']:g} after")
    for line in notes(data):
        print(line)
    if columns(data):
        print_table("", ("what", *columns(data)), kinds_table(data))
    if data["targets"]:
        print_table("", COLUMNS, [target["cells"] for target in data["targets"]])


if __name__ == "__main__":
    raise SystemExit(main())
