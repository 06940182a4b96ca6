"""Tryton: the sales, purchases, parties and products of a company, in Chromium, on SQLite."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.erp.functions import FUNCTIONS
from deskgym.task_suites.programs.erp.macros import MACROS
from deskgym.task_suites.programs.erp.program import open_
from deskgym.task_suites.programs.erp.service import SERVICE

PROGRAM = Program(
    name="erp",
    title="Tryton",
    packages=("chromium",),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"erp.open": open_},
    macros=MACROS,
    functions=FUNCTIONS,
)
