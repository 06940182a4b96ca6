"""The step loop against a conventional one, on the same desktop in the same run.

``python -m deskgym.benchmarks.step_loop``; ``deskgym bench peers`` has its main part. What is measured and how is in
``docs/step_loop.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deskgym.benchmarks import ours
from deskgym.benchmarks.conventional import LEAN, VARIANTS, ConventionalLoop
from deskgym.benchmarks.desks import PROGRAMS, Desk
from deskgym.benchmarks.host import describe_host, load
from deskgym.benchmarks.memory import measure_memory
from deskgym.benchmarks.ours import Breakdown
from deskgym.benchmarks.report import write_report
from deskgym.benchmarks.rows import Rows
from deskgym.benchmarks.targets import COLUMNS, all_ratios, check_targets
from deskgym.cli.output import note, print_json, print_table, progress
from deskgym.envs.desktop_env import DesktopEnv

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

FORMAT = 1  # of the JSON


@dataclass(frozen=True)
class Options:
    """How much is measured.

    Attributes:
        screen_size: width and height in pixels.
        programs: keys of ``PROGRAMS``.
        steps: of each variant of the conventional loop, and of each observation in each of our two halves.
        starts: starts, resets, first readings.
        reads: readings, frames, code actions.
        settling: rounds of five steps whose frame is compared with the screen later, for each quiet window.
        windows: the quiet windows in ms.
    """

    screen_size: tuple[int, int] = (1920, 1080)
    programs: tuple[str, ...] = tuple(PROGRAMS)
    steps: int = 21
    starts: int = 7
    reads: int = 30
    settling: int = 5
    windows: tuple[float, ...] = (5.0, 10.0, 20.0)


QUICK = Options(programs=("kalgebra",), steps=3, starts=1, reads=5, settling=1, windows=(20.0,))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the targets and what was reached, and write the report."""
    arguments = parse(argv)
    defaults = QUICK if arguments.quick else Options()
    options = replace(
        defaults,
        screen_size=arguments.screen,
        programs=arguments.programs or defaults.programs,
        steps=arguments.steps or defaults.steps,
    )
    data = measure(options, arguments.quick, quiet=arguments.json)
    if arguments.out is not None:
        for path in write_report(data, arguments.out):
            note(f"wrote {path}")
    if arguments.json:
        print_json(data)
    else:
        print_table("", COLUMNS, [target["cells"] for target in data["targets"]])
        print_table(
            "all of it, in ms",
            ("what", "median", "10 %", "90 %", "n"),
            [[row["what"], *(f"{row[key]:.2f}" for key in ("median", "p10", "p90")), row["n"]] for row in data["rows"]],
        )
    return 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m deskgym.benchmarks.step_loop", description="Measure the step loop against a conventional one."
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write step_loop.json, .md and .png there")
    parser.add_argument("--quick", action="store_true", help="a few steps of one program, in less than a minute")
    parser.add_argument("--json", action="store_true", help="print the data and nothing else")
    parser.add_argument("--screen", type=_size, default=Options.screen_size, metavar="WxH", help="default 1920x1080")
    parser.add_argument("--steps", type=_positive, metavar="N", help="steps of each variant (21)")
    parser.add_argument("--programs", type=_programs, metavar="A,B", help=f"which of {','.join(PROGRAMS)}; default all")
    return parser.parse_args(argv)


