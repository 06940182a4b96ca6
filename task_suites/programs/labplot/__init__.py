"""LabPlot: plots and analysis of data; its projects are judged as they were saved."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.labplot.checks import CHECKS
from deskgym.task_suites.programs.labplot.functions import FUNCTIONS
from deskgym.task_suites.programs.labplot.macros import MACROS
from deskgym.task_suites.programs.labplot.program import open_

PROGRAM = Program(
    name="labplot",
    title="LabPlot",
    packages=("labplot",),
    needs=Needs(memory_mb=1536),
    hooks={"labplot.open": open_},
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
)
