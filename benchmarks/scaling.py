"""What one environment in a Ray actor takes of its node, and what a thousand of them need: ``docs/scaling.md``.

python -m deskgym.benchmarks.scaling --envs 1 4            # measure on this machine; writes out/scaling.json
python -m deskgym.benchmarks.scaling --plan 1000 10000     # the model's table, from that file
"""

from __future__ import annotations

import argparse
import json
import math
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import psutil

from deskgym.envs.action.actions import Action
from deskgym.envs.ray.envs import DistributedEnvs
from deskgym.envs.ray.placement import require_ray

BUSY = 0.7  # part of the cores that the model plans with: above it desktops wait for each other
RESERVE_MB = 4096  # of a node's memory, for the system and Ray itself


class Clicks:
    """Clicks here and there, then DONE; thinks before each action, as a model would."""

    def __init__(self, steps: int, think: float) -> None:
        self.steps, self.think = steps, think

    def __call__(self, observation: Any, info: dict[str, Any]) -> tuple[Any, None]:
        """The next action."""
        time.sleep(self.think)
        k = info["step"]
        return (Action("done") if k == self.steps - 1 else Action("click", x=100 + 97 * k % 1000, y=300 + 31 * k)), None


def make_env(task: str, depth: int) -> gymnasium.Env[Any, Any]:
    """The environment that is measured."""
    return gymnasium.make(
        "deskgym/Science-v0", task=task, screen_size=(1280, 720), observation=("screenshot", "elements"),
        pool={"depth": depth}, disable_env_checker=True,
    )  # fmt: skip


def measure(args: argparse.Namespace, count: int, think: float) -> dict[str, float]:
    """Play episodes in ``count`` environments at once, and look at what their processes take."""
    ray = require_ray()
    envs = DistributedEnvs(partial(make_env, args.task, args.depth), count, num_cpus=0, memory_mb=0)
    actors = [psutil.Process(place.pid) for place in envs.places]
    stream = envs.episodes(Clicks(args.steps, think), seed=1)
    for _ in range(count):  # warm: every machine and every pool has started once
        next(stream)
    begun = time.monotonic()
    with Meter(actors) as meter:
        taken = [next(stream) for _ in range(args.episodes * count)]
    seconds = time.monotonic() - begun
    memory = [_memory(actor) for actor in actors]
    size = len(ray.cloudpickle.dumps(taken[-1])) / 2**20
    load = psutil.getloadavg()[0]
    stream.close()
    envs.close()
    return {
        "envs": count,
        "think": think,
        "episodes_per_minute": 60 * len(taken) / seconds,
        "seconds_per_episode": seconds * count / len(taken),
        "cpu_seconds_per_episode": meter.seconds / len(taken),
        "actor_mb": median(own for own, _ in memory),
        "desktops_mb": median(below for _, below in memory),
        "episode_mb": size,
        "faults": sum(episode.fault is not None for episode in taken),
        "load": load,
    }


def read_inputs(rows: list[dict[str, float]], steps: int) -> dict[str, float]:
    """The model's inputs: one environment alone for its pace, the most at once for what they take."""
    most, slow = rows[-2:]
    thought = steps * (slow["think"] - most["think"])
    idle = max(slow["cpu_seconds_per_episode"] - most["cpu_seconds_per_episode"], 0.0) / thought
    return most | {"seconds_per_episode": rows[0]["seconds_per_episode"], "idle_cores": idle}


def plan(inputs: dict[str, float], desktops: int, cores: int, memory_gb: float, think: float, steps: int) -> list[str]:
    """How many nodes ``desktops`` environments need, whose policies think ``think`` seconds a step."""
    seconds = inputs["seconds_per_episode"] + steps * think
    busy = inputs["cpu_seconds_per_episode"] + inputs["idle_cores"] * steps * think
    each = inputs["actor_mb"] + inputs["desktops_mb"]
    by_cores = BUSY * cores * seconds / busy
    by_memory = (memory_gb * 1024 - RESERVE_MB) / each
    node = math.floor(min(by_cores, by_memory))
    nodes = math.ceil(desktops / node)
    return [
        f"{desktops:,}", f"{think:g} s", f"{node} ({'cores' if by_cores < by_memory else 'memory'})", f"{nodes}",
        f"{nodes * cores:,}", f"{nodes * memory_gb / 1024:.1f}", f"{60 * desktops / seconds:,.0f}",
    ]  # fmt: skip


class Meter:
    """CPU seconds of processes and all below them, while it is open.

    It looks every quarter of a second, since the kernel forgets what was in a sandbox when that ends; what a process
    takes in its last quarter is missed.
    """

    def __init__(self, roots: Sequence[psutil.Process]) -> None:
        self._roots, self._over = roots, threading.Event()
        self._first: dict[psutil.Process, float] = {}
        self._last: dict[psutil.Process, float] = {}
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Meter:
        self._look()
        self._first = dict(self._last)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    @property
    def seconds(self) -> float:
        """Since it was opened."""
        return sum(self._last.values()) - sum(self._first.values())

    def _watch(self) -> None:
        while not self._over.wait(0.25):
            self._look()

    def _look(self) -> None:
        for root in self._roots:
            for process in (root, *root.children(recursive=True)):
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    self._last[process] = times.user + times.system


def _memory(actor: psutil.Process) -> tuple[float, float]:
    """MiB of the actor's process, and of all below it: their shares of shared pages."""
    below = 0
    for process in actor.children(recursive=True):
        with suppress(psutil.Error):
            below += process.memory_full_info().pss
    return actor.memory_full_info().pss / 2**20, below / 2**20


def main(argv: Sequence[str] | None = None) -> None:
    """See the module's first lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--envs", type=int, nargs="+", default=[1, 4], help="how many at once, one run each")
    parser.add_argument("--episodes", type=int, default=6, help="of each environment")
    parser.add_argument("--steps", type=int, default=15, help="of an episode")
    parser.add_argument("--think", type=float, default=1.0, help="seconds a step, in the last run")
    parser.add_argument("--depth", type=int, default=1, help="of the pool")
    parser.add_argument("--task", default="kalgebra/plot-2d")
    parser.add_argument("--plan", type=int, nargs="+", help="desktops to plan for, with what was measured")
    parser.add_argument("--cores", type=int, default=64, help="of a node in the plan")
    parser.add_argument("--memory-gb", type=float, default=256, help="of a node in the plan")
    parser.add_argument("--out", type=Path, default=Path("out/scaling.json"))
    args = parser.parse_args(argv)
    if not args.plan:
        rows = [measure(args, count, 0.0) for count in args.envs] + [measure(args, args.envs[-1], args.think)]
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps({"steps": args.steps, "rows": rows}, indent=1))
        _print([list(rows[0]), *([f"{value:.4g}" for value in row.values()] for row in rows)])
        return
    if not args.out.exists():
        parser.error(f"{args.out} is not there: measure first, without --plan")
    found = json.loads(args.out.read_text())
    inputs = read_inputs(found["rows"], found["steps"])
    head = ["desktops", "thinks", "a node holds", "nodes", "cores", "TiB", "episodes a minute"]
    thoughts = (0.0, 1.0, 5.0)
    table = [plan(inputs, n, args.cores, args.memory_gb, t, found["steps"]) for n in args.plan for t in thoughts]
    _print([head, *table])


def _print(rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print(" | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    main()
