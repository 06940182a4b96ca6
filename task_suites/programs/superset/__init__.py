"""Apache Superset: charts, dashboards and SQL over databases, in Chromium."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.superset.checks import CHECKS
from deskgym.task_suites.programs.superset.functions import FUNCTIONS
from deskgym.task_suites.programs.superset.macros import MACROS
from deskgym.task_suites.programs.superset.program import open_
from deskgym.task_suites.programs.superset.service import SERVICE

PROGRAM = Program(
    name="superset",
    title="Superset",
    packages=("postgresql", "chromium"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"superset.open": open_},
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
)
