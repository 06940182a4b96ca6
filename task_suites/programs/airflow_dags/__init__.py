"""Airflow with DAG files that are edited: an editor and Chromium beside each other."""

from deskgym.envs.needs import Needs
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.airflow.service import ENVIRONMENT
from deskgym.task_suites.programs.airflow_dags.checks import CHECKS
from deskgym.task_suites.programs.airflow_dags.functions import FUNCTIONS
from deskgym.task_suites.programs.airflow_dags.program import MACROS, open_, warehouse
from deskgym.task_suites.programs.airflow_dags.service import EMPTY, SERVICE_OF_FILES
from deskgym.task_suites.programs.chromium import PROGRAM as CHROMIUM
from deskgym.task_suites.programs.postgresql.server import CLUSTER

PROGRAM = Program(
    name="airflow_dags",
    title="Apache Airflow with DAG files",
    packages=("postgresql", "chromium", "mousepad"),
    needs=Needs.merged(CHROMIUM.needs, Needs(services=(SERVICE_OF_FILES,), layers=(ENVIRONMENT, EMPTY, CLUSTER))),
    hooks={"airflow_dags.open": open_, "airflow_dags.warehouse": warehouse},
    checks=CHECKS,
    macros=MACROS,
    functions=FUNCTIONS,
)