def measure(options: Options, quick: bool = False, quiet: bool = False) -> dict[str, Any]:
    """One run; returns what ``step_loop.json`` has."""
    rows = Rows()
    breakdown: Breakdown = {}
    conventional: Breakdown = {}
    settling: list[dict[str, Any]] = []
    reading: dict[str, Any] = {}
    before, began = load(), time.time()
    with progress(quiet) as bar:
        todo = bar.add_task("starting sandboxes", total=3 + len(options.programs) * (4 + len(VARIANTS) + 1))
        for k in range(options.starts + 1):
            ours.measure_start(Rows() if k == 0 else rows, options.screen_size)  # the first one makes what all share
        _advance(bar, todo, "resets")
        for _ in range(options.starts):
            ours.measure_reset(rows, options.screen_size)
        ours.measure_fresh_process(rows)
        _advance(bar, todo, "memory of an idle desktop")
        memory = measure_memory()
        _advance(bar, todo, "")
        for name in options.programs:
            for _ in range(options.starts):
                ours.measure_first_reading(rows, name, options.screen_size)
            settling += _measure_program(name, options, rows, (breakdown, conventional), reading, bar, todo)
    targets = check_targets(rows, memory, options.programs)
    return {
        "format": FORMAT,
        "quick": quick,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began)),
        "seconds": round(time.time() - began, 1),
        "host": describe_host(),
        "load": {"before": before, "after": load()},
        "options": {
            "screen_size": list(options.screen_size),
            "programs": list(options.programs),
            "steps": options.steps,
        },
        "targets": [{**target.to_dict(), "cells": target.cells()} for target in targets],
        "ratios": all_ratios(rows, options.programs),
        "breakdown": summary(breakdown),
        "conventional_breakdown": summary(conventional),
        "settling": settling,
        "elements": reading,
        "memory": memory,
        "rows": [row.to_dict() for row in rows],
    }


def _measure_program(
    name: str,
    options: Options,
    rows: Rows,
    breakdowns: tuple[Breakdown, Breakdown],
    reading: dict[str, Any],
    bar: Progress,
    todo: TaskID,
) -> list[dict[str, Any]]:
    """Both loops on one program, then what else of ours is measured on it."""
    program = PROGRAMS[name]
    env = program.make(options.screen_size)
    try:
        env.reset(seed=0)
        desk = program.find(env.screen)
        compare_loops(rows, breakdowns, name, env, desk, options.steps, lambda what: _advance(bar, todo, what))
        ours.measure_code(rows, name, env, desk, options.reads)
        ours.prepare(env, desk)
        reading[name] = ours.measure_reading(rows, name, env, options.reads)
        _advance(bar, todo, f"{program.title}: settling")
        return ours.measure_settling(name, env, desk, options.settling, options.windows)
    finally:
        env.close()


def compare_loops(
    rows: Rows,
    breakdowns: tuple[Breakdown, Breakdown],
    name: str,
    env: DesktopEnv,
    desk: Desk,
    steps: int,
    tell: Callable[[str], None],
) -> None:
    """Half of our steps, all of the conventional loop's, the other half of ours, on the same windows.

    Args:
        rows: get both loops' steps.
        breakdowns: get the phases of ours, and of the conventional one.
        name: key of ``PROGRAMS``.
        env: after its reset.
        desk: where to act.
        steps: of each variant of the conventional loop, and of each observation in each of our two halves.
        tell: is told what is done now.
    """
    title = PROGRAMS[name].title
    breakdown, conventional = breakdowns
    tell(f"{title}: our steps")
    ours.measure_steps(rows, breakdown, name, env, desk, steps)
    with ConventionalLoop(env.machine) as loop:
        for variant in (*VARIANTS, LEAN):
            tell(f"{title}: conventional, {variant.name}")
            ours.prepare(env, desk)
            for step in loop.run([action for _, action in desk.actions(steps)], variant):
                key = f"{name}/conventional/{variant.name}"
                rows.add(key, f"{title}: conventional step, {variant.name}", step["total"])
                phases = conventional.setdefault(f"{name}, {variant.name}", {})
                for phase, ms in step.items():
                    phases.setdefault(phase, []).append(ms)
    tell(f"{title}: our steps again")
    ours.measure_steps(rows, breakdown, name, env, desk, steps)


def summary(breakdown: Breakdown) -> dict[str, dict[str, dict[str, float]]]:
    """Median, 10th and 90th percentile of each phase, in ms."""
    return {
        what: {
            phase: {
                name: round(float(np.percentile(samples, percent)), 3)
                for name, percent in (("median", 50), ("p10", 10), ("p90", 90))
            }
            for phase, samples in phases.items()
        }
        for what, phases in breakdown.items()
    }


def _advance(bar: Progress, todo: TaskID, what: str) -> None:
    bar.update(todo, advance=1, description=what)


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no screen size such as 1920x1080") from None
    return width, height


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 up")
    return int(text)


def _programs(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    unknown = [name for name in names if name not in PROGRAMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown program {unknown[0]!r}; legal are {', '.join(PROGRAMS)}")
    return names


if __name__ == "__main__":
    raise SystemExit(main())
