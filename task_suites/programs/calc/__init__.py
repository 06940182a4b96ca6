"""LibreOffice Calc: spreadsheets."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.calc.functions import FUNCTIONS
from deskgym.task_suites.programs.calc.macros import MACROS
from deskgym.task_suites.programs.calc.program import open_

PROGRAM = Program(
    name="calc",
    title="LibreOffice Calc",
    packages=("libreoffice-calc", "libreoffice-gtk3"),
    needs=Needs(memory_mb=2048, elements=1024, element_deadline=3.0),
    hooks={"calc.open": open_},
    macros=MACROS,
    functions=FUNCTIONS,
)
