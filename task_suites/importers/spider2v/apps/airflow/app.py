"""Airflow by Astronomer's commands: ``astro`` and ``docker`` stand for an Airflow without containers.

Evaluation scripts that ask them run beside Airflow itself, where the agent has no shell, and all others in the clean
machine.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable
from pathlib import Path

from deskgym.envs.action.actions import Action
from deskgym.envs.errors import SetupError
from deskgym.envs.needs import Needs
from deskgym.task_suites.hooks.waits import POLL
from deskgym.task_suites.importers.spider2v.apps.airflow.attempts import attempts
from deskgym.task_suites.importers.spider2v.apps.airflow.corrections import CORRECTIONS
from deskgym.task_suites.importers.spider2v.apps.airflow.service import ASTRO, BIN, COMMANDS, DESKTOP_PROJECTS, PROJECTS
from deskgym.task_suites.importers.spider2v.frame import App, CheckFailed, Scene, Stage
from deskgym.task_suites.importers.spider2v.layout import BIN as DESKTOP_BIN
from deskgym.task_suites.importers.spider2v.layout import app_layer
from deskgym.task_suites.importers.spider2v.record import Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import OUTPUT, TIMEOUT, run_in_clean_machine
from deskgym.task_suites.importers.spider2v.windows import PAINTED, open_page
from deskgym.task_suites.programs.airflow.service import ENVIRONMENT, KEYS

_ASKS = re.compile(r"\b(docker|astro) ")
_ENDED = "SELECT count(*) AS n FROM dag_run WHERE state NOT IN ('success', 'failed')"


def open_airflow(stage: Stage, step: Step) -> None:
    """``astro_webui_init``: Airflow's list of DAGs, with ``admin`` logged in where the step asks for it."""
    url = str(step["url"])
    if any(action.type == "login" for action in step.parameters.get("actions", ())):
        token = secrets.token_hex(16)  # for one login; what is left of it is rolled back
        stage.setup.companions["airflow"].put(f"{KEYS}/token-{token}", b"admin", owner="guest", mode=0o644)
        url += f"/enter/{token}?to=/home"
    open_page(stage.setup, url, title="*Airflow", role="link")


def refresh(stage: Stage, step: Step) -> None:
    """``astro_refresh_page``: load the page again, once all runs have ended."""
    until = time.monotonic() + TIMEOUT
    while stage.setup.companion("airflow").sql(_ENDED)[0]["n"]:
        if time.monotonic() > until:
            raise SetupError(f"a run did not end within {TIMEOUT:g} s")
        time.sleep(POLL)
    display = stage.machine.display
    display.perform(Action("press", keys=("f5",)).check(display.size).events(), PAINTED)


def run_script(scene: Scene, text: str, place: str) -> str:
    """Run an evaluation's script beside Airflow where it asks for containers, else in the clean machine.

    Raises:
        CheckFailed: it did not come to its end over what the agent left.
    """
    if _ASKS.search(text) is None:
        return run_in_clean_machine(scene, text, place)
    here = text.replace(DESKTOP_PROJECTS, PROJECTS).replace("$HOME/projects", PROJECTS)
    companion = scene.final.companions["airflow"]
    argv = ["/bin/bash", "--noprofile", "--norc", "-c", here]
    done = companion.run(argv, env={"PATH": f"{BIN}:/usr/bin:/bin"}, timeout=TIMEOUT, user="nobody")
    if done.timed_out:
        raise CheckFailed(f"it took longer than {TIMEOUT:g} s")
    return done.stdout[:OUTPUT].decode(errors="replace")


def lacks(record: UpstreamTask) -> Iterable[str]:
    """Tasks that ask for what an Airflow without containers and network does not have."""
    ids = (record.id, record.counterpart)
    return [why for start, why in _LACKS.items() if any(name.startswith(f"airflow/{start}") for name in ids)]


_LACKS = {
    "93b05252": "Airflow's web server would run the agent's plugin",
    "a02a58d9": "its DAG runs dbt and PostgreSQL inside of Airflow's container",
    "b146bec7": "tests DAGs with pytest, which the tool environment does not have",
}


def check_dags(stage: Stage) -> None:
    """Raise SetupError where a setup started a project, and Airflow has read none of its files."""
    scripts = [Path(step["src"]) for step in stage.record.config if step.type == "script_and_execute"]
    if any("astro dev start" in path.read_text() for path in scripts):
        read = "SELECT fileloc FROM dag UNION SELECT filename FROM import_error"  # a file that the task is to finish
        if not stage.setup.companion("airflow").sql(read):
            raise SetupError("astro dev start: Airflow has read no DAG file of the project")


APP = App(
    name="airflow",
    programs=("chromium", "terminal", "geany"),
    needs=Needs(
        packages=("unzip", "postgresql"),
        services=(ASTRO,),
        layers=(
            ENVIRONMENT,
            app_layer("airflow", files={f"{DESKTOP_BIN}/{name}": COMMANDS for name in ("astro", "docker")}),
        ),
    ),
    config={"astro_webui_init": open_airflow, "astro_refresh_page": refresh},
    opens_page=("astro_webui_init",),
    run_script=run_script,
    after_setup=check_dags,
    corrections=CORRECTIONS,
    lacks=lacks,
    attempts=attempts,
)
