"""Forks in the middle of episodes against episodes that are played singly; what saving, restoring and forking take.

``python -m deskgym.benchmarks.states``; ``--help`` has the options. Of each task the oracle's actions are played singly
a few times; then they are played to the middle, forked, and each fork plays on. Frames, elements and verdicts are
compared at each step after the middle. The exit status is 1 where one differs. See ``docs/states.md``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium

import deskgym  # noqa: F401 - registers the ids
from deskgym.benchmarks.host import describe_host, load, warn_if_busy
from deskgym.benchmarks.measure import Part, available_mb, deliver
from deskgym.cli.numbers import whole
from deskgym.cli.output import note, print_table, progress
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import DeskgymError, StateError
from deskgym.envs.states import Seen
from deskgym.task_suites import load_suite

FORMAT = 1  # of the JSON
SIZE = (960, 600)
RESTORES = 3
Played = tuple[list[Seen], dict[str, Any]]
"""What was seen at each step after the middle, and the verdict's outcomes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write the data."""
    options = parse(argv)
    try:
        data = measure(options)
    except (DeskgymError, ValueError, OSError) as error:
        note(str(error))
        return 1
    deliver(data, "states", options, show)
    return int(any(task["equal"] < task["forks"] for task in data["tasks"]))


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m deskgym.benchmarks.states", description=__doc__)
    parser.add_argument("--machine", default="sandbox", help="such as sandbox or qemu (sandbox)")
    parser.add_argument("--runtime", help="of the sandbox, such as runsc")
    parser.add_argument("--task", default="kalgebra/*", help="a glob over the ids of deskgym/Science-v0 (kalgebra/*)")
    parser.add_argument("--tasks", type=whole(1), default=20, help="the first so many of them (20)")
    parser.add_argument("--forks", type=whole(1), default=8, help="of each task, made at once (8)")
    parser.add_argument("--seed", type=whole(0), default=0, help="of the tasks' parameters (0)")
    parser.add_argument("--json", action="store_true", help="print the data and nothing else")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write states.json there")
    return parser.parse_args(argv)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """One run; returns what ``states.json`` has.

    Raises:
        ValueError: no task matches.
    """
    ids = [one for one in load_suite("science").ids() if Path(one).match(options.task)][: options.tasks]
    if not ids:
        raise ValueError(f"no task of science matches {options.task!r}")
    part, began, busy = Part(), time.time(), warn_if_busy()
    tasks = []
    with progress(options.json) as bar:
        running = bar.add_task("", total=len(ids))
        for task in ids:
            bar.update(running, description=task)
            try:
                tasks.append(_task(part, options, task))
            except StateError as error:
                failed = {"steps": 0, "middle": 0, "how": "none", "equal": 0, "why": str(error), "singles_differ": ""}
                tasks.append({"task": task, "forks": options.forks, **failed})
            bar.advance(running)
    return {
        "benchmark": "states",
        "format": FORMAT,
        "time": time.strftime("%Y-%m-%d %H:%M", time.gmtime(began)) + " UTC",
        "machine": options.machine,
        "runtime": options.runtime,
        "screen_size": SIZE,
        "host": describe_host(),
        "load": {"before": load()[0], "busy": busy},
        "tasks": tasks,
        **part.to_dict(),
    }


def show(data: dict[str, Any]) -> None:
    """The tables."""
    runtime = f" with {data['runtime']}" if data["runtime"] else ""
    print_table(
        f"forks in the middle, machine {data['machine']}{runtime}",
        ["task", "steps", "middle", "equal", "how", "what differs"],
        [
            [
                each["task"],
                each["steps"],
                each["middle"],
                f"{each['equal']} of {each['forks']}",
                each["how"],
                each["why"],
            ]
            for each in data["tasks"]
        ],
    )
    equal, forks = (sum(each[name] for each in data["tasks"]) for name in ("equal", "forks"))
    print(f"{equal} of {forks} forks of {len(data['tasks'])} tasks went on as the episodes that were played singly")
    print_table(
        "what it takes",
        ["", "median", "spread", "n"],
        [
            [row["what"], f"{row['median']:.4g} {row['unit']}", f"{row['min']:.4g}-{row['max']:.4g}", row["n"]]
            for row in _rows(data)
        ],
    )


def _rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    rows = data["rows"]
    return list(rows.values()) if isinstance(rows, dict) else list(rows)


def _make(options: argparse.Namespace, task: str) -> DesktopEnv:
    env = gymnasium.make(
        "deskgym/Science-v0", task=task, machine=options.machine, screen_size=SIZE,
        observation=("screenshot", "elements"), disable_env_checker=True,
        machine_options={} if options.runtime is None else {"runtime": options.runtime},
    )  # fmt: skip
    return env.unwrapped  # type: ignore[return-value]


def _task(part: Part, options: argparse.Namespace, task: str) -> dict[str, Any]:
    """Compare forks of one task with single episodes."""
    with closing(_make(options, task)) as env:
        env.reset(seed=options.seed)
        actions = []
        for action in env.oracle():
            actions.append(action)
            *_, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                break
        middle = len(actions) // 2
        singles = []
        for _ in range(options.forks):
            env.reset(seed=options.seed)
            for action in actions[:middle]:
                env.step(action)
            singles.append(_play(env, actions[middle:]))
        env.reset(seed=options.seed)
        for action in actions[:middle]:
            env.step(action)
        start = time.perf_counter()
        with env.save_state() as state:
            part.rows.add("save", "saving a state", (time.perf_counter() - start) * 1000)
            for _ in range(RESTORES):
                _, info = env.restore_state(state)
                part.rows.add("restore", "restoring it, until a settled frame", info["restored"]["ms"])
        before, start = available_mb(), time.perf_counter()
        forks = env.fork(options.forks)
        try:
            taken = (time.perf_counter() - start) * 1000 / options.forks
            part.rows.add("fork", f"each of {options.forks} forks, made at once", taken)
            part.rows.add("memory", "memory of each", (before - available_mb()) / options.forks, "MiB")
            played = [_play(fork, actions[middle:]) for fork in forks]
        finally:
            for fork in forks:
                fork.close()
        differences = [_differs(singles, one) for one in played]
        return {
            "task": task,
            "steps": len(actions),
            "middle": middle,
            "how": state.how,
            "forks": options.forks,
            "equal": sum(not difference for difference in differences),
            "why": next((difference for difference in differences if difference), ""),
            "singles_differ": next((why for one in singles[1:] if (why := _differs(singles[:1], one))), ""),
        }


def _play(env: DesktopEnv, actions: Sequence[Any]) -> Played:
    seen: list[Seen] = []
    info: dict[str, Any] = {}
    for action in actions:
        *_, info = env.step(action)
        if "verdict" not in info:
            seen.append(env._look_closely(rest=True))
    verdict = info["verdict"]
    return seen, {"score": verdict["score"], **{each["name"]: each["outcome"] for each in verdict["checks"]}}


def _differs(singles: Sequence[Played], one: Played) -> str:
    """How an episode differs from all that were played singly: from the nearest of them, at its first step."""
    reasons = [_difference(single, one) for single in singles]
    return "" if "" in reasons else reasons[0]


def _difference(single: Played, one: Played) -> str:
    for step, (before, now) in enumerate(zip(single[0], one[0], strict=True), 1):
        if why := before.differs(now):
            return f"{step} steps on: {why}"
    return "" if single[1] == one[1] else f"verdict {one[1]} where {single[1]} was"


if __name__ == "__main__":
    raise SystemExit(main())
