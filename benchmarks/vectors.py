"""Part ``vector``: settled steps per second against N, one environment that sleeps, what the layer adds, episodes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from typing import Any, cast

import gymnasium
import numpy as np

from deskgym.benchmarks import episodes
from deskgym.benchmarks.desks import Desk, kalgebra_desk
from deskgym.benchmarks.measure import Part, cpu_seconds, family
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.vector_env import DesktopVectorEnv

SIZE = (1280, 720)
COUNTS = (1, 2, 4, 8)
ENV: dict[str, Any] = {
    "task": "kalgebra/plot-2d", "screen_size": SIZE, "observation": ("screenshot", "elements"), "max_steps": 1_000_000,
}  # fmt: skip
SLEEP = 2.0  # seconds a step of the slow one takes
OWN_PHASES = ("parse", "act")
"""What an environment's step itself takes, as it reports it."""


def measure(part: Part) -> None:
    """All of it on one vector of eight (four in a quick run), so that every comparison has the same desktops."""
    count = part.few(COUNTS[-1], 4)
    part.facts |= {"screen_size": list(SIZE), "counts": [n for n in COUNTS if n <= count], "sleep": SLEEP}
    part.tell("vector: one env by itself")
    desk = _alone(part)
    part.tell(f"vector: {count} desktops")
    vector = gymnasium.make_vec(
        "deskgym/Science-v0", num_envs=count, pool=None, copy=False, autoreset_mode="Disabled", **ENV
    )
    vector = cast(DesktopVectorEnv, vector)
    try:
        vector.reset(seed=[0] * count)
        for action in desk.prepare:
            vector.step([action.to_dict()] * count)
        _throughput(part, vector, desk)
        _sleeper(part, vector, desk)
        _overhead(part, vector, desk)
    finally:
        vector.close()
    part.limit_ratio(f"settled steps/s, {count} envs against 1", 2.5, f"vector/{count}", "vector/1")
    what = f"{count - 1} envs beside one that sleeps, against {count - 1} alone"
    part.limit_ratio(what, 0.95, "sleeper/beside", "sleeper/alone")
    part.limit(f"added per step by the vector layer at N = {count}", 2, "layer/added")
    episodes.measure(part, count)


def _alone(part: Part) -> Desk:
    """Steps of an env in this process, without any vector."""
    import deskgym  # noqa: F401 - registers the id

    env = gymnasium.make("deskgym/Science-v0", disable_env_checker=True, **ENV)
    try:
        env.reset(seed=0)
        desk = kalgebra_desk(cast(DesktopEnv, env.unwrapped).screen)
        for preparing in desk.prepare:
            env.step(preparing.to_dict())
        for action in itertools.islice(_workload(desk, 0), part.few(60, 6)):
            with part.rows.timed("vector/none", "one env by itself, in this process: a settled step"):
                env.step(action)
    finally:
        env.close()
    return desk


