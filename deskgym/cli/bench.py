"""Bench: measure this machine: startup, steps, resets, vectors, density, programs, and peers in the same run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from deskgym.cli.output import note, print_json, print_table, progress

COLUMNS = ("what", "target", "measured", "verdict")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """PART..., --quick, --out, --json, --write-docs, --from and --desktops."""
    parser.add_argument(
        "parts",
        metavar="PART",
        nargs="*",
        help="startup, step, reset, vector, density, programs, peers; all by default",
    )
    parser.add_argument("--quick", action="store_true", help="measure little: does it work?")
    parser.add_argument("--out", metavar="DIR", help="write bench.json and plots there")
    parser.add_argument("--json", action="store_true", help="print the data and nothing else")
    parser.add_argument("--write-docs", metavar="FILE", help="write the page of results, plots and data beside it")
    parser.add_argument("--from", dest="stored", metavar="JSON", help="measure nothing: take a stored bench.json")
    parser.add_argument(
        "--desktops", type=int, default=128, metavar="N", help="the most idle desktops at once (default: %(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, write; 1 if a part failed."""
    from deskgym.benchmarks import bench

    names = bench.check_parts(arguments.parts)
    if arguments.desktops < 1:
        raise ValueError(f"--desktops {arguments.desktops}; legal is a number from 1 up")
    if arguments.stored and arguments.parts:
        raise ValueError("--from takes what was measured: leave the parts out")
    out = Path(arguments.out) if arguments.out else None
    page = Path(arguments.write_docs) if arguments.write_docs else None
    if page is not None and not page.suffix:
        raise ValueError(f"--write-docs {page}; legal is the page's file, such as docs/benchmarks.md")
    for folder in filter(None, (out, page and page.parent)):
        bench.check_folder(folder)
    if out or page:
        bench.check_plots()
    data = bench.read_json(Path(arguments.stored)) if arguments.stored else _measure(arguments, names, out)
    for path in [*(bench.write_out(data, out) if out else ()), *(bench.write_docs(data, page) if page else ())]:
        note(f"wrote {path}")
    print_json(data) if arguments.json else _print(data)
    return 1 if any("error" in part["facts"] for part in data["parts"].values()) else 0


def _measure(arguments: argparse.Namespace, names: list[str], out: Path | None) -> dict[str, Any]:
    from deskgym.benchmarks import bench

    with progress(arguments.json) as bar:
        todo = bar.add_task("starting", total=len(names))

        def keep(data: dict[str, Any]) -> None:
            bar.advance(todo)
            if out is not None:
                bench.write_json(data, out)

        return bench.measure(
            names,
            quick=arguments.quick,
            desktops=arguments.desktops,
            tell=lambda what: bar.update(todo, description=what),
            keep=keep,
        )


def _print(data: dict[str, Any]) -> None:
    from deskgym.benchmarks.page import row_cells

    parts, took = data["parts"], data["load"]
    print(f"load average {took['before'][0]} before, {took['after'][0]} after")
    if took.get("busy"):
        print(f"warning: {took['busy']}")
    print_table("", COLUMNS, [target["cells"] for part in parts.values() for target in part["targets"]])
    for name, part in parts.items():
        print_table(f"{name}, {part['facts']['seconds']} s", ("what", "median", "5–95 %", "n"), row_cells(part["rows"]))
        for what, reason in part["skipped"].items():
            print(f"not measured: {what}: {reason}")
        if "error" in part["facts"]:
            print(f"{name} failed: {part['facts']['error']}")
