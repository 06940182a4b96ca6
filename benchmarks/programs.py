"""Part ``programs``: resets, steps and memory of tasks whose program is large, or a web service in a companion."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, cast

import gymnasium

from deskgym.benchmarks.measure import Part
from deskgym.benchmarks.memory import read_machine
from deskgym.envs.action.actions import Action
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import MachineError
from deskgym.envs.vector_env import DesktopVectorEnv

DATA, SCIENCE, BPM = "deskgym/DataEngineering-v0", "deskgym/Science-v0", "deskgym/BPM-v0"
SIZE = (1280, 720)
PREPARED = 120.0  # seconds within which the pool has the next desktop ready
RESTED = 3.0
"""Seconds for which it has been ready: an episode lasts longer. Chromium's tree has followed its pixels by then."""

PHASES = ("restore", "companions", "setup", "settle", "observe")
"""Those of a reset that are told: a new desktop, data rolled back, programs started, the screen at rest, observed."""

SLEPT = 13.0
"""Seconds that Spider2-V sleeps in every reset: 5 after the snapshot, 3 after the start, 5 after the setup."""

ENVIRONMENTS = 4
EPISODE_STEPS = 8


@dataclass(frozen=True)
class Case:
    """A program as one of its tasks shows it.

    Attributes:
        title: for tables.
        task: whose reset is measured, and on whose first screen the steps are.
        keys: pressed in turn, one a step; each changes what is seen.
        reset: limit in ms of a reset whose companion is up.
        step: limit in ms of a step.
        large: its tasks are measured in a vector too.
        env: the id of the environment of its suite.
        memory: limit in MiB.
    """

    title: str
    task: str
    keys: Sequence[str]
    reset: float
    step: float
    large: bool = False
    env: str = DATA
    memory: float = 3072


CASES = {
    "calc": Case("LibreOffice Calc", "calc/sort", ("down", "up"), 3000, 60),
    "terminal": Case("Terminal", "terminal/clean", ("a", "backspace"), 3000, 60),
    "dbt": Case("dbt in a terminal", "dbt/model", ("a", "backspace"), 3000, 60),
    "jupyterlab": Case("JupyterLab in Chromium", "jupyterlab/fix", ("down", "up"), 3000, 80),
    "superset": Case("Superset in Chromium", "superset/chart-table", ("tab",), 4000, 120, large=True),
    "airflow": Case("Airflow in Chromium", "airflow/pause", ("tab",), 4000, 120, large=True),
    "dagster": Case("Dagster in Chromium", "dagster/schedule", ("tab",), 4000, 120),
    "coqide": Case("CoqIDE", "coqide/lemma", ("a", "backspace"), 4000, 60, env=SCIENCE),
    "texstudio": Case("TeXstudio", "texstudio/rename", ("a", "backspace"), 4000, 60, env=SCIENCE),
    "pymol": Case("PyMOL", "pymol/represent", ("a", "backspace"), 4000, 60, env=SCIENCE),
    "kstars": Case("KStars", "kstars/find", ("left", "right"), 4000, 60, env=SCIENCE),
    "grass": Case("GRASS GIS", "grass/where", ("f10", "escape"), 4000, 60, env=SCIENCE),
    "labplot": Case("LabPlot", "labplot/scale", ("down", "up"), 4000, 60, env=SCIENCE),
    "stellarium": Case("Stellarium", "stellarium/find", ("left", "right"), 8000, 300, env=SCIENCE),
    "pspp": Case("PSPP", "pspp/weight", ("down", "up"), 4000, 60, env=SCIENCE),
    "helpdesk": Case("django-helpdesk in Chromium", "helpdesk/assign", ("tab",), 2500, 80, env=BPM, memory=700),
    "shop": Case("django-oscar in Chromium", "shop/status", ("tab",), 2500, 80, env=BPM, memory=700),
    "forum": Case("Spirit in Chromium", "forum/reply", ("tab",), 2500, 80, env=BPM, memory=700),
    "tracker": Case("Trac in Chromium", "tracker/comment", ("tab",), 2500, 80, env=BPM, memory=700),
    "website": Case("Wagtail in Chromium", "website/retitle", ("tab",), 2500, 80, env=BPM, memory=700),
    "erp": Case("Tryton in Chromium", "erp/cancel", ("tab",), 2500, 80, env=BPM, memory=700),
    "mail": Case("Roundcube in Chromium", "mail/flag", ("tab",), 2500, 80, env=BPM, memory=700),
    "across": Case("two applications in Chromium", "across/announce", ("tab",), 3000, 80, env=BPM),
    "three": Case("three applications in Chromium", "across/part", ("tab",), 3000, 80, env=BPM),
}
QUICK = ("terminal",)


def measure(part: Part) -> None:
    """One program after the other, then vectors of the large ones."""
    part.facts |= {"screen_size": list(SIZE), "slept": SLEPT, "environments": ENVIRONMENTS, "steps": EPISODE_STEPS}
    cases = {name: case for name, case in CASES.items() if name in QUICK or not part.quick}
    for name, case in cases.items():
        try:
            _measure_program(part, name, case)
        except MachineError as error:
            if error.kind != "not_installed":
                raise
            part.skipped[case.title] = str(error)
    for name, case in cases.items():
        if case.large and case.title not in part.skipped:
            part.tell(f"programs: episodes of {case.title}")
            _measure_episodes(part, name, case)


