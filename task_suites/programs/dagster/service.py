"""Dagster in a companion: its storage in PostgreSQL, its web server, and a server of code with a user of its own.

A run is a process of the code's user. It may write events, and how its own row of a run goes on: it can neither make a
run nor start a schedule or sensor, nor change what a page has asked for.
"""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Postgresql, Ready, ServiceSpec
from deskgym.task_suites.programs.dagster.environment import BIN, QUIET
from deskgym.task_suites.programs.postgresql.server import CLUSTER, SERVER, SOCKET, START, STOP

HERE = Path(__file__).parent
SITE = "/opt/deskgym/dagster"
HOME = f"{SITE}/home"
STATE = "/var/lib/deskgym-dagster"
PORT, CODE_PORT, DATABASE = 3000, 4000, "dagster"
WEB, RUNNER, READER = "www-data", "daemon", "nobody"
"""The web server's user, the user that runs code, and the role that checks ask as."""

_INSTANCE = f"""telemetry: {{enabled: false}}
storage:
  postgres: {{postgres_url: "postgresql+psycopg2:///{DATABASE}?host={SOCKET}", should_autocreate_tables: TABLES}}
local_artifact_storage:
  module: dagster.core.storage.root
  class: LocalArtifactStorage
  config: {{base_dir: {STATE}/storage}}
compute_logs:
  module: dagster.core.storage.local_compute_log_manager
  class: LocalComputeLogManager
  config: {{base_dir: {STATE}/logs}}
"""
_WORKSPACE = f"load_from: [grpc_server: {{host: localhost, port: {CODE_PORT}, location_name: company}}]\n"
SETTINGS = (
    ("DAGSTER_HOME", HOME), ("PYTHONPATH", SITE), ("PYTHONWARNINGS", "ignore"), ("PATH", f"{BIN}:/usr/bin:/bin"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
)  # fmt: skip
_CODE = f"dagster api grpc -h 127.0.0.1 -p {CODE_PORT} -f {SITE}/definitions.py -d {SITE} --location-name company"
_WEB = f"dagster-webserver -h 127.0.0.1 -p {PORT} -w {SITE}/workspace.yaml --suppress-warnings"
_AS = "setpriv --reuid={0} --regid={0} --clear-groups"
_AS_WEB, _AS_RUNNER, _AS_POSTGRES = _AS.format(WEB), _AS.format(RUNNER), _AS.format("postgres")
_WRITES = ("event_logs", "asset_keys", "asset_event_tags", "asset_check_executions", "run_tags")
_PROGRESS = "run_body, partition, partition_set, status, update_timestamp, start_time, end_time"
_RIGHTS = f"""
GRANT SELECT ON ALL TABLES IN SCHEMA public TO {RUNNER};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {RUNNER};
GRANT INSERT ON {", ".join(_WRITES)} TO {RUNNER};
GRANT UPDATE ON asset_keys, asset_check_executions TO {RUNNER};
GRANT UPDATE ({_PROGRESS}) ON runs TO {RUNNER};
CREATE FUNCTION asked(body text) RETURNS jsonb IMMUTABLE LANGUAGE sql SET search_path = pg_catalog AS
  $$ SELECT (body::jsonb - 'status') #- '{{tags,dagster/failure_reason}}' $$;
CREATE FUNCTION keep_run() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public AS $$ BEGIN
  IF NEW.run_body IS NULL OR NEW.status IS NULL OR asked(NEW.run_body) IS DISTINCT FROM asked(OLD.run_body)
    OR NEW.status <> OLD.status AND OLD.status IN ('SUCCESS', 'FAILURE', 'CANCELED') THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied: a run stays what was asked for, and as it ended';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER keep_run BEFORE UPDATE ON runs FOR EACH ROW WHEN (current_user <> '{WEB}') EXECUTE FUNCTION keep_run();
"""
"""A run's process writes how the run goes on into its row, and all of the body with it: a trigger compares what was
asked for. No process but the web server's may change that, or the end of a run."""

COMPANY = LayerRecipe(
    "dagster-company",
    f"""
    chmod -R a+rX {SITE}
    install -d -m 755 -o {RUNNER} -g {RUNNER} {STATE} {STATE}/storage {STATE}/logs
    {START} >/dev/null
    {_AS_POSTGRES} psql -q -d postgres -c 'CREATE ROLE "{WEB}" LOGIN' -c 'CREATE ROLE {RUNNER} LOGIN' \
      -c 'CREATE ROLE {READER} LOGIN IN ROLE pg_read_all_data'
    {_AS_POSTGRES} createdb -O {WEB} {DATABASE}
    sed -i s/TABLES/true/ {HOME}/dagster.yaml
    {_AS_WEB} python {SITE}/tables.py
    sed -i 's/should_autocreate_tables: true/should_autocreate_tables: false/' {HOME}/dagster.yaml
    {_AS_WEB} psql -q -v ON_ERROR_STOP=1 -d {DATABASE} -f {SITE}/rights.sql
    {_AS_RUNNER} {_CODE} >/tmp/code.log 2>&1 &
    {_AS_WEB} {_WEB} >/tmp/web.log 2>&1 &
    made=0
    {_AS_RUNNER} python {SITE}/seed.py || made=$?
    [ $made = 0 ] || tail -n 20 /tmp/code.log /tmp/web.log >&2
    pkill -9 -U {WEB}; pkill -9 -U {RUNNER}
    {STOP} >/dev/null
    exit $made
    """,
    files=(
        (f"{SITE}/company.py", HERE / "company.py"),
        *((f"{SITE}/{path.name}", path) for path in sorted((HERE / "site").glob("*.py"))),
        (f"{SITE}/workspace.yaml", _WORKSPACE.encode()),
        (f"{SITE}/rights.sql", _RIGHTS.encode()),
        (f"{HOME}/dagster.yaml", _INSTANCE.encode()),
        (f"{HOME}/.nux/nux.yaml", b"seen: 1\n"),
    ),
    bases=(CLUSTER, QUIET),
    environment=(*SETTINGS, ("PGHOST", SOCKET)),
    user="guest",
    memory_mb=3072,
    timeout=600,
)

_RUNS = f"pkill -9 -U {RUNNER} -f multiprocessing[.]spawn"
END_RUNS = Daemon(
    ("bash", "-c", f"trap '{_RUNS}; exit' TERM; {_RUNS}; sleep infinity & wait"),
    Ready(file=f"{SITE}/company.py"),
    user=RUNNER,
    restart=True,
)
"""It is told to end before each roll-back, and ends all runs then: no run works on into the next episode."""

WEB_SERVER = Daemon(
    (*_WEB.split(), "--db-pool-recycle", "0"),  # a roll-back ends all connections
    Ready(port=PORT, http="/server_info", timeout=300),
    user=WEB,
    environment=(*SETTINGS, ("PGHOST", SOCKET)),
)
"""The web server."""

SERVICE = ServiceSpec(
    "dagster",
    daemons=(
        SERVER,
        Daemon(tuple(_CODE.split()), Ready(port=CODE_PORT, timeout=180), user=RUNNER, environment=SETTINGS),
        WEB_SERVER,
        END_RUNS,
    ),
    ports=(PORT,),
    data=(
        Postgresql(DATABASE, socket=SOCKET, reader=READER),
        Files(f"{STATE}/storage"),
        Files(f"{STATE}/logs"),
    ),
    user="postgres",
    layers=(COMPANY,),
    memory_mb=2048,
)
