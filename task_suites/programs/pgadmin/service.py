"""pgAdmin in a companion, with the warehouse that it shows: its own data in SQLite, which only its user reads.

pgAdmin asks PostgreSQL over TCP, as the agent's role, and has no role of its own. It has no utilities (``psql``,
``pg_dump``), no permission to register servers, and no other folder than the user's storage.
"""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Postgresql, Ready, ServiceSpec, Sqlite
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.programs.postgresql.server import SOCKET, START, STOP
from deskgym.task_suites.programs.warehouse.service import DATABASE, LAYER, READER
from deskgym.task_suites.programs.warehouse.service import SERVICE as WAREHOUSE

HERE = Path(__file__).parent
SITE = "/opt/deskgym/pgadmin"
HOME = "/var/lib/deskgym-pgadmin"
EPISODE, METADATA = f"{HOME}/episode", f"{HOME}/pgadmin4.db"
PORT, USER = 5050, "www-data"
COLLEAGUES = ("reporting", "finance", "interns")
"""Roles that nobody logs in as: for tasks about rights."""

ENVIRONMENT = ToolEnvironment("pgadmin", HERE / "requirements.txt")
_BIN = f"{ENVIRONMENT.inside}/bin"
_SETTINGS = (("PGADMIN_SERVER_MODE", "ON"), ("PYTHONPATH", SITE), ("PYTHONWARNINGS", "ignore"), ("HOME", HOME))
_AS_USER = f"setpriv --reuid={USER} --regid={USER} --clear-groups"

DATA = LayerRecipe(
    "pgadmin",
    f"""
    chmod 755 {SITE}
    install -d -o {USER} -g {USER} -m 700 {HOME} {EPISODE} {HOME}/sessions
    (umask 077; head -c 32 /dev/urandom | base64 -w0 >{HOME}/key)
    chown {USER}: {HOME}/key
    {_AS_USER} {_BIN}/python {SITE}/seed.py
    {START} >/dev/null
    for role in {" ".join(COLLEAGUES)}; do
      setpriv --reuid=postgres --regid=postgres --clear-groups psql -qd {DATABASE} -c "CREATE ROLE $role"
    done
    {STOP} >/dev/null
    """,
    files=tuple((f"{SITE}/{path.name}", path) for path in sorted((HERE / "site").glob("*.py"))),
    bases=(LAYER, ENVIRONMENT),
    environment=(*_SETTINGS, ("PGHOST", SOCKET)),
    user="guest",
    timeout=600,
)

SERVICE = ServiceSpec(
    "pgadmin",
    daemons=(
        *WAREHOUSE.daemons,
        Daemon(
            (
                f"{_BIN}/gunicorn", "--bind", f"127.0.0.1:{PORT}", "--worker-class", "gthread", "--threads", "25",
                "--timeout", "0", "--log-level", "warning", "serve:app",
            ),
            Ready(port=PORT, http="/misc/ping", timeout=180),
            user=USER,
            environment=_SETTINGS,
            folder=SITE,
        ),
    ),
    ports=(PORT, *WAREHOUSE.ports),
    data=(
        Postgresql(DATABASE, socket=SOCKET, reader=READER), Sqlite(METADATA), Files(EPISODE), Files(f"{HOME}/storage"),
        Files(f"{HOME}/sessions"),
    ),
    user="postgres",
    layers=(DATA,),
    uncounted=("/socket.io/*",),
)  # fmt: skip
