"""django-oscar: a company's shop and its back office, in Chromium, on SQLite."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.shop.functions import FUNCTIONS
from deskgym.task_suites.programs.shop.program import open_
from deskgym.task_suites.programs.shop.service import SERVICE
from deskgym.task_suites.programs.toolkits import pages

PROGRAM = Program(
    name="shop",
    title="django-oscar",
    packages=("chromium",),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"shop.open": open_},
    macros={"shop.pick": pages.pick, "shop.replace": pages.replace},
    functions=FUNCTIONS,
)
