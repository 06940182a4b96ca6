"""django-helpdesk: tickets of a company, in Chromium, on PostgreSQL."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.helpdesk.functions import FUNCTIONS
from deskgym.task_suites.programs.helpdesk.program import open_
from deskgym.task_suites.programs.helpdesk.service import SERVICE

PROGRAM = Program(
    name="helpdesk",
    title="django-helpdesk",
    packages=("postgresql", "chromium"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"helpdesk.open": open_},
    functions=FUNCTIONS,
)
