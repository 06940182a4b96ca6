"""Airflow whose DAG files the agent edits, and a second Airflow without data, in which these files are judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, SharedFolder
from deskgym.task_suites.programs.airflow.service import DAGS, ENVIRONMENT, RUNNER, SCHEDULER, SERVICE

DESKTOP_DAGS = "/home/user/dags"
JUDGE = "/opt/deskgym/airflow-judge"
_AS_RUNNER = f"setpriv --reuid={RUNNER} --regid={RUNNER} --clear-groups --no-new-privs"
_READING = {
    "SCHEDULER__STANDALONE_DAG_PROCESSOR": "False", "SCHEDULER__DAG_DIR_LIST_INTERVAL": "3",
    "SCHEDULER__MIN_FILE_PROCESS_INTERVAL": "3", "SCHEDULER__PRINT_STATS_INTERVAL": "0",
}  # fmt: skip

_SCHEDULER = replace(
    SCHEDULER,
    # what the agent's code of the last episode has left running ends with that user's processes; all pipelines are
    # paused, since reading their files would start a run of each
    command=(
        "bash",
        "-c",
        f"{_AS_RUNNER} kill -9 -1; {_AS_RUNNER} psql -qd airflow -c 'UPDATE dag SET is_paused = true'; "
        f"exec {_AS_RUNNER} {' '.join(SCHEDULER.command)}",
    ),
    user="guest",
    environment=(*SCHEDULER.environment, *((f"AIRFLOW__{name}", value) for name, value in _READING.items())),
)


def _with_reader(daemon: Daemon) -> Daemon:
    return _SCHEDULER if daemon == SCHEDULER else daemon


SERVICE_OF_FILES = replace(
    SERVICE,
    daemons=tuple(map(_with_reader, SERVICE.daemons)),
    shared=(SharedFolder(DAGS, DESKTOP_DAGS, size_mb=16),),
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
