"""Wagtail: a company's website and its back office, in Chromium, on SQLite."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.toolkits import pages
from deskgym.task_suites.programs.website.functions import FUNCTIONS
from deskgym.task_suites.programs.website.program import open_
from deskgym.task_suites.programs.website.service import SERVICE

PROGRAM = Program(
    name="website",
    title="Wagtail",
    packages=("chromium",),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"website.open": open_},
    macros={"website.replace": pages.replace},
    functions=FUNCTIONS,
)
