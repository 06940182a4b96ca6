"""Superset in a companion: its own data in SQLite, which only its user reads, and a warehouse in PostgreSQL.

People who use Superset send SQL to databases, and may connect any. What they reach so is the warehouse, as a role of
its own. Superset refuses SQLite files, so its own data is out of their reach.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Postgresql, Ready, ServiceSpec, Sqlite
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.programs.postgresql.server import CLUSTER, SERVER, SOCKET, START, STOP
from deskgym.task_suites.programs.postgresql.server import HOME as POSTGRESQL

HERE = Path(__file__).parent
SITE = "/opt/deskgym/superset"
HOME = "/var/lib/deskgym-superset"
EPISODE, METADATA = f"{HOME}/episode", f"{HOME}/superset.db"
PORT, USER, READER, DATABASE = 8088, "www-data", "nobody", "superset"

ENVIRONMENT = ToolEnvironment("superset", HERE / "requirements.txt")
_BIN = f"{ENVIRONMENT.inside}/bin"
_SETTINGS = (
    ("SUPERSET_CONFIG_PATH", f"{SITE}/superset_config.py"), ("SUPERSET_HOME", HOME), ("FLASK_APP", "superset.app"),
    ("PYTHONPATH", SITE), ("PYTHONWARNINGS", "ignore"), ("HOME", HOME),
)  # fmt: skip
_AS_USER = f"setpriv --reuid={USER} --regid={USER} --clear-groups"
_SQL = "setpriv --reuid=postgres --regid=postgres --clear-groups psql -q"
_TCP = "-c listen_addresses=127.0.0.1"

SHOP = LayerRecipe(
    "superset",
    f"""
    chmod 755 {SITE}
    install -d -o {USER} -g {USER} -m 700 {HOME} {EPISODE} {EPISODE}/uploads
    (umask 077; head -c 32 /dev/urandom | base64 -w0 >{HOME}/key; echo none >{EPISODE}/secret)
    chown {USER}: {HOME}/key {EPISODE}/secret
    echo '127.0.0.1 localhost db' >/etc/hosts
    sed -i '1i host {DATABASE} {DATABASE} 127.0.0.1/32 scram-sha-256' {POSTGRESQL}/data/pg_hba.conf
    {START.replace("-c listen_addresses=", _TCP)} >/dev/null
    {_SQL} postgres -c "CREATE ROLE {DATABASE} LOGIN PASSWORD '{DATABASE}'" \
      -c 'CREATE ROLE {READER} LOGIN IN ROLE pg_read_all_data' -c 'CREATE DATABASE {DATABASE}'
    {_SQL} {DATABASE} -c 'GRANT CREATE ON SCHEMA public TO {DATABASE}'
    {_AS_USER} {_BIN}/superset db upgrade >/dev/null
    {_AS_USER} {_BIN}/superset fab create-admin --username admin --firstname Superset --lastname Admin \
      --email admin@example.org --password admin >/dev/null
    {_AS_USER} {_BIN}/superset init >/dev/null
    {_AS_USER} {_BIN}/python {SITE}/seed.py
    {STOP} >/dev/null
    """,
    files=tuple((f"{SITE}/{path.name}", path) for path in (HERE / "shop.py", *sorted((HERE / "site").glob("*.py")))),
    bases=(CLUSTER, ENVIRONMENT),
    environment=(*_SETTINGS, ("PGHOST", SOCKET)),
    user="guest",
    timeout=1200,
)

SERVICE = ServiceSpec(
    "superset",
    daemons=(
        replace(
            SERVER,
            command=(*SERVER.command[:2], SERVER.command[2].replace("-c listen_addresses=", _TCP)),
            ready=Ready(port=5432, command=("pg_isready", "-q", "-h", SOCKET)),
        ),
        Daemon(
            (
                f"{_BIN}/gunicorn", "--bind", f"127.0.0.1:{PORT}", "--worker-class", "gthread", "--threads", "8",
                "--timeout", "0", "--log-level", "warning", "superset.app:create_app()",
            ),
            Ready(port=PORT, http="/health", timeout=180),
            environment=_SETTINGS,
            folder=SITE,
        ),
    ),
    ports=(PORT, 5432),
    data=(Sqlite(METADATA), Postgresql(DATABASE, socket=SOCKET, reader=READER), Files(EPISODE)),
    user=USER,
    layers=(SHOP,),
    uncounted=("/superset/log/*",),
)  # fmt: skip
