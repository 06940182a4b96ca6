"""The company's Dagster with one more code location: a file that the agent writes, which a user of its own runs.

This user is a member of the role that the company's code has: it can write events, and how a run goes on.
"""

from __future__ import annotations

from dataclasses import replace

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Ready, SharedFolder
from deskgym.task_suites.programs.dagster.service import (
    CODE_PORT,
    COMPANY,
    DATABASE,
    RUNNER,
    SERVICE,
    SETTINGS,
    SITE,
    STATE,
    WEB_SERVER,
)  # fmt: skip
from deskgym.task_suites.programs.postgresql.server import SOCKET, START, STOP

AGENT = "games"
"""The user that runs the agent's code."""

LOCATION, PORT = "desk", 4001
FOLDER, DESKTOP_FOLDER, SCRIPT = "/opt/desk", "/home/user/desk", "defs.py"
_LOCATIONS = (("company", CODE_PORT), (LOCATION, PORT))
_WORKSPACE = "load_from:\n" + "".join(
    f"- grpc_server: {{host: localhost, port: {port}, location_name: {name}}}\n" for name, port in _LOCATIONS
)

DESK = LayerRecipe(
    "dagster-desk",
    f"""
    install -d -m 755 {FOLDER}
    chmod 1777 {STATE}/storage {STATE}/logs
    chmod a+r {SITE}/desk.yaml
    {START} >/dev/null
    setpriv --reuid=postgres --regid=postgres --clear-groups psql -q -v ON_ERROR_STOP=1 -d {DATABASE} \\
      -c 'CREATE ROLE {AGENT} LOGIN IN ROLE {RUNNER}'
    {STOP} >/dev/null
    """,
    files=((f"{SITE}/desk.yaml", _WORKSPACE.encode()),),
    bases=(COMPANY,),
    environment=(("PGHOST", SOCKET),),
    user="guest",
)
"""A place for the agent's file, and the rights of who runs it."""

_SERVE = f"dagster code-server start -h 127.0.0.1 -p {PORT} -f {SCRIPT} --location-name {LOCATION}"
CODE = Daemon(
    ("bash", "-c", f"until [ -e {FOLDER}/{SCRIPT} ]; do sleep 0.2; done; cd {FOLDER} && exec {_SERVE}"),
    Ready(file=f"{SITE}/desk.yaml"),
    user=AGENT,
    environment=SETTINGS,
    restart=True,
)
"""It starts once there is a file."""

_PAGES = replace(
    WEB_SERVER, command=tuple(part.replace("/workspace.yaml", "/desk.yaml") for part in WEB_SERVER.command)
)

SERVICE_OF_CODE = replace(
    SERVICE,
    daemons=(*(_PAGES if daemon is WEB_SERVER else daemon for daemon in SERVICE.daemons), CODE),
    layers=(DESK,),
    shared=(SharedFolder(FOLDER, DESKTOP_FOLDER, size_mb=16),),
    agent_users=(AGENT,),
)
"""What the agent's code does is judged in the clean machine; which runs were asked for, in the storage."""
