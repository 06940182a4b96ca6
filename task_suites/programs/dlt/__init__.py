"""dlt, which loads data from sources into databases, in the terminal."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.dlt.checks import CHECKS
from deskgym.task_suites.programs.dlt.environment import COMMANDS, ENVIRONMENT
from deskgym.task_suites.programs.dlt.program import project

PROGRAM = Program(
    name="dlt",
    title="dlt",
    needs=Needs(memory_mb=1024, layers=(ENVIRONMENT, COMMANDS)),
    hooks={"dlt.project": project},
    checks=CHECKS,
)
