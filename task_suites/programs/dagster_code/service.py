"""The company's Dagster, whose only code location is a file that the agent writes, which a user of its own runs.

This user is a member of the role that the company's code has elsewhere: it can write events, and how a run goes on. The
company's own code is not served here, so no process is left whose user the agent's code could make work for it.
"""

from __future__ import annotations

from dataclasses import replace

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Ready, SharedFolder
from deskgym.task_suites.programs.dagster.service import (
    COMPANY,
    DATABASE,
    RUNNER,
    SERVICE,
    SETTINGS,
    SITE,
    STATE,
    WEB_SERVER,
)  # fmt: skip
from deskgym.task_suites.programs.postgresql.server import SERVER, SOCKET, START, STOP

AGENT = "games"
"""The user that runs the agent's code."""

LOCATION, PORT = "desk", 4001
FOLDER, DESKTOP_FOLDER, SCRIPT = "/opt/desk", "/home/user/desk", "defs.py"
_WORKSPACE = f"load_from: [grpc_server: {{host: localhost, port: {PORT}, location_name: {LOCATION}}}]\n"

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
    daemons=(SERVER, _PAGES, CODE),
    layers=(DESK,),
    shared=(SharedFolder(FOLDER, DESKTOP_FOLDER, size_mb=16),),
    agent_users=(AGENT,),
)
"""What the agent's code does is judged in the clean machine; which runs were asked for, in the storage."""
