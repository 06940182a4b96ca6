"""Part ``density``: how many desktops one machine holds, idle and at work, and what each takes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from deskgym.benchmarks.desks import BareTasks, Desk, kalgebra_desk, make_kalgebra
from deskgym.benchmarks.measure import Part, available_mb, cpu_seconds, family, wait_for_quiet
from deskgym.benchmarks.memory import measure_memory, read_machine
from deskgym.benchmarks.ours import VIEWS, look_at
from deskgym.benchmarks.targets import Target
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv

SIZE = (1280, 720)
KEEP_MB = 2048.0  # memory that stays free: below it, no further desktop is started
WANTED = 128
WITHIN = 1000.0  # ms
AT_WORK = 8
PACE = 1.0  # seconds from step to step of a desktop at work
WATCH = 5.0  # seconds in which processor time is counted


def measure(part: Part) -> None:
    """Many idle desktops at once, each asked for a step; then a few with KAlgebra, each of them a step a second."""
    part.facts |= {"screen_size": list(SIZE), "pace": PACE, "asked_for": part.desktops, "keep_mb": KEEP_MB}
    part.tell("density: memory of one desktop")
    part.facts["one"] = measure_memory(SIZE)
    with ExitStack() as stack:
        _idle(part, stack)
        part.tell("density: closing")
    with ExitStack() as stack:
        _at_work(part, stack)


def _idle(part: Part, stack: ExitStack) -> None:
    desktops = part.few(part.desktops, min(part.desktops, 8))
    envs, curve, taken = _raise(part, stack, "density", desktops, _bare)
    part.facts |= {"curve_mb": curve, "started": len(envs)}
    part.rows.add("density/memory", "each further idle desktop: memory of the host", taken, "MiB")
    part.tell("density: memory of each")
    for env in envs:
        _add_pss(part, "density/pss", "each idle desktop: its processes' share of memory (PSS)", env)
    processes = family()[1:]  # this process does nothing meanwhile but count
    before = cpu_seconds(processes)
    time.sleep(WATCH)
    used = (cpu_seconds(processes) - before) / WATCH / len(envs) * 100
    part.rows.add("density/cpu", "each idle desktop: processor time, in percent of a core", used, "%")
    part.tell("density: a step of each")
    rng = np.random.default_rng(0)
    slow = 0
    for k in rng.permutation(len(envs)):
        ms = _click(envs[int(k)])
        part.rows.add("density/step", "a click on one of them, the others idle: screenshot + elements", ms)
        slow += ms > WITHIN
    with ThreadPoolExecutor(len(envs)) as threads:
        for ms in threads.map(_click, envs):
            part.rows.add("density/step/all", "the same when all are asked at once", ms)
    part.facts["alive"] = alive = sum(env.machine.alive for env in envs)
    if desktops >= WANTED:
        row = part.rows["density/step"].to_dict()
        what = f"idle {SIZE[0]}×{SIZE[1]} desktops alive at once, each answering a step within 1 s"
        detail = f"slowest {row['max']:.0f} ms, {taken * alive / 1024:.1f} GiB in all"
        part.targets.append(Target(what, WANTED, alive - slow, "", at_least=True, detail=detail))


def _at_work(part: Part, stack: ExitStack) -> None:
    envs, _, taken = _raise(part, stack, "density/work", part.few(AT_WORK, 2), _at_kalgebra)
    part.rows.add("density/work/memory", "each desktop with KAlgebra: memory of the host", taken, "MiB")
    for env in envs:
        _add_pss(part, "density/work/pss", "each desktop with KAlgebra: its processes' share of memory (PSS)", env)
    part.tell("density: at work")
    desks = [kalgebra_desk(env.screen) for env in envs]
    steps = part.few(15, 3)
    processes = family()
    before, start = cpu_seconds(processes), time.perf_counter()
    for k in range(steps * len(envs)):
        env, desk = envs[k % len(envs)], desks[k % len(envs)]
        part.rows.add("density/work/step", f"a step of one of {len(envs)} at work", _act(env, desk, k // len(envs)))
        time.sleep(max(0.0, start + (k + 1) * PACE / len(envs) - time.perf_counter()))
    used = (cpu_seconds(processes) - before) / (time.perf_counter() - start) / len(envs) * 100
    what = f"each desktop at work, a step every {PACE:g} s: processor time, in percent of a core"
    part.rows.add("density/work/cpu", what, used, "%")


def _raise(
    part: Part, stack: ExitStack, key: str, count: int, make: Callable[[], DesktopEnv]
) -> tuple[list[DesktopEnv], list[list[int]], float]:
    """Start desktops, as many at once as there are cores, while there is memory.

    Returns:
        The envs; how many there were and the MiB that all but the first took, every so often; MiB of one of them.
    """
    first = make()
    stack.callback(first.close)
    first.reset(seed=0)  # it brings what all share
    wait_for_quiet()
    envs, before = [first], available_mb()
    curve = [[1, 0]]
    at_once = min(len(os.sched_getaffinity(0)), 8)
    with ThreadPoolExecutor(at_once) as threads:
        while len(envs) < count and available_mb() > KEEP_MB:
            more = [make() for _ in range(min(at_once, count - len(envs)))]
            for env in more:
                stack.callback(env.close)
            start = time.perf_counter()
            list(threads.map(lambda env: env.reset(seed=0), more))
            each_ms = (time.perf_counter() - start) / len(more) * 1000
            part.rows.add(
                f"{key}/start",
                f"each further desktop{' with KAlgebra' if 'work' in key else ''}: reset, {at_once} at once",
                each_ms,
            )
            envs += more
            part.tell(f"density: {len(envs)} desktops")
            if len(envs) >= curve[-1][0] + 8 or len(envs) == count:
                curve.append([len(envs), round(before - available_mb())])
    wait_for_quiet()
    return envs, curve, (before - available_mb()) / max(len(envs) - 1, 1)


def _add_pss(part: Part, key: str, what: str, env: DesktopEnv) -> None:
    part.rows.add(key, what, sum(process["pss"] for process in read_machine(env.machine)), "MiB")


def _bare() -> DesktopEnv:
    return DesktopEnv(BareTasks(), screen_size=SIZE, observation=("screenshot", "elements"), max_steps=1_000_000)


def _at_kalgebra() -> DesktopEnv:
    env = make_kalgebra(SIZE)
    look_at(env, VIEWS["screenshot + elements"])
    return env


def _click(env: DesktopEnv) -> float:
    return _step(env, Action("click", SIZE[0] // 2, SIZE[1] // 2))


def _act(env: DesktopEnv, desk: Desk, k: int) -> float:
    return _step(env, desk.action(("click", "key", "type")[k % 3], k // 3))


def _step(env: DesktopEnv, action: Action) -> float:
    start = time.perf_counter()
    info = env.step(action)[4]
    ms = (time.perf_counter() - start) * 1000
    if "fault" in info:
        raise RuntimeError(f"a desktop broke during the benchmark: {info['fault']}")
    return ms
