"""Spirit: a company's forum, in Chromium, on SQLite."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.forum.functions import FUNCTIONS
from deskgym.task_suites.programs.forum.program import open_
from deskgym.task_suites.programs.forum.service import SERVICE

PROGRAM = Program(
    name="forum",
    title="Spirit",
    packages=("chromium",),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"forum.open": open_},
    functions=FUNCTIONS,
)