def _workload(desk: Desk, start: int) -> Iterator[dict[str, Any]]:
    """Clicks into the input line, a digit, a short expression, in turn; each environment begins elsewhere."""
    kinds = ("click", "key", "type")
    return (desk.action(kinds[k % 3], k // 3).to_dict() for k in itertools.count(start))


def _drive(vector: DesktopVectorEnv, ids: Sequence[int], desk: Desk, seconds: float, sleeper: bool = False) -> int:
    """Keep some environments busy, each at its own pace; the number of steps that were done in that time.

    Args:
        vector: idle, and idle again at the end.
        ids: the environments that step.
        desk: where.
        seconds: how long.
        sleeper: keep the last environment busy with long waits, which do not count.
    """
    actions, asleep = [_workload(desk, k) for k in range(vector.num_envs)], vector.num_envs - 1
    wait = Action("wait", seconds=SLEEP).to_dict()
    done, waiting, end = 0, len(ids) + sleeper, time.perf_counter() + seconds
    vector.send([next(actions[k]) for k in ids], list(ids))
    if sleeper:
        vector.send([wait], [asleep])
    while True:
        *_, infos = vector.recv(1)
        if time.perf_counter() >= end:
            break
        ready = infos["env_id"].tolist()
        done += sum(k in ids for k in ready)
        vector.send([next(actions[k]) if k in ids else wait for k in ready], ready)
    if waiting > 1:
        vector.recv(waiting - 1)
    return done


def _throughput(part: Part, vector: DesktopVectorEnv, desk: Desk) -> None:
    """Steps per second of 1, 2, 4 and 8 at their own pace, in turn, and of 8 in lockstep."""
    seconds = 3.0 if not part.quick else 1.0
    processes = family()
    for k in range(part.few(6, 1)):
        part.tell(f"vector: throughput, round {k + 1}")
        for count in part.facts["counts"]:
            before = cpu_seconds(processes)
            steps = _drive(vector, range(count), desk, seconds)
            part.rows.add(f"vector/{count}", f"{count} envs at their own pace (send/recv)", steps / seconds, "steps/s")
            part.rows.add(
                f"vector/{count}/cpu",
                f"{count} envs: processor time of a step, desktop and worker",
                (cpu_seconds(processes) - before) / max(steps, 1) * 1000,
            )
        actions = [_workload(desk, k) for k in range(vector.num_envs)]
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            vector.step([next(action) for action in actions])
            steps += vector.num_envs
        rate, key = steps / (time.perf_counter() - start), f"vector/{vector.num_envs}/lockstep"
        part.rows.add(key, f"{vector.num_envs} envs in lockstep (step)", rate, "steps/s")


def _sleeper(part: Part, vector: DesktopVectorEnv, desk: Desk) -> None:
    """All but the last, with the last one idle, and beside it while its every step takes two seconds; in turn."""
    awake = range(vector.num_envs - 1)
    seconds = 4.0 if not part.quick else 2.0
    for k in range(part.few(6, 1)):
        part.tell(f"vector: one sleeps, round {k + 1}")
        for sleeps in (False, True) if k % 2 else (True, False):
            steps = _drive(vector, awake, desk, seconds, sleeper=sleeps)
            key = "sleeper/beside" if sleeps else "sleeper/alone"
            what = f"{len(awake)} envs {'beside one whose step takes 2 s' if sleeps else 'alone'}"
            part.rows.add(key, what, steps / seconds, "steps/s")
    actions = [_workload(desk, k) for k in awake]
    wait = Action("wait", seconds=SLEEP).to_dict()
    for _ in range(part.few(3, 1)):
        start = time.perf_counter()
        vector.step([*(next(action) for action in actions), wait])
        rate = len(awake) / (time.perf_counter() - start)
        part.rows.add("sleeper/lockstep", f"the same {len(awake)} in lockstep with it", rate, "steps/s")


def _overhead(part: Part, vector: DesktopVectorEnv, desk: Desk) -> None:
    """What a caller waits for beyond the environment's own step: for one at a time, and for all in lockstep."""
    count = vector.num_envs
    actions = [_workload(desk, k) for k in range(count)]
    part.tell("vector: what the layer adds")
    for k in range(part.few(80, 8)):
        env = k % count
        start = time.perf_counter()
        vector.send([next(actions[env])], [env])
        *_, infos = vector.recv(1)
        total = (time.perf_counter() - start) * 1000
        own = _own(infos, 0)
        part.rows.add("layer/added", "added by send and recv to one step, the other envs idle", total - own)
    for _ in range(part.few(30, 3)):
        start = time.perf_counter()
        *_, infos = vector.step([next(action) for action in actions])
        total = (time.perf_counter() - start) * 1000
        slowest = max(_own(infos, k) for k in range(count))
        what = f"a step of {count} in lockstep, beyond the slowest one's own step"
        part.rows.add("layer/lockstep", what, total - slowest)


def _own(infos: dict[str, Any], k: int) -> float:
    timing = infos["timing"]
    return float(sum(np.asarray(timing[phase])[k] for phase in OWN_PHASES))
