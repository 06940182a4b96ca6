"""Measures this library: machines, steps, code actions, accessibility, capture, settling."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from deskgym.benchmarks.desks import PROGRAMS, Desk, Program
from deskgym.benchmarks.rows import Rows
from deskgym.envs.action.actions import Action
from deskgym.envs.action.form import ComputerActions
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.displays.base import ElementsRequest, SettlePolicy
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.observation.elements import Elements
from deskgym.envs.observation.observer import DesktopObserver

VIEWS = {
    "screenshot": ("screenshot",),
    "screenshot + elements": ("screenshot", "elements"),
    "screenshot + a11y": ("screenshot", "a11y"),
}
"""The observations that are measured."""

FEWEST_ELEMENTS = 10  # that either program shows

_FRESH_PROCESS = """
import json, time
start = time.perf_counter()
import gymnasium, deskgym
imported = time.perf_counter()
env = gymnasium.make("deskgym/Science-v0", task="kalgebra/plot-2d")
made = time.perf_counter()
env.reset(seed=0)
reset = time.perf_counter()
env.close()
print(json.dumps([(imported - start) * 1000, (reset - made) * 1000]))
"""

Breakdown = dict[str, dict[str, list[float]]]
"""Ms of each phase, by program and observation, and by phase."""


def measure_start(rows: Rows, screen_size: tuple[int, int]) -> None:
    """Start and stop a sandbox."""
    machine = create_machine("sandbox", MachineConfig(screen_size=screen_size))
    start = time.perf_counter()
    machine.start()
    total = (time.perf_counter() - start) * 1000
    marks: dict[str, float] = getattr(machine.display, "start_timing")  # noqa: B009 - only an X11Display has it
    boot = total - marks["desktop"]  # until the guest was asked for a desktop
    rows.add("start/guest", "sandbox start: until its guest answers", boot)
    rows.add("start/x", "sandbox start: until X answers", boot + marks["x"])
    rows.add("start/desktop", "sandbox start: until the desktop is ready", total)
    with rows.timed("stop", "sandbox stop"):
        machine.stop()


def measure_fresh_process(rows: Rows) -> None:
    """The first reset of a process, which also starts the supervisor and imports what is imported late."""
    done = subprocess.run([sys.executable, "-c", _FRESH_PROCESS], capture_output=True, text=True, check=True)
    imported, reset = json.loads(done.stdout)
    rows.add("import", "import gymnasium, deskgym", imported)
    rows.add("reset/fresh_process", "reset: the first one of a new process", reset)


def act(env: DesktopEnv, action: Action | str) -> tuple[dict[str, Any], dict[str, float], float]:
    """One step: its observation, its timing and what it took in all, in ms."""
    form = action.to_dict() if isinstance(action, Action) else action
    start = time.perf_counter()
    observation, _, _, _, info = env.step(form)
    total = (time.perf_counter() - start) * 1000
    if "fault" in info:
        raise RuntimeError(f"the machine broke during the benchmark: {info['fault']}")
    return observation, info["timing"], total


def look_at(env: DesktopEnv, parts: Sequence[str]) -> None:
    """Observe these parts from the next step on: of one env, so that all are measured on the very same windows."""
    before, env.observer = env.observer, DesktopObserver(parts, env.screen_size, env.observer.max_elements)
    env.observer.instruction, env.observer.elements = before.instruction, before.elements
    env.observer.reads_elements |= env.discrete is not None


def prepare(env: DesktopEnv, desk: Desk) -> None:
    """Bring the program into the state that each block of steps begins with.

    Raises:
        RuntimeError: the program is not there any more: what would be measured is an empty desktop.
    """
    if len(env.screen.elements()) < FEWEST_ELEMENTS:
        raise RuntimeError("the program that is driven shows no accessible elements any more: it crashed or hangs")
    env.actions = ComputerActions(env.screen_size)
    look_at(env, VIEWS["screenshot"])
    for action in desk.prepare:
        act(env, action)


def measure_steps(rows: Rows, breakdown: Breakdown, name: str, env: DesktopEnv, desk: Desk, count: int) -> None:
    """Clicks, keys, typing and a menu, with each observation."""
    title = PROGRAMS[name].title
    for view, parts in VIEWS.items():
        prepare(env, desk)
        look_at(env, parts)
        phases = breakdown.setdefault(f"{name}, {view}", defaultdict(list))
        for kind, action in desk.actions(count):
            _, timing, total = act(env, action)
            rows.add(f"{name}/{kind}/{view}", f"{title}: settled {kind} step, {view}", total)
            rows.add(f"{name}/step/{view}", f"{title}: settled step (click, key, type), {view}", total)
            guest = {phase: timing.get(phase, 0.0) for phase in ("input", "settle", "elements", "frame")}
            for phase, ms in {**guest, "rest": total - sum(guest.values()), "total": total}.items():
                phases[phase].append(ms)
    for view in ("screenshot", "screenshot + a11y"):
        look_at(env, VIEWS[view])
        for _ in range(max(2, count // 6)):
            rows.add(
                f"{name}/menu open/{view}",
                f"{title}: click that opens a menu, {view}",
                act(env, Action("click", *desk.menu))[2],
            )
            rows.add(
                f"{name}/menu close/{view}",
                f"{title}: Escape that closes it, {view}",
                act(env, Action("press", keys=("esc",)))[2],
            )


def measure_reading(rows: Rows, name: str, env: DesktopEnv, count: int) -> dict[str, Any]:
    """The accessible elements of a program that stands still, all again and unchanged, and a frame."""
    title, display = PROGRAMS[name].title, env.machine.display
    display.perform([], SettlePolicy(quiet_ms=300, cap_ms=3000), elements=ElementsRequest())
    for _ in range(count):
        with rows.timed(f"{name}/a11y fresh", f"{title}: accessibility, all read again"):
            found = display.perform([], None, elements=ElementsRequest(fresh=True)).elements
    for _ in range(count):
        with rows.timed(f"{name}/a11y unchanged", f"{title}: accessibility, nothing changed"):
            display.perform([], None, elements=ElementsRequest())
    out = display.capture()
    for _ in range(count):
        with rows.timed("frame/new", "frame as a new RGB array"):
            display.capture()
        with rows.timed("frame/reused", "frame into an array that is there"):
            display.capture(out)
    assert found is not None  # it was asked for
    return {"elements": len(Elements.from_reading(found)), "complete": found.complete, "cut": found.cut}


def measure_first_reading(rows: Rows, name: str, screen_size: tuple[int, int]) -> None:
    """The first read of a program that was just started, by a guest that has never read anything of it."""
    program: Program = PROGRAMS[name]
    with create_machine("sandbox", MachineConfig(screen_size=screen_size)) as machine:
        program.launch(machine)
        machine.display.perform([], SettlePolicy(quiet_ms=400, cap_ms=5000))
        start = time.perf_counter()
        report = machine.display.perform([], None, elements=ElementsRequest(deadline=5.0))
        taken = (time.perf_counter() - start) * 1000
    assert report.elements is not None  # they were asked for
    count = len(Elements.from_reading(report.elements))
    if count < FEWEST_ELEMENTS or not report.elements.complete:
        raise RuntimeError(f"the first read of {name} gave {count} elements: {report.elements.cut}")
    rows.add(f"{name}/a11y first", f"{program.title}: accessibility, first read after the start", taken)
