"""Airflow on PostgreSQL with LocalExecutor, with the same pipelines, runs and people for everybody."""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Postgresql, Ready, ServiceSpec
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.programs.postgresql.server import CLUSTER, SERVER, SOCKET, START, STOP

HERE = Path(__file__).parent
SITE = "/opt/deskgym/airflow"
DAGS = f"{SITE}/dags"
STATE = "/var/lib/deskgym-airflow"
LOGS, KEYS = f"{STATE}/logs", f"{STATE}/keys"
PORT, READER = 8080, "nobody"
WEB, RUNNER = "www-data", "daemon"
"""The web application's user, and the user that runs what DAG files say."""

ENVIRONMENT = ToolEnvironment("airflow", HERE / "requirements.txt")
PYTHON = f"{ENVIRONMENT.inside}/bin/python"
_DATA = {
    "CORE__DAGS_FOLDER": DAGS, "CORE__LOAD_EXAMPLES": "False", "CORE__FERNET_KEY": "",
    "DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2:///airflow?host={SOCKET}",
    "DATABASE__LOAD_DEFAULT_CONNECTIONS": "False", "LOGGING__BASE_LOG_FOLDER": LOGS,
    "SCHEDULER__CHILD_PROCESS_LOG_DIRECTORY": "/tmp/airflow",
}  # fmt: skip
_SERVING = {
    "CORE__EXECUTOR": "LocalExecutor", "CORE__PARALLELISM": "4", "DATABASE__SQL_ALCHEMY_POOL_SIZE": "4",
    "LOGGING__DAG_PROCESSOR_MANAGER_LOG_LOCATION": "/dev/null",
    "API__AUTH_BACKENDS": "airflow.api.auth.backend.basic_auth,airflow.api.auth.backend.session",
    "FAB__UPDATE_FAB_PERMS": "False", "WEBSERVER__WARN_DEPLOYMENT_EXPOSURE": "False",
    "SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "1000000000",  # no bar while it starts again after a roll-back
    "SCHEDULER__PARSING_PROCESSES": "1", "SCHEDULER__STANDALONE_DAG_PROCESSOR": "True",
    "SCHEDULER__DAG_STALE_NOT_SEEN_DURATION": "1000000000",
}  # fmt: skip
"""No DAG file is read but by the tasks: nobody can change one."""

BASIC = (
    *((f"AIRFLOW__{name}", value) for name, value in _DATA.items()),
    ("AIRFLOW_HOME", SITE), ("PGHOST", SOCKET), ("PYTHONPATH", SITE), ("PYTHONWARNINGS", "ignore"),
    ("PATH", f"{ENVIRONMENT.inside}/bin:/usr/bin:/bin"),
)  # fmt: skip
SETTINGS = (*BASIC, *((f"AIRFLOW__{name}", value) for name, value in _SERVING.items()), ("AIRFLOW_KEYS", KEYS))
_AS_POSTGRES = "setpriv --reuid=postgres --regid=postgres --clear-groups"
_AS_WEB = f"setpriv --reuid={WEB} --regid={WEB} --clear-groups env AIRFLOW__WEBSERVER__SECRET_KEY=unused"

COMPANY = LayerRecipe(
    "airflow",
    f"""
    chmod 755 {SITE}
    touch {SITE}/airflow.cfg
    printf 'AUTH_ROLE_PUBLIC = None\\n' > {SITE}/webserver_config.py
    install -d -m 755 -o {WEB} -g {WEB} {STATE} {KEYS} {DAGS}
    install -d -m 775 -o {WEB} -g {RUNNER} {LOGS}
    {START} >/dev/null
    {_AS_POSTGRES} psql -qc 'CREATE ROLE "{WEB}" LOGIN' -c 'CREATE ROLE {RUNNER} LOGIN IN ROLE "{WEB}"' \
      -c 'CREATE ROLE {READER} LOGIN IN ROLE pg_read_all_data'
    {_AS_POSTGRES} createdb -O {WEB} airflow
    {_AS_WEB} airflow db migrate
    {_AS_WEB} LD_PRELOAD=$(echo /usr/lib/*/faketime/libfaketime.so.1) FAKETIME=+0 FAKETIME_NO_CACHE=1 \
      {PYTHON} {SITE}/seed.py
    chown -R {RUNNER}:{RUNNER} {LOGS}
    chown -R root:root {DAGS}
    {STOP} >/dev/null
    """,
    files=tuple((f"{SITE}/{path.name}", path) for path in (HERE / "company.py", *sorted((HERE / "site").glob("*.py")))),
    bases=(CLUSTER, ENVIRONMENT),
    environment=BASIC,
    user="guest",
    memory_mb=2048,
    timeout=600,
)

WEB_SERVER = Daemon(
    (
        f"{ENVIRONMENT.inside}/bin/gunicorn", "--workers=1", "--threads=4", "--timeout=120",
        "--worker-tmp-dir=/dev/shm", f"--bind=127.0.0.1:{PORT}", "web:app",
    ),
    Ready(port=PORT, http="/health", timeout=300),
    user=WEB,
    environment=SETTINGS,
    folder=SITE,
)  # fmt: skip
RUN_SCHEDULER = "airflow scheduler --skip-serve-logs"
_RUNS = "SELECT 1 FROM dag_run WHERE state IN ('queued', 'running') LIMIT 1"
WORK = f'[ -n "$(/usr/lib/postgresql/*/bin/psql -qAtd airflow -c "{_RUNS}" 2>/dev/null)" ]'
"""Whether a run waits. None starts by itself: so the scheduler, whose start takes five processor seconds, waits too."""

SCHEDULER = Daemon(
    ("bash", "-c", f"until {WORK}; do sleep 0.5; done; exec {RUN_SCHEDULER}"),
    Ready(file=f"{SITE}/web.py"),  # nobody waits for it
    user=RUNNER,
    environment=(*SETTINGS, ("AIRFLOW__SCHEDULER__CHILD_PROCESS_LOG_DIRECTORY", "/tmp/scheduler")),
    folder="/",
    restart=True,
)

SERVICE = ServiceSpec(
    "airflow",
    daemons=(SERVER, WEB_SERVER, SCHEDULER),
    ports=(PORT,),
    data=(Postgresql("airflow", socket=SOCKET, reader=READER), Files(LOGS), Files(KEYS)),
    user="postgres",
    layers=(COMPANY,),
    secrets=("AIRFLOW__WEBSERVER__SECRET_KEY",),
    uncounted=("/dag_stats", "/task_stats", "/last_dagruns", "/blocked", "/object/*", "/api/v1/*"),
    memory_mb=2048,
)
