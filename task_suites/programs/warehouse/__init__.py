"""A PostgreSQL warehouse beside the desktop, which the agent reaches with a role of its own (psql, dbt)."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.warehouse.program import load
from deskgym.task_suites.programs.warehouse.service import SERVICE

PROGRAM = Program(
    name="warehouse",
    title="PostgreSQL warehouse",
    packages=("postgresql",),
    needs=Needs(services=(SERVICE,)),
    hooks={"warehouse.load": load},
)
