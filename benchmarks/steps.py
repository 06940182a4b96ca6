"""Part ``step``: one step by kind of action and choice of observation, reading accessibility, drawing marks."""

from __future__ import annotations

import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import gymnasium
import numpy as np
import psutil

from deskgym.benchmarks import ours, set_of_mark
from deskgym.benchmarks.desks import kalgebra_desk
from deskgym.benchmarks.measure import Part, cpu_by_name, family, shares
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv

SIZE = (1920, 1080)
FORMS = {"click": "computer", "type": "computer", "code": "code", "discrete": "discrete"}
"""The kinds of action, and what ``gym.make(..., action=...)`` has to be for each."""

WORDS = {
    "click": "a click into the input line",
    "type": "a short expression typed into it",
    "code": "pyautogui.click into it",
    "discrete": "the verb click on it",
}
ROUNDS = 8
BLOCK = 6  # steps of one kind and one observation before the next one's turn


Phases = dict[str, dict[str, list[float]]]
"""Ms of each phase of each step, by kind and observation."""


@dataclass
class _Driver:
    """One kind of action on a desktop of its own, with the processes that take part in a step of it."""

    env: DesktopEnv
    actions: Iterator[Any]
    processes: list[psutil.Process]

    def step(self) -> tuple[dict[str, float], float]:
        action = next(self.actions)
        start = time.perf_counter()
        info = self.env.step(action)[4]
        total = (time.perf_counter() - start) * 1000
        if trouble := info.get("fault") or info.get("invalid_action"):
            raise RuntimeError(f"a step of the benchmark went wrong: {trouble}")
        return info["timing"], total


def measure(part: Part) -> None:
    """Steps in turn on four equal desktops, then the reading of one."""
    part.facts["screen_size"] = list(SIZE)
    with ExitStack() as stack:
        part.tell("step: desktops")
        drivers = {kind: _driver(kind, stack) for kind in FORMS}
        phases: Phases = defaultdict(lambda: defaultdict(list))
        processor: dict[str, Counter[str]] = defaultdict(Counter)
        for k in range(part.few(ROUNDS, 1)):
            part.tell(f"step: round {k + 1}")
            for view, parts in ours.VIEWS.items():
                for kind, driver in drivers.items():
                    ours.look_at(driver.env, parts)
                    processor[f"{kind}, {view}"].update(_block(part, phases, driver, kind, view))
        part.facts["breakdown"] = {
            name: {phase: round(float(np.median(values)), 3) for phase, values in found.items()}
            for name, found in phases.items()
        }
        steps = part.few(ROUNDS, 1) * BLOCK
        part.facts["processor"] = {
            name: {process: round(ms / steps, 2) for process, ms in used.most_common() if ms}
            for name, used in processor.items()
        }
        part.tell("step: accessibility")
        env = drivers["click"].env
        ours.prepare(env, kalgebra_desk(env.screen))
        part.facts["elements"] = ours.measure_reading(part.rows, "kalgebra", env, part.few(30, 5))
    for _ in range(part.few(5, 1)):
        ours.measure_first_reading(part.rows, "kalgebra", SIZE)
    part.tell("step: marks")
    _measure_marks(part)
    for kind in ("click", "type"):
        part.limit(f"settled {kind} step with screenshot", 40, f"step/{kind}/screenshot")
    part.limit("accessibility of KAlgebra, first read", 80, "kalgebra/a11y first")
    part.limit("accessibility of KAlgebra, nothing changed", 2, "kalgebra/a11y unchanged")


def _block(part: Part, phases: Phases, driver: _Driver, kind: str, view: str) -> Counter[str]:
    """A few steps in a row, and the ms of processor time that they took, by process.

    The first one does not count, since it reads what the last observation did not need.
    """
    driver.step()
    before = cpu_by_name(driver.processes)
    for _ in range(BLOCK):
        timing, total = driver.step()
        part.rows.add(f"step/{kind}/{view}", f"settled step: {WORDS[kind]}, {view}", total)
        for phase, ms in shares(timing, total).items():
            phases[f"{kind}, {view}"][phase].append(ms)
    after = cpu_by_name(driver.processes)
    return Counter({name: after[name] - before[name] for name in after})


def _driver(kind: str, stack: ExitStack) -> _Driver:
    import deskgym  # noqa: F401 - registers the id

    others = family()[1:]
    env = gymnasium.make(
        "deskgym/Science-v0", task="kalgebra/plot-2d", screen_size=SIZE, observation=("screenshot",),
        action=FORMS[kind], max_steps=1_000_000, disable_env_checker=True,
    )  # fmt: skip
    stack.callback(env.close)
    env.reset(seed=0)
    desktop = cast(DesktopEnv, env.unwrapped)
    desk = kalgebra_desk(desktop.screen)
    desktop.machine.display.perform([event for action in desk.prepare for event in action.events()], desktop.settle)
    makers: dict[str, Callable[[int], Any]] = {
        "click": lambda k: desk.action("click", k).to_dict(),
        "type": lambda k: desk.action("type", k).to_dict(),
        "code": lambda k: f"import pyautogui; pyautogui.click{desk.spots[k % len(desk.spots)]}",
        "discrete": lambda k: _discrete_click(desktop),
    }
    own = [process for process in family() if process not in others]
    return _Driver(desktop, map(makers[kind], itertools.count()), own)


def _discrete_click(env: DesktopEnv) -> Any:
    """The input line, as the last observation shows it."""
    assert env.discrete is not None
    entry = next(element for element in env.elements if element.role == "text" and "editable" in element.states)
    return env.discrete.encode([Action("click", *entry.center)])


def _measure_marks(part: Part) -> None:
    """``SetOfMark`` on 300 elements, and the published way to draw them."""
    for name, (clock, _) in set_of_mark.measure(part.few(50, 5)).items():
        for ms in clock:
            part.rows.add(f"marks/{name}", f"300 marks at 1920×1080: {name}", ms)
