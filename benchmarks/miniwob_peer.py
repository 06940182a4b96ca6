"""MiniWoB++ as a peer: the Farama Foundation's web tasks, on its own Gymnasium environment, unchanged.

Its ``enter-text`` task against a KAlgebra task of ours, on one environment each and in turn: clicks into the text
field and short texts typed there, which do not end the episode, with all that either observes (screenshot and DOM;
screenshot and elements).
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

import gymnasium
import numpy as np
import psutil

from deskgym.benchmarks.desks import kalgebra_desk
from deskgym.benchmarks.measure import Part
from deskgym.envs.desktop_env import DesktopEnv

TASK = "miniwob/enter-text-v1"
SIZE = (1280, 720)
BLOCK = 12  # steps of one, then of the other; an episode of MiniWoB++ ends after 10 s in any case
BROWSERS = ("chromium", "google-chrome", "chrome")


def missing() -> str:
    """What this machine lacks for it, with the way to get it; empty where all is there."""
    if find_spec("miniwob") is None:
        return "the package miniwob is not installed: pip install 'deskgym[bench]'"
    if not any(map(shutil.which, BROWSERS)) or shutil.which("chromedriver") is None:
        return "there is no chromium with a chromedriver: apt install chromium chromium-driver"
    return ""


def measure(part: Part) -> None:
    """Steps, resets and memory of both."""
    part.tell("MiniWoB++")
    os.environ["MINIWOB_CHROME_BINARY"] = next(filter(None, map(shutil.which, BROWSERS)))
    os.environ["MINIWOB_CHROMEDRIVER"] = str(shutil.which("chromedriver"))
    import deskgym  # noqa: F401 - registers the id

    gymnasium.register_envs(import_module("miniwob"))
    known = set(psutil.Process().children(recursive=True))
    with part.rows.timed("miniwob/start", "MiniWoB++: browser and page, once"):
        theirs = gymnasium.make(TASK, disable_env_checker=True)
    started = set(psutil.Process().children(recursive=True)) - known
    env = gymnasium.make(
        "deskgym/Science-v0", task="kalgebra/plot-2d", screen_size=SIZE, observation=("screenshot", "elements"),
        max_steps=1_000_000, disable_env_checker=True,
    )  # fmt: skip
    with closing(theirs), closing(env):
        env.reset(seed=0)
        desk = kalgebra_desk(cast(DesktopEnv, env.unwrapped).screen)
        for k in range(part.few(10, 2)):
            part.tell(f"MiniWoB++: round {k + 1}")
            _their_steps(part, theirs, k)
            for number in range(BLOCK):
                kind = ("click", "type")[number % 2]
                with part.rows.timed(f"miniwob/ours/{kind}", f"deskgym, KAlgebra: {kind}, screenshot + elements"):
                    env.step(desk.action(kind, number).to_dict())
        part.rows.add("miniwob/memory", "MiniWoB++: memory (PSS) of one browser", _pss(started), "MiB")
    part.facts["miniwob"] = {"task": TASK, "steps": BLOCK}


def _their_steps(part: Part, theirs: Any, seed: int) -> None:
    with part.rows.timed("miniwob/reset", "MiniWoB++: reset"):
        observation, _ = theirs.reset(seed=seed)
    field = next(element for element in observation["dom_elements"] if element["tag"] == "input_text")
    start = time.perf_counter()
    for number in range(BLOCK):
        kind, action = ("click", "type")[number % 2], _action(theirs.unwrapped, field, number)
        with part.rows.timed(f"miniwob/theirs/{kind}", f"MiniWoB++, enter-text: {kind}, screenshot + DOM"):
            _, _, terminated, truncated, _ = theirs.step(action)
        if terminated or truncated:
            raise RuntimeError(f"MiniWoB++'s episode ended after {time.perf_counter() - start:.1f} s")


def _action(env: Any, field: Any, number: int) -> Any:
    if number % 2:
        return env.create_action("TYPE_TEXT", text="12*(3+4)")
    x, y = float(field["left"][0]) + 20 + 4 * number, float(field["top"][0]) + 8
    return env.create_action("CLICK_COORDS", coords=np.array([x, y], np.float32))


def _pss(processes: set[psutil.Process]) -> float:
    """Proportional memory of processes, in MiB."""
    total = 0
    for process in processes:
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / (1 << 20)
