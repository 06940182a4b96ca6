"""Views of PostgreSQL databases, made again over other data: for tasks in any program that makes them."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.postgresql.server import CLUSTER
from deskgym.task_suites.programs.views.checks import CHECKS

PROGRAM = Program(
    name="views", title="PostgreSQL", packages=("postgresql",), needs=Needs(layers=(CLUSTER,)), checks=CHECKS
)
