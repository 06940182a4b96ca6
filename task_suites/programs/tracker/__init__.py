"""Trac: the tracker and wiki of a company's developers, in Chromium, on SQLite."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.toolkits import pages
from deskgym.task_suites.programs.tracker.functions import FUNCTIONS
from deskgym.task_suites.programs.tracker.program import open_
from deskgym.task_suites.programs.tracker.service import SERVICE

PROGRAM = Program(
    name="tracker",
    title="Trac",
    packages=("chromium",),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"tracker.open": open_},
    macros={"tracker.replace": pages.replace},
    functions=FUNCTIONS,
)
