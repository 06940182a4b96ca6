"""pgAdmin: a SQL worksheet over the PostgreSQL warehouse, in Chromium."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.pgadmin.macros import MACROS
from deskgym.task_suites.programs.pgadmin.program import load, open_
from deskgym.task_suites.programs.pgadmin.service import SERVICE

PROGRAM = Program(
    name="pgadmin",
    title="pgAdmin",
    packages=("postgresql", "chromium"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"pgadmin.load": load, "pgadmin.open": open_},
    macros=MACROS,
)
