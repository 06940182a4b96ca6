"""Stellarium: the sky of a place and a time as one would see it; told by the process that was launched, over HTTP."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.stellarium.checks import CHECKS
from deskgym.task_suites.programs.stellarium.macros import MACROS
from deskgym.task_suites.programs.stellarium.program import open_
from deskgym.task_suites.programs.stellarium.state import state

PROGRAM = Program(
    name="stellarium",
    title="Stellarium",
    packages=("stellarium",),
    needs=Needs(memory_mb=3072, glx=True, motion=1, element_deadline=0.1),
    hooks={"stellarium.open": open_},
    checks=CHECKS,
    readers={"stellarium.state": state},
    macros=MACROS,
)
