"""Part ``reset``: a fresh desktop with the task's program open, made on the spot, ahead of time, or by keeping one."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any, cast

import gymnasium
import numpy as np

from deskgym.benchmarks.desks import kalgebra_desk
from deskgym.benchmarks.measure import Part, cpu_by_process, wait_for_quiet
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.vector_env import DesktopVectorEnv

SIZE = (1920, 1080)
TASK = "kalgebra/plot-2d"
EPISODE = 12  # clicks between two resets
DESKTOPS = 4
MEMORY_MB = 0  # the pool's reserve: the benchmark wants its desktops in any case


def measure(part: Part) -> None:
    """Resets of three envs in turn, one plain, one with a pool, and one that keeps its desktop, and of new envs."""
    part.facts["screen_size"] = list(SIZE)
    with ExitStack() as stack:
        part.tell("reset: three envs")
        plain, pooled = _make(stack, None), _make(stack, {"depth": 1, "reserve_mb": MEMORY_MB})
        keeping = _make(stack, None, {"reuse": True})
        for env in (plain, pooled, keeping):
            env.reset(seed=0)
        rounds = part.few(15, 2)
        for k in range(rounds):
            part.tell(f"reset: {k + 1} of {rounds}")
            _reset(part, plain, "again", "reset on the spot, after an episode")
            _reset(part, keeping, "kept", "reset that keeps the desktop, after an episode")
            _play(plain)
            _play(keeping)
            _play(pooled)
            wait_for_quiet()
            _reset(part, pooled, "pooled", "reset with a pool, its desktop prepared during the episode")
        wait_for_quiet()
        part.facts["stats"] = dict(pooled.stats)
        part.facts["kept"] = [keeping.machine.reused, keeping.machine.not_reused]  # type: ignore[attr-defined]
    for _ in range(part.few(5, 1)):
        part.tell("reset: nothing warm")
        with ExitStack() as stack:
            _reset(part, _make(stack, None), "cold", "reset of an env that has no machine yet")
    _short_episodes(part)
    part.limit_ratio(
        "short episodes on four desktops that are kept, steps/s, against new ones", 1.8, "short/kept", "short"
    )
    part.limit("processor time of a reset that keeps the desktop", 300, "reset/kept/cpu")
    part.limit("pooled reset of a KAlgebra task, as the caller sees it", 30, "reset/pooled")
    part.limit("reset of a KAlgebra task, nothing warm", 2000, "reset/cold")


def _short_episodes(part: Part) -> None:
    """Random possible discrete actions on four desktops, where every few steps are an episode: new and kept in turn."""
    with ExitStack() as stack:
        vectors = {"short": _vector(stack, {}), "short/kept": _vector(stack, {"reuse": True})}
        random = np.random.default_rng(0)
        for vector in vectors.values():
            _drive(vector, random, DESKTOPS)  # each has a desktop then
        for k in range(part.few(5, 1)):
            part.tell(f"reset: short episodes, round {k + 1}")
            for key, vector in vectors.items():
                what = f"short episodes, {DESKTOPS} desktops{' that are kept' if key != 'short' else ''}: steps"
                start = time.perf_counter()
                steps = _drive(vector, random, part.few(120, 20))
                part.rows.add(key, what, steps / (time.perf_counter() - start), "/s")


def _vector(stack: ExitStack, machine: dict[str, Any]) -> DesktopVectorEnv:
    vector = gymnasium.make_vec(
        "deskgym/Science-v0", num_envs=DESKTOPS, task="ladder/*", screen_size=(960, 600), action="discrete",
        observation=("elements",), discrete={"verbs": ["click", "submit", "done"], "grid": [0, 0]},
        machine_options=machine,
    )  # fmt: skip
    stack.callback(vector.close)
    return cast(DesktopVectorEnv, vector)


def _drive(vector: DesktopVectorEnv, random: np.random.Generator, steps: int) -> int:
    """So many steps of all together, each desktop at its own pace; gives how many there were."""
    vector.async_reset(seed=int(random.integers(1000)))
    taken = -vector.num_envs  # the first of each are resets
    while taken < steps:
        *_, info = vector.recv(batch_size=1)
        ids = info["env_id"]
        vector.send([_sampled(mask, vector.single_action_space, random) for mask in info["action_mask"]], ids)
        taken += len(ids)
    vector.recv()
    return taken


def _sampled(mask: Any, space: Any, random: np.random.Generator) -> list[int]:
    """A random action whose parts are possible."""
    parts = np.split(np.asarray(mask), np.cumsum(space.nvec)[:-1])
    return [int(random.choice(np.flatnonzero(part))) for part in parts]


def _make(stack: ExitStack, pool: dict[str, Any] | None, machine: dict[str, Any] | None = None) -> DesktopEnv:
    import deskgym  # noqa: F401 - registers the id

    env = gymnasium.make(
        "deskgym/Science-v0", task=TASK, screen_size=SIZE, observation=("screenshot", "elements"),
        max_steps=1_000_000, pool=pool, machine_options=machine, disable_env_checker=True,
    )  # fmt: skip
    stack.callback(env.close)
    return cast(DesktopEnv, env.unwrapped)


def _reset(part: Part, env: DesktopEnv, key: str, what: str) -> None:
    before, start = cpu_by_process(), time.perf_counter()
    _, info = env.reset()
    part.rows.add(f"reset/{key}", what, (time.perf_counter() - start) * 1000)
    if key != "pooled":  # nothing goes on in the background
        after = cpu_by_process()
        gone = key == "again"  # the desktop before, and with it what it had taken
        earlier = sum(seconds for process, seconds in before.items() if process in after or not gone)
        part.rows.add(f"reset/{key}/cpu", f"{what}: processor time", (sum(after.values()) - earlier) * 1000)
    timing = info["timing"] if key == "pooled" else info["prepared"] | info["timing"]
    for phase in ("restore", "setup", "settle", "swap", "observe"):
        if phase in timing:
            part.rows.add(f"reset/{key}/{phase}", f"{what}: {phase}", timing[phase])


def _play(env: DesktopEnv) -> None:
    desk = kalgebra_desk(env.screen)
    for k in range(EPISODE):
        env.step(desk.action("click", k))
