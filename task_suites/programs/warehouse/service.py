"""The warehouse's server: its database, the agent's role, and a reader for checks."""

from __future__ import annotations

from dataclasses import replace

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Postgresql, Ready, ServiceSpec
from deskgym.task_suites.programs.postgresql.server import CLUSTER, HOME, SERVER, SOCKET, START, STOP

PORT, DATABASE, ROLE, PASSWORD, READER = 5432, "warehouse", "analyst", "analyst", "nobody"
_PSQL = "setpriv --reuid=postgres --regid=postgres --clear-groups psql -q -v ON_ERROR_STOP=1"

LAYER = LayerRecipe(
    "warehouse",
    f"""
    sed -i "1i host {DATABASE} {ROLE} 127.0.0.1/32 scram-sha-256" {HOME}/data/pg_hba.conf
    {START} >/dev/null
    {_PSQL} -d postgres <<END
      CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}';
      CREATE ROLE {READER} LOGIN IN ROLE pg_read_all_data;
      CREATE DATABASE {DATABASE};
      REVOKE CONNECT ON DATABASE postgres FROM PUBLIC;
    END
    {_PSQL} -d {DATABASE} <<END
      CREATE SCHEMA analytics AUTHORIZATION {ROLE};
    END
    {STOP} >/dev/null
    """.replace("\n    END", "\nEND"),
    bases=(CLUSTER,),
    environment=(("PGHOST", SOCKET),),
    user="guest",
)
"""The agent's role owns the schema ``analytics``. It may read ``public``, and write the tables that a task names."""

SERVICE = ServiceSpec(
    "warehouse",
    daemons=(
        replace(
            SERVER,
            command=(*SERVER.command[:2], SERVER.command[2].replace("listen_addresses=", "listen_addresses=127.0.0.1")),
            ready=Ready(sql="SELECT 1", port=PORT),
        ),
    ),
    ports=(PORT,),
    data=(Postgresql(DATABASE, socket=SOCKET, reader=READER),),
    user="postgres",
    layers=(LAYER,),
)