def _measure_program(part: Part, name: str, case: Case) -> None:
    part.tell(f"programs: {case.title}")
    with ExitStack() as stack:
        env = _make(stack, case, None)
        _reset(part, env, f"{name}/first", f"{case.title}: first reset of a process, its companion is started")
        _measure_steps(part, env, name, case)
        _measure_memory(part, env, name, case)
        for _ in range(part.few(7, 1)):
            _reset(part, env, f"{name}/reset", f"{case.title}: reset on the spot")
    with ExitStack() as stack:
        env = _make(stack, case, {"depth": 1, "reserve_mb": 0})
        env.reset(seed=0)
        for _ in range(part.few(7, 1)):
            _press(env, case, 0)  # an episode's first step starts the next one's preparation
            env.pool.wait(PREPARED)
            time.sleep(RESTED)
            _reset(part, env, f"{name}/pooled", f"{case.title}: reset with a pool, its desktop ready for {RESTED:g} s")
    part.limit(f"{case.title}: reset on the spot, companion up", case.reset, f"{name}/reset")
    part.limit(f"{case.title}: pooled reset", 50, f"{name}/pooled")
    part.limit(f"{case.title}: settled step, screenshot + elements", case.step, f"{name}/step")
    part.limit(f"{case.title}: memory of the desktop and its companions", case.memory, f"{name}/memory")
    part.facts.setdefault("slower", {})[name] = 1 + 1000 * SLEPT / part.rows[f"{name}/reset"].median


def _make(stack: ExitStack, case: Case, pool: Mapping[str, Any] | None) -> DesktopEnv:
    import deskgym  # noqa: F401 - registers the id

    env = gymnasium.make(
        case.env, task=case.task, screen_size=SIZE, observation=("screenshot", "elements"), max_steps=1_000_000,
        pool=pool, disable_env_checker=True,
    )  # fmt: skip
    stack.callback(env.close)
    return cast(DesktopEnv, env.unwrapped)


def _reset(part: Part, env: DesktopEnv, key: str, what: str) -> None:
    with part.rows.timed(key, what):
        _, info = env.reset()
    if "pooled" not in key:
        for phase, ms in (info["prepared"] | info["timing"]).items():
            if phase in PHASES:
                part.rows.add(f"{key}/{phase}", f"{what}: {phase}", ms)


def _measure_steps(part: Part, env: DesktopEnv, name: str, case: Case) -> None:
    for k in range(part.few(40, 4)):
        with part.rows.timed(f"{name}/step", f"{case.title}: settled step, screenshot + elements"):
            _press(env, case, k)
    part.facts.setdefault("elements", {})[name] = len(env.elements)


def _press(env: DesktopEnv, case: Case, number: int) -> None:
    info = env.step(Action("press", keys=(case.keys[number % len(case.keys)],)).to_dict())[4]
    if trouble := info.get("fault") or info.get("invalid_action"):
        raise RuntimeError(f"a step of the benchmark went wrong: {trouble}")


def _measure_memory(part: Part, env: DesktopEnv, name: str, case: Case) -> None:
    machines = [env.machine, *(companion.machine for companion in env.machine.companions.values())]
    used = [sum(process["pss"] for process in read_machine(machine)) for machine in machines]
    what = f"{case.title}: processes' share of memory (PSS)"
    part.rows.add(f"{name}/memory", f"{what}, desktop and companions", sum(used), "MiB")
    if len(used) > 1:
        part.rows.add(f"{name}/memory/companions", f"{what}, companions alone", sum(used[1:]), "MiB")


def _measure_episodes(part: Part, name: str, case: Case) -> None:
    """Episodes of ``EPISODE_STEPS`` keys and DONE, evaluated, on environments that each have a companion."""
    vector = cast(
        DesktopVectorEnv,
        gymnasium.make_vec(
            case.env, num_envs=ENVIRONMENTS, task=case.task, screen_size=SIZE, observation=("screenshot", "elements"),
            pool={"depth": 1, "reserve_mb": 0}, autoreset_mode="SameStep", copy=False,
        ),
    )  # fmt: skip
    wanted = part.few(20, 2)
    press, done = (Action("press", keys=(case.keys[0],)).to_dict(), Action("done").to_dict())
    try:
        vector.reset(seed=0)
        steps, over, start = [0] * ENVIRONMENTS, 0, time.perf_counter()
        vector.send([press] * ENVIRONMENTS)
        while over < wanted:
            _, _, terminated, truncated, infos = vector.recv(1)
            ended = terminated | truncated
            over += int(ended.sum())
            ready = infos["env_id"].tolist()
            for k, end in zip(ready, ended.tolist(), strict=True):
                steps[k] = 0 if end else steps[k] + 1
            vector.send([done if steps[k] >= EPISODE_STEPS else press for k in ready], ready)
        minutes = (time.perf_counter() - start) / 60
    finally:
        vector.close()
    key = f"{name}/episodes"
    part.rows.add(key, f"{case.title}: episodes with their resets, {ENVIRONMENTS} environments", over / minutes, "/min")
    part.limit(f"{case.title}: episodes a minute, {ENVIRONMENTS} environments", 20, key, at_least=True)
