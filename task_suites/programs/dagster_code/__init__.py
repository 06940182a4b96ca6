"""Dagster in Chromium, with a code location that the agent writes in the terminal."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.dagster.checks import state
from deskgym.task_suites.programs.dagster.launchpad import materialize
from deskgym.task_suites.programs.dagster.macros import reload, show
from deskgym.task_suites.programs.dagster_code.program import open_
from deskgym.task_suites.programs.dagster_code.service import SERVICE_OF_CODE

PROGRAM = Program(
    name="dagster_code",
    title="Dagster with code that is edited",
    packages=("postgresql", "chromium"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE_OF_CODE,))),
    hooks={"dagster_code.open": open_},
    checks={"dagster_code.state": state},
    macros={"dagster_code.show": show, "dagster_code.reload": reload, "dagster_code.materialize": materialize},
)
"""Its names are its own: those of ``dagster`` would bring that program's service too, which has the same port."""
