"""dbt over DuckDB and PostgreSQL, in the terminal."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.dbt.checks import CHECKS
from deskgym.task_suites.programs.dbt.environment import ENVIRONMENT
from deskgym.task_suites.programs.dbt.program import project
from deskgym.task_suites.programs.postgresql.server import CLUSTER
from deskgym.task_suites.programs.toolkits.commands import on_path

PROGRAM = Program(
    name="dbt",
    title="dbt",
    packages=("postgresql",),
    needs=Needs(memory_mb=1536, layers=(*on_path(ENVIRONMENT, "dbt"), CLUSTER)),
    hooks={"dbt.project": project},
    checks=CHECKS,
)
