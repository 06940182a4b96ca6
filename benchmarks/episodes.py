"""Whole episodes, resets included: DesktopVectorEnv with a pool against Gymnasium's AsyncVectorEnv over the same env.

Both get the same tasks and the same script: an episode is 5 to 25 clicks, keys and short texts, as many as its number
says, and DONE, evaluated. The clock starts when all have their first observation, with nothing prepared, and stops when
the wanted number of episodes has ended and the next one of each has begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.vector.utils import concatenate, create_empty_array

from deskgym.benchmarks.desks import Desk, kalgebra_desk
from deskgym.benchmarks.measure import Part, busy_cores
from deskgym.envs.action.actions import VERBS, Action
from deskgym.envs.action.spaces import MODIFIERS, SPACE_KEYS
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.vector_env import DesktopVectorEnv

SIZE = (1280, 720)
SHORTEST, LONGEST = 5, 25  # steps before DONE
OPTIONS: dict[str, Any] = {"task": "kalgebra/plot-2d", "screen_size": SIZE, "observation": ("screenshot", "elements")}


class Script:
    """What every environment does: its own stream of episode lengths, the same for both vectors."""

    def __init__(self, desk: Desk, count: int, seed: int = 0) -> None:
        self.desk = desk
        self._lengths = [np.random.default_rng([seed, k]) for k in range(count)]
        self._left = [self._length(k) for k in range(count)]

    def action(self, k: int) -> Action:
        """The next action of environment ``k``."""
        self._left[k] -= 1
        if self._left[k] < 0:
            self._left[k] = self._length(k)
            return Action("done")
        return self.desk.action(("click", "key", "type")[self._left[k] % 3], self._left[k])

    def _length(self, k: int) -> int:
        return int(self._lengths[k].integers(SHORTEST, LONGEST + 1))


def make_env() -> gymnasium.Env[Any, Any]:
    """What AsyncVectorEnv gets: the same env as make_vec makes, without its pool."""
    import deskgym  # noqa: F401 - registers the id

    return gymnasium.make("deskgym/Science-v0", disable_env_checker=True, **OPTIONS)


def measure(part: Part, count: int) -> None:
    """Vectors of ``count`` in turn: theirs, ours, ours, theirs."""
    part.facts |= {"episode_steps": [SHORTEST, LONGEST], "episode_envs": count}
    env = make_env()
    try:
        env.reset(seed=0)
        desk = kalgebra_desk(cast(DesktopEnv, env.unwrapped).screen)
    finally:
        env.close()
    wanted = part.few(32, 4)
    part.facts["episodes"] = wanted
    arms: dict[str, tuple[str, Callable[[Desk, int, int], tuple[float, float]]]] = {
        "ours": (f"DesktopVectorEnv of {count} with a pool, send/recv", _ours),
        "lockstep": (f"gymnasium.vector.AsyncVectorEnv of {count}", _theirs),
    }
    for k, name in enumerate(part.few(1, 0) * ["lockstep", "ours"] + ["ours", "lockstep"]):
        what, run = arms[name]
        part.tell(f"vector: episodes, run {k + 1}")
        cores, seconds = run(desk, count, wanted)
        part.rows.add(f"episodes/{name}", f"{what}: episodes with their resets", 60 * wanted / seconds, "episodes/min")
        part.rows.add(f"episodes/{name}/cores", f"{what}: cores that the host kept busy", cores, "cores")
    part.limit_ratio("episodes/min against AsyncVectorEnv, resets included", 2, "episodes/ours", "episodes/lockstep")


def _ours(desk: Desk, count: int, wanted: int) -> tuple[float, float]:
    vector = gymnasium.make_vec(
        "deskgym/Science-v0", num_envs=count, pool={"depth": 1, "reserve_mb": 0}, autoreset_mode="SameStep",
        copy=False, **OPTIONS,
    )  # fmt: skip
    vector = cast(DesktopVectorEnv, vector)
    script = Script(desk, count)
    try:
        vector.reset(seed=0)
        cores, start, over = busy_cores(), time.perf_counter(), 0
        vector.send([script.action(k).to_dict() for k in range(count)])
        while True:
            _, _, terminated, truncated, infos = vector.recv(1)
            over += _ended(terminated | truncated, infos.get("final_info", {}))
            if over >= wanted:
                return cores(), time.perf_counter() - start
            ready = infos["env_id"].tolist()
            vector.send([script.action(k).to_dict() for k in ready], ready)
    finally:
        vector.close()


def _theirs(desk: Desk, count: int, wanted: int) -> tuple[float, float]:
    vector = AsyncVectorEnv(
        [partial(make_env)] * count, context="forkserver", autoreset_mode=AutoresetMode.SAME_STEP, copy=False
    )  # fmt: skip
    script, empty = Script(desk, count), cast(dict[str, Any], create_empty_array(vector.single_action_space, count))
    try:
        vector.reset(seed=0)
        cores, start, over = busy_cores(), time.perf_counter(), 0
        while True:
            members = [_member(vector.single_action_space, script.action(k)) for k in range(count)]
            batch = concatenate(vector.single_action_space, members, empty)
            _, _, terminated, truncated, infos = vector.step(batch)
            over += _ended(terminated | truncated, infos.get("final_info", {}))
            if over >= wanted:
                return cores(), time.perf_counter() - start
    finally:
        vector.close()


def _member(space: Any, action: Action) -> dict[str, Any]:
    """An action as AsyncVectorEnv takes it: a member of the space, since it knows no other form."""
    sample: dict[str, Any] = space.sample()
    return sample | {
        "action": list(VERBS).index(action.verb),
        "point": np.array([action.x or 0, action.y or 0], np.int32),
        "button": 0,
        "clicks": 1,
        "modifiers": np.zeros(len(MODIFIERS), np.int8),
        "key": SPACE_KEYS.index(action.keys[0]) if action.keys else 0,
        "text": action.text or "",
    }


def _ended(over: Any, final: Any) -> int:
    if "fault" in final:
        raise RuntimeError(f"a machine broke during the benchmark: {final['fault']}")
    return int(np.count_nonzero(over))
