"""Geany: a text editor whose text accessibility shows."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.geany.macros import MACROS
from deskgym.task_suites.programs.geany.program import open_

PROGRAM = Program(
    name="geany",
    title="Geany",
    packages=("geany",),
    needs=Needs(memory_mb=1024),
    hooks={"geany.open": open_},
    macros=MACROS,
)
