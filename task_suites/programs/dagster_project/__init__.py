"""A Dagster project that the agent edits and runs in the terminal."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.dagster_project.checks import CHECKS
from deskgym.task_suites.programs.dagster_project.commands import COMMANDS
from deskgym.task_suites.programs.dagster_project.functions import FUNCTIONS
from deskgym.task_suites.programs.dagster_project.program import project

PROGRAM = Program(
    name="dagster_project",
    title="Dagster project",
    needs=Needs(memory_mb=1536, layers=(COMMANDS,)),
    hooks={"dagster_project.open": project},
    checks=CHECKS,
    functions=FUNCTIONS,
)
