"""Airflow whose DAG files the agent edits, with a PostgreSQL warehouse that DAGs and the agent reach.

These files are judged in a second Airflow without data.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Postgresql, SharedFolder
from deskgym.task_suites.programs.airflow.service import (
    COMPANY,
    DAGS,
    ENVIRONMENT,
    READER,
    RUN_SCHEDULER,
    RUNNER,
    SCHEDULER,
    SERVICE,
    SITE,
    WORK,
)  # fmt: skip
from deskgym.task_suites.programs.postgresql.server import HOME, SERVER, SOCKET, START, STOP
from deskgym.task_suites.programs.warehouse.service import DATABASE, PASSWORD, ROLE
from deskgym.task_suites.programs.warehouse.service import PORT as WAREHOUSE_PORT
from deskgym.task_suites.programs.warehouse.service import SERVICE as WAREHOUSE_SERVICE

DESKTOP_DAGS = "/home/user/dags"
JUDGE = "/opt/deskgym/airflow-judge"
_HOW = {
    "SCHEDULER__STANDALONE_DAG_PROCESSOR": "False", "SCHEDULER__DAG_DIR_LIST_INTERVAL": "3",
    "SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "3", "SCHEDULER__PRINT_STATS_INTERVAL": "0",
}  # fmt: skip
READING = tuple((f"AIRFLOW__{name}", value) for name, value in _HOW.items())
"""The scheduler reads DAG files by itself, every few seconds."""

NO_SECRET = ("AIRFLOW__WEBSERVER__SECRET_KEY", "unused")
"""In place of the web application's secret, with which the code in a DAG file could sign a session."""

_LISTED = f"$(cd {DAGS} && find . -type f | sort | xargs -d '\\n' cksum)"
_FILES = f"{SITE}/dags.cksum"
_AWAIT = f'until {WORK} || [ "{_LISTED}" != "$(cat {_FILES})" ]; do sleep 0.5; done; exec {RUN_SCHEDULER}'

_SCHEDULER = replace(
    SCHEDULER,
    # paused, since reading the files would start a run of each
    command=("bash", "-c", f"psql -qd airflow -c 'UPDATE dag SET is_paused = true'; {_AWAIT}"),
    environment=(*SCHEDULER.environment, NO_SECRET, *READING),
)
"""It starts once a run waits or a file is another one."""

_PSQL = "setpriv --reuid=postgres --regid=postgres --clear-groups psql -q -v ON_ERROR_STOP=1"
WAREHOUSE = LayerRecipe(
    "airflow-warehouse",
    f"""
    sed -i "1i host {DATABASE} {ROLE} 127.0.0.1/32 scram-sha-256" {HOME}/data/pg_hba.conf
    {START} >/dev/null
    {_PSQL} -d postgres -c "CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'" -c "CREATE DATABASE {DATABASE}"
    {_PSQL} -d {DATABASE} -c "CREATE SCHEMA analytics AUTHORIZATION {ROLE}"
    {STOP} >/dev/null
    echo "{_LISTED}" > {_FILES}
    """,
    bases=(COMPANY,),
    environment=(("PGHOST", SOCKET),),
    user="guest",
)
"""A database as the warehouse's beside Airflow's own; only the former takes connections by TCP."""


_INSTEAD = {SCHEDULER: _SCHEDULER, SERVER: WAREHOUSE_SERVICE.daemons[0]}


def _of_files(daemon: Daemon) -> Daemon:
    return _INSTEAD.get(daemon, daemon)


SERVICE_OF_FILES = replace(
    SERVICE,
    daemons=tuple(map(_of_files, SERVICE.daemons)),
    ports=(*SERVICE.ports, WAREHOUSE_PORT),
    data=(*SERVICE.data, Postgresql(DATABASE, socket=SOCKET, reader=READER)),
    layers=(WAREHOUSE,),
    shared=(SharedFolder(DAGS, DESKTOP_DAGS, size_mb=16),),
    agent_users=(RUNNER,),
)
"""Its scheduler runs what the agent writes, as a user that can change the metadata: no check may believe these."""

EMPTY = LayerRecipe(
    "airflow-judge",
    f"""
    chmod 755 {JUDGE}
    touch {JUDGE}/airflow.cfg
    airflow db migrate >/dev/null
    chmod -R a+rX {JUDGE}
    """,
    files=tuple((f"{JUDGE}/{path.name}", path) for path in sorted((Path(__file__).parent / "site").glob("*.py"))),
    bases=(ENVIRONMENT,),
    environment=(
        ("AIRFLOW_HOME", JUDGE), ("AIRFLOW__CORE__LOAD_EXAMPLES", "False"), ("PYTHONWARNINGS", "ignore"),
        ("AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS", "False"), ("PATH", f"{ENVIRONMENT.inside}/bin:/usr/bin:/bin"),
    ),
    user="guest",
    memory_mb=2048,
    timeout=600,
)  # fmt: skip
"""An Airflow on SQLite with nothing in it."""
