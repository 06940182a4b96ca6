"""Dagster: jobs, assets, schedules and sensors of a company, in Chromium, on PostgreSQL."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.dagster.checks import CHECKS
from deskgym.task_suites.programs.dagster.functions import FUNCTIONS
from deskgym.task_suites.programs.dagster.macros import MACROS
from deskgym.task_suites.programs.dagster.pages import MACROS as PAGES
from deskgym.task_suites.programs.dagster.program import open_, start
from deskgym.task_suites.programs.dagster.service import SERVICE

PROGRAM = Program(
    name="dagster",
    title="Dagster",
    packages=("postgresql", "chromium"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"dagster.open": open_, "dagster.start": start},
    checks=CHECKS,
    functions=FUNCTIONS,
    macros={**MACROS, **PAGES},
)
