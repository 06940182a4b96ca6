"""Part ``startup``: from nothing to a desktop, from a desktop to a program."""

from __future__ import annotations

from deskgym.benchmarks import ours
from deskgym.benchmarks.desks import PROGRAMS, Program
from deskgym.benchmarks.measure import Part
from deskgym.benchmarks.rows import Rows
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.machines import create_machine
from deskgym.envs.machines.base import MachineConfig

SIZE = (1920, 1080)


def measure(part: Part) -> None:
    """Start machines, and KAlgebra on them."""
    part.facts["screen_size"] = list(SIZE)
    part.tell("startup: machines")
    ours.measure_start(Rows(), SIZE)  # the first one makes what all of a process share
    for _ in range(part.few(15, 2)):
        ours.measure_start(part.rows, SIZE)
    part.tell("startup: a program")
    for _ in range(part.few(7, 1)):
        _start_program(part.rows, PROGRAMS["kalgebra"])
    part.tell("startup: a new process")
    for _ in range(part.few(3, 1)):
        ours.measure_fresh_process(part.rows)
    part.limit("sandbox started, X answering", 300, "start/x")


def _start_program(rows: Rows, program: Program) -> None:
    with create_machine("sandbox", MachineConfig(screen_size=SIZE)) as machine:
        with rows.timed("program/window", f"{program.title} on a running desktop: until its window is there"):
            program.launch(machine)
        with rows.timed("program/still", f"{program.title}: from its window until it has painted and stands still"):
            machine.display.perform([], SettlePolicy(quiet_ms=250, cap_ms=5000))
