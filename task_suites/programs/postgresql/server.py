"""A PostgreSQL server for services: an empty cluster as a prepared layer, and the program that serves it."""

from __future__ import annotations

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Ready
from deskgym.task_suites.programs.postgresql import PROGRAM

HOME = "/var/lib/deskgym-postgresql"
SOCKET = f"{HOME}/run"
USER = "postgres"
_BIN = "/usr/lib/postgresql/*/bin"
_AS_OWNER = f"setpriv --reuid={USER} --regid={USER} --clear-groups env -i PATH=/usr/bin:/bin LANG=C.UTF-8"

START = f"{_AS_OWNER} {_BIN}/pg_ctl -D {HOME}/data -o '-k {SOCKET} -c listen_addresses= -c fsync=off' -w start"
"""Starts it in a layer's script, which runs as root; ``STOP`` ends it, with all data written."""

STOP = f"{_AS_OWNER} {_BIN}/pg_ctl -D {HOME}/data -m fast -w stop"

CLUSTER = LayerRecipe(
    "postgresql",
    f"""
    install -d -o {USER} -g {USER} -m 755 {HOME} {SOCKET}
    {_AS_OWNER} {_BIN}/initdb -D {HOME}/data -A peer --no-sync --no-instructions
    """,
    packages=PROGRAM.packages,
    user="guest",
)
"""An empty cluster; each system user is the role of its name (peer authentication)."""

SERVER = Daemon(
    (
        "bash", "-c",
        f"exec {_BIN}/postgres -D {HOME}/data -k {SOCKET} -c listen_addresses= -c fsync=off -c full_page_writes=off "
        "-c synchronous_commit=off -c shared_buffers=32MB -c jit=off -c autovacuum=off",
    ),
    Ready(sql="SELECT 1"),
    user=USER,
    environment=(("LANG", "C.UTF-8"),),
)  # fmt: skip
"""The server, on its socket only: nobody outside the companion reaches it."""
