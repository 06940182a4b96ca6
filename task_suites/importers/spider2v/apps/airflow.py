"""Airflow by Astronomer's commands: ``astro`` and ``docker`` stand for an Airflow without containers.

Evaluation scripts that ask them run beside Airflow itself, where the agent has no shell, and all others in the clean
machine.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.needs import Needs
from deskgym.task_suites.hooks.waits import POLL
from deskgym.task_suites.importers.spider2v.astro import ASTRO, BIN, COMMANDS, DESKTOP_PROJECTS, PROJECTS
from deskgym.task_suites.importers.spider2v.attempts import play, run
from deskgym.task_suites.importers.spider2v.frame import App, Attempts, Play, Scene, Stage
from deskgym.task_suites.importers.spider2v.layout import BIN as DESKTOP_BIN
from deskgym.task_suites.importers.spider2v.layout import app_layer
from deskgym.task_suites.importers.spider2v.record import Mode, Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import OUTPUT, TIMEOUT, run_in_clean_machine
from deskgym.task_suites.importers.spider2v.windows import PAINTED, open_page
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.programs.airflow.service import ENVIRONMENT, KEYS

_ASKS = re.compile(r"\b(docker|astro) ")
_ENDED = "SELECT count(*) AS n FROM dag_run WHERE state NOT IN ('success', 'failed')"


def open_airflow(stage: Stage, step: Step) -> None:
    """``astro_webui_init``: Airflow's list of DAGs, with ``admin`` logged in where the step asks for it."""
    url = str(step["url"])
    if any(action["type"] == "login" for action in step.parameters.get("actions", ())):
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
    "33468fd4": "installs Docker and PostgreSQL with the package manager",
    "73ef8c87": "its DAG asks the site wttr.in",
    "93b05252": "Airflow's web server would run the agent's plugin",
    "a02a58d9": "its DAG runs dbt and PostgreSQL inside of Airflow's container",
    "b146bec7": "tests DAGs with pytest, which the tool environment does not have",
}


def _visit(url: str, title: str) -> Play:
    """Go to an address, and wait until the page has this title."""

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        yield from load_program("chromium").macros["chromium.go"](screen, url, title, "document web")
        yield [Action("done")]

    return script


def _grid(dag: str, tab: str, **of: str) -> Play:
    """Go to a tab of a DAG's page; with ``task``, of the DAG's newest run as the list of runs shows it."""

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        go = load_program("chromium").macros["chromium.go"]
        url = f"localhost:8080/dags/{dag}/grid?tab={tab}"
        if "task" in of:
            yield from go(screen, f"localhost:8080/dagrun/list/?_flt_3_dag_id={dag}", "List Dag Run*", "document web")
            name = screen.find(role="link", name="manual__*", timeout=60.0).name
            url += f"&task_id={of['task']}&dag_run_id={quote(name, safe='')}"
        yield from go(screen, url, f"{dag} - Grid - Airflow", "document web")
        yield [Action("done")]

    return script


_LIST = "localhost:8080/home?search={}&sorting_key={}&sorting_direction={}"
_SQLITE = "airflow connections add sqlite_conn --conn-type sqlite --conn-host {}"


def _commands(project: str, *commands: str, then: Play | None = None) -> Play:
    """Type commands in a project's folder, ``docker exec`` for those of Airflow, and look at a page after it."""
    typed = [f"docker exec -i $at {line}" if line.startswith("airflow ") else line for line in commands]
    start = f"cd ~/projects/{project}; at=$(docker ps | grep webserver | cut -d' ' -f1)"
    program = run(f"set -e\n{start}\n" + "\n".join(typed), 240.0)
    if then is None:
        return play(program)

    def script(screen: Screen) -> Iterator[BurstOrProgram]:
        yield program
        yield from then(screen)

    return script


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """The oracle types commands, and goes to the page that is asked for; the wrong attempts come near to it."""
    found = _ATTEMPTS.get(record.id[8:16]) or _ATTEMPTS.get(record.counterpart[8:16])
    return Attempts() if found is None else Attempts(*found)


_ECHO = "workFlow_Echo"
_CHECKED = ("astro run sql_data_quality || true",)
_ATTEMPTS: Mapping[str, tuple[Play, Mapping[str, Play]]] = {
    "0d3ffd3a": (
        _visit(_LIST.format("Astro", "dag_id", "asc"), "DAGs - Airflow"),
        {
            "the other way round": _visit(_LIST.format("Astro", "dag_id", "desc"), "DAGs - Airflow"),
            "of another owner": _visit(_LIST.format("airflow", "dag_id", "asc"), "DAGs - Airflow"),
        },
    ),
    "33c8ce09": (_grid("example_astronauts", "graph"), {"the Gantt chart": _grid("example_astronauts", "gantt")}),
    "57a13efe": (
        _commands("workFlow", f"airflow dags unpause {_ECHO}", f"astro run {_ECHO}"),
        {
            "not started": _commands("workFlow", f"airflow dags unpause {_ECHO}"),
            "paused again": _commands(
                "workFlow", f"airflow dags unpause {_ECHO}", f"astro run {_ECHO}", f"airflow dags pause {_ECHO}"
            ),
        },
    ),
    "67ee22b5": (
        _grid(_ECHO, "logs", task="processing"),
        {
            "of another task": _grid(_ECHO, "logs", task="end"),
            "its details": _grid(_ECHO, "details", task="processing"),
        },
    ),
    "699e0c0a": (
        _commands("astro_Project", "astro dev init", "astro config set webserver.port 8002", "astro dev start"),
        {
            "at the usual port": _commands("astro_Project", "astro dev init", "astro dev start"),
            "not started": _commands("astro_Project", "astro dev init", "astro config set webserver.port 8002"),
        },
    ),
    "fe676fc0": (
        _commands(
            "SQL_Check", _SQLITE.format("/tmp/sqlite.db"), "airflow dags unpause sql_data_quality",
            *_CHECKED, then=_grid("sql_data_quality", "logs", task="column_checks"),
        ),
        {
            "another file": _commands(
                "SQL_Check", _SQLITE.format("/tmp/other.db"), "airflow dags unpause sql_data_quality",
                *_CHECKED, then=_grid("sql_data_quality", "logs", task="column_checks"),
            ),
            "another task": _commands(
                "SQL_Check", _SQLITE.format("/tmp/sqlite.db"), "airflow dags unpause sql_data_quality",
                *_CHECKED, then=_grid("sql_data_quality", "logs", task="table_checks"),
            ),
        },
    ),
}  # fmt: skip
"""By the start of the abstract task's id: what solves it, and what comes near."""

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
    lacks=lacks,
    attempts=attempts,
)
