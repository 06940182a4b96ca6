"""Apache Airflow: pipelines of a company, in Chromium, on PostgreSQL."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.airflow.functions import FUNCTIONS
from deskgym.task_suites.programs.airflow.macros import MACROS
from deskgym.task_suites.programs.airflow.program import fail, open_
from deskgym.task_suites.programs.airflow.service import SERVICE
from deskgym.task_suites.programs.airflow.state import account, state
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM

PROGRAM = Program(
    name="airflow",
    title="Apache Airflow",
    packages=("postgresql", "chromium"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE,))),
    hooks={"airflow.open": open_, "airflow.fail": fail},
    checks={"airflow.state": state, "airflow.account": account},
    functions=FUNCTIONS,
    macros=MACROS,
)
