"""An account that speaks Snowflake's protocol (fakesnow), used by Snowflake's own command line and connector."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.fakesnow.checks import CHECKS
from deskgym.task_suites.programs.fakesnow.client import COMMANDS, ENVIRONMENT
from deskgym.task_suites.programs.fakesnow.program import load
from deskgym.task_suites.programs.fakesnow.service import SERVICE

PROGRAM = Program(
    name="fakesnow",
    title="Snowflake stand-in (fakesnow)",
    needs=Needs(memory_mb=1024, layers=(ENVIRONMENT, COMMANDS), services=(SERVICE,)),
    hooks={"fakesnow.load": load},
    checks=CHECKS,
)
