"""Part ``peers``: the conventional step loop on the same desktop, and MiniWoB++ in a browser of its own."""

from __future__ import annotations

import shutil
from contextlib import closing

from deskgym.benchmarks import miniwob_peer
from deskgym.benchmarks.desks import PROGRAMS
from deskgym.benchmarks.measure import Part
from deskgym.benchmarks.ours import Breakdown
from deskgym.benchmarks.step_loop import compare_loops, summary
from deskgym.benchmarks.targets import loop_targets

SIZE = (1920, 1080)


def measure(part: Part) -> None:
    """Each peer; one that is not installed is skipped, and the page says why."""
    part.facts["screen_size"] = list(SIZE)
    missing = miniwob_peer.missing()
    if missing:
        part.skipped["MiniWoB++"] = missing
    else:
        miniwob_peer.measure(part)
    ours: Breakdown = {}
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
                compare_loops(part.rows, (ours, theirs), name, env, desk, part.few(15, 3), part.tell)
            except RuntimeError as error:
                part.skipped[f"the conventional loop on {program.title}"] = str(error)
                continue
        measured.append(name)
    part.facts |= {"programs": measured, "breakdown": summary(ours), "conventional_breakdown": summary(theirs)}
    if measured:
        part.targets += loop_targets(part.rows, measured)
