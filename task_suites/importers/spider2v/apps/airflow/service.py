"""An empty Airflow for Spider2-V's tasks, which runs the project that ``astro dev start`` names.

The folder of projects is shared: the agent edits them on the desktop, and Airflow's scheduler reads the started one. It
runs as a user of its own, since what DAG files say is the agent's code.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, SharedFolder
from deskgym.task_suites.programs.airflow.service import (
    COMPANY,
    DAGS,
    LOGS,
    RUN_SCHEDULER,
    RUNNER,
    SCHEDULER,
    SERVICE,
)
from deskgym.task_suites.programs.airflow_dags.service import NO_SECRET, READING
from deskgym.task_suites.programs.postgresql.server import SOCKET, START, STOP

PROJECTS = "/opt/deskgym/projects"
STARTED = f"{PROJECTS}/.astro"
"""The file whose line names the project that was started."""
DESKTOP_PROJECTS = "/home/user/projects"
BIN = "/opt/deskgym/astro/bin"
"""``astro`` and ``docker`` for the evaluation's scripts."""

COMMANDS = Path(__file__).parent / "guest" / "astro.py"
_PSQL = "setpriv --reuid=postgres --regid=postgres --clear-groups psql -q -v ON_ERROR_STOP=1 -d airflow"
EMPTY = LayerRecipe(
    "airflow-astro",
    f"""
    install -d {BIN} {PROJECTS}
    install -m 755 /tmp/astro.py {BIN}/astro
    ln -s astro {BIN}/docker
    rm -rf {DAGS}/* {LOGS}/*
    {START} >/dev/null
    {_PSQL} <<END
      TRUNCATE dag_run, dag, serialized_dag, dag_code, variable, connection, log, session, rendered_task_instance_fields
        CASCADE;
      DELETE FROM slot_pool WHERE pool <> 'default_pool';
      DELETE FROM ab_user_role WHERE user_id <> (SELECT id FROM ab_user WHERE username = 'admin');
      DELETE FROM ab_user WHERE username <> 'admin';
    END
    {STOP} >/dev/null
    """.replace("\n    END", "\nEND"),
    files=(("/tmp/astro.py", COMMANDS),),
    bases=(COMPANY,),
    environment=(("PGHOST", SOCKET),),
    user="guest",
)
"""The company's Airflow with all that is the company's taken out."""

_AS_RUNNER = f"setpriv --reuid={RUNNER} --regid={RUNNER} --clear-groups --no-new-privs"
_FOLLOW = f"""
end() {{ {_AS_RUNNER} kill -9 -1; }}
trap 'end; exit' TERM INT
end
find /tmp -user {RUNNER} -delete
while :; do
    read -r next < <(head -c 300 {STARTED} 2>/dev/null)
    if [ "$next" != "$now" ]; then
        now=$next name=${{next%% *}}
        end
        if [[ $name =~ ^[A-Za-z0-9_][A-Za-z0-9_.-]*$ ]]; then
            AIRFLOW__CORE__DAGS_FOLDER={PROJECTS}/$name/dags {_AS_RUNNER} {RUN_SCHEDULER} &
        fi
    fi
    sleep 0.5 & wait $!
done
"""
FOLLOWER = replace(
    SCHEDULER,
    command=("bash", "-c", _FOLLOW),
    user="guest",
    environment=(*SCHEDULER.environment, NO_SECRET, *READING),
)
"""Starts the scheduler anew whenever another line is written into ``.astro``."""


def _following(daemon: Daemon) -> Daemon:
    return FOLLOWER if daemon == SCHEDULER else daemon


ASTRO = replace(
    SERVICE,
    daemons=tuple(map(_following, SERVICE.daemons)),
    shared=(SharedFolder(PROJECTS, DESKTOP_PROJECTS, size_mb=32),),
    layers=(EMPTY,),
)
