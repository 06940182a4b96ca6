"""PSPP: statistics; data, output and syntax are judged by what PSPP says of them in the clean machine."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.pspp.checks import CHECKS
from deskgym.task_suites.programs.pspp.functions import FUNCTIONS
from deskgym.task_suites.programs.pspp.macros import MACROS
from deskgym.task_suites.programs.pspp.program import open_

PROGRAM = Program(
    name="pspp",
    title="PSPP",
    packages=("pspp",),
    needs=Needs(memory_mb=1024),
    hooks={"pspp.open": open_},
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
)
