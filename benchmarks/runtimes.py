"""The sandbox with runsc against the sandbox with runc: resets, their processor time, and steps.

``python -m deskgym.benchmarks.runtimes``; ``--help`` has the options. Oracles play each task in turn on both. The
processor time is the whole computer's, so measure where nothing else runs. See ``docs/gvisor.md``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import gymnasium

import deskgym  # noqa: F401 - registers the ids
from deskgym.benchmarks.host import describe_host, load, warn_if_busy
from deskgym.benchmarks.measure import Part, deliver
from deskgym.cli.numbers import whole
from deskgym.cli.output import note, print_table, progress
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import DeskgymError

FORMAT = 1  # of the JSON
RUNTIMES = ("runc", "runsc")
TASKS = ("Science-v0:kalgebra/plot-2d", "DataEngineering-v0:calc/chart", "DataEngineering-v0:code_server/dbt-fix")
"""KAlgebra, Calc and Chromium: the environment's id and the task."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the data."""
    options = parse(argv)
    try:
        data = measure(options)
    except (DeskgymError, ValueError, OSError) as error:
        note(str(error))
        return 1
    deliver(data, "runtimes", options, show)
    return 0


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.runtimes", description=__doc__)
    parser.add_argument("--task", action="append", metavar="ENV:TASK", help=f"may be repeated ({', '.join(TASKS)})")
    parser.add_argument("--rounds", type=whole(1), default=5, help="episodes of each task with each runtime (5)")
    parser.add_argument("--json", action="store_true", help="print the data and nothing else")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write runtimes.json there")
    return parser.parse_args(argv)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One run; returns what ``runtimes.json`` has.

    Raises:
        ValueError: a task is not written as it must be.
        DeskgymError: one cannot be played.
    """
    tasks = options.task or TASKS
    if wrong := [task for task in tasks if ":" not in task]:
        raise ValueError(f"{wrong[0]!r} is no task; write it like {TASKS[0]!r}")
    part, began, busy = Part(), time.time(), warn_if_busy()
    earned: dict[str, list[float]] = {}
    with progress(options.json) as bar:
        running = bar.add_task("", total=len(tasks) * options.rounds)
        for task in tasks:
            with ExitStack() as stack:
                envs = {runtime: _make(stack, task, runtime) for runtime in RUNTIMES}
                for runtime, env in envs.items():
                    _reset(part, env, f"{task}/{runtime}/first")
                for _ in range(options.rounds):
                    for runtime, env in envs.items():
                        earned.setdefault(f"{task}/{runtime}", []).append(_episode(part, env, f"{task}/{runtime}"))
                    bar.advance(running)
    return {
        "benchmark": "runtimes",
        "format": FORMAT,
        "time": time.strftime("%Y-%m-%d %H:%M", time.gmtime(began)) + " UTC",
        "tasks": list(tasks),
        "earned": earned,
        "host": describe_host(),
        "load": {"before": load()[0], "busy": busy},
        **part.to_dict(),
    }


def _make(stack: ExitStack, task: str, runtime: str) -> DesktopEnv:
    env_id, _, name = task.partition(":")
    env = gymnasium.make(
        f"deskgym/{env_id}", task=name, disable_env_checker=True, max_steps=1000, machine_options={"runtime": runtime}
    )
    stack.callback(env.close)
    return env.unwrapped  # type: ignore[return-value]


def _reset(part: Part, env: DesktopEnv, key: str) -> None:
    busy, start = _busy(), time.perf_counter()
    env.reset(seed=0)
    part.rows.add(key, "reset", time.perf_counter() - start, "s")
    part.rows.add(f"{key}/cpu", "processor time of a reset", _busy() - busy, "s")


def _episode(part: Part, env: DesktopEnv, key: str) -> float:
    """A reset, and the oracle's steps but the last, which is judged."""
    _reset(part, env, f"{key}/reset")
    reward = 0.0
    for action in env.oracle():
        start = time.perf_counter()
        _, earned, terminated, truncated, _ = env.step(action)
        reward = float(earned)
        if terminated or truncated:
            break
        part.rows.add(f"{key}/step", "step", (time.perf_counter() - start) * 1000)
    return reward


def _busy() -> float:
    """Seconds that all cores have worked since the computer's start."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def show(data: dict[str, Any]) -> None:
    """The table."""
    rows = {row["key"]: row for row in data["rows"]} if isinstance(data["rows"], list) else data["rows"]
    table = []
    for task in data["tasks"]:
        for key, what in (
            ("first", "first reset"),
            ("reset", "later reset"),
            ("reset/cpu", "its processor time"),
            ("step", "step"),
        ):
            if f"{task}/{RUNTIMES[0]}/{key}" not in rows:  # an oracle of one action has no step before the last
                continue
            pair = [rows[f"{task}/{runtime}/{key}"] for runtime in RUNTIMES]
            ratio = pair[1]["median"] / pair[0]["median"]
            table.append([task, what, *map(_spread, pair), f"{ratio:.2f}"])
        table.append([task, "rewards", *(_earned(data, task, runtime) for runtime in RUNTIMES), ""])
    print_table("medians, and the spread", ["task", "", *RUNTIMES, "ratio"], table)


def _spread(row: dict[str, Any]) -> str:
    return f"{row['median']:.3g} {row['unit']} ({row['min']:.3g}-{row['max']:.3g}, n={row['n']})"


def _earned(data: dict[str, Any], task: str, runtime: str) -> str:
    earned = data["earned"][f"{task}/{runtime}"]
    return f"{sum(earned):g} of {len(earned)}"


if __name__ == "__main__":
    raise SystemExit(main())
