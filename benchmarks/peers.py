"""Part ``peers``: the conventional step loop on the same desktop, and MiniWoB++ in a browser of its own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing

import numpy as np

from deskgym.benchmarks import miniwob_peer, ours
from deskgym.benchmarks.conventional import LEAN, VARIANTS, ConventionalLoop
from deskgym.benchmarks.desks import PROGRAMS, Desk
from deskgym.benchmarks.measure import Part
from deskgym.benchmarks.ours import Breakdown
from deskgym.benchmarks.rows import Rows
from deskgym.benchmarks.targets import loop_targets
from deskgym.envs.desktop_env import DesktopEnv

SIZE = (1920, 1080)


def measure(part: Part) -> None:
    """Each peer; one that is not installed is skipped, and the page says why."""
    part.facts["screen_size"] = list(SIZE)
    missing = miniwob_peer.missing()
    if missing:
        part.skipped["MiniWoB++"] = missing
    else:
        miniwob_peer.measure(part)
    own: Breakdown = {}
    theirs: Breakdown = {}
    measured = []
    for name in ["kalgebra"] if part.quick else list(PROGRAMS):
        program = PROGRAMS[name]
        if shutil.which(name) is None:
            part.skipped[program.title] = f"{name} is not installed: apt install {name}"
            continue
        with closing(program.make(SIZE)) as env:
            env.reset(seed=0)
            desk = program.find(env.screen)
            try:
                compare_loops(part.rows, (own, theirs), name, env, desk, part.few(15, 3), part.tell)
            except RuntimeError as error:
                part.skipped[f"the conventional loop on {program.title}"] = str(error)
                continue
        measured.append(name)
    part.facts |= {"programs": measured, "breakdown": summary(own), "conventional_breakdown": summary(theirs)}
    if measured:
        part.targets += loop_targets(part.rows, measured)


def compare_loops(
    rows: Rows,
    breakdowns: tuple[Breakdown, Breakdown],
    name: str,
    env: DesktopEnv,
    desk: Desk,
    steps: int,
    tell: Callable[[str], None],
) -> None:
    """Half of our steps, all of the conventional loop's, the other half of ours, on the same windows.

    Args:
        rows: get both loops' steps.
        breakdowns: get the phases of ours, and of the conventional one.
        name: key of ``PROGRAMS``.
        env: after its reset.
        desk: where to act.
        steps: of each variant of the conventional loop, and of each observation in each of our two halves.
        tell: is told what is done now.
    """
    title = PROGRAMS[name].title
    breakdown, conventional = breakdowns
    tell(f"{title}: our steps")
    ours.measure_steps(rows, breakdown, name, env, desk, steps)
    with ConventionalLoop(env.machine) as loop:
        for variant in (*VARIANTS, LEAN):
            tell(f"{title}: conventional, {variant.name}")
            ours.prepare(env, desk)
            for step in loop.run([action for _, action in desk.actions(steps)], variant):
                key = f"{name}/conventional/{variant.name}"
                rows.add(key, f"{title}: conventional step, {variant.name}", step["total"])
                phases = conventional.setdefault(f"{name}, {variant.name}", {})
                for phase, ms in step.items():
                    phases.setdefault(phase, []).append(ms)
    tell(f"{title}: our steps again")
    ours.measure_steps(rows, breakdown, name, env, desk, steps)


def summary(breakdown: Breakdown) -> dict[str, dict[str, dict[str, float]]]:
    """Median, 10th and 90th percentile of each phase, in ms."""
    return {
        what: {
            phase: {
                name: round(float(np.percentile(samples, percent)), 3)
                for name, percent in (("median", 50), ("p10", 10), ("p90", 90))
            }
            for phase, samples in phases.items()
        }
        for what, phases in breakdown.items()
    }
