"""Dagster: projects that ``dagster dev`` serves in the agent's own machine, with an editor, a terminal and Chromium.

Evaluation scripts run in the clean machine, over copies of the agent's project and of its DAGSTER_HOME. What they ask
of a web server is asked of the agent's, and its answer lies where the script would have written it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from deskgym.envs.errors import GuestCallError
from deskgym.envs.needs import Needs
from deskgym.task_suites.hooks.waits import wait_for_command
from deskgym.task_suites.importers.spider2v.apps.dagster_attempts import attempts
from deskgym.task_suites.importers.spider2v.frame import App, CheckFailed, Correction, Scene, Stage
from deskgym.task_suites.importers.spider2v.layout import CONDA, HOME, app_layer
from deskgym.task_suites.importers.spider2v.record import Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import JUDGE, run_in_clean_machine, run_setup
from deskgym.task_suites.importers.spider2v.windows import open_page
from deskgym.task_suites.programs.dagster.environment import INSTANCE, QUIET

STARTED = 240.0
"""Seconds that ``dagster dev`` may take; on a busy machine it took 97."""

_LACKS = {
    "215615ac-996f-406f-8c90-e67dd185b488": "needs Airflow and dagster-airflow beside Dagster, and MySQL",
    "e67d315c-8c1f-451b-baec-aba50ce88166": "needs Airbyte's Docker images, and MySQL",
}
_FOLDER = "/tmp/.spider2v-dagster"
_DEV = f"""source {CONDA}/etc/profile.d/conda.sh; conda activate dagster; export DAGSTER_HOME={HOME}/.dagster
exec dagster dev -p 3000 >start_server.log 2>&1"""
_CURL = re.compile(r"^curl -s -o (\S+) (http://localhost:\S+)$", re.MULTILINE)
_DIFF = "diff -i customers.csv gold_customers.csv"
_SORTED = "diff -i <(sort customers.csv) <(sort gold_customers.csv)"
_OWN_NAME = "sed -i 1s/,total_order_amount/,customer_lifetime_value/ customers.csv"
_NUMPY = "type(result) == np.float64"
_ASKED = """{ workspaceOrError { ... on Workspace { locationEntries { locationOrLoadError { ... on RepositoryLocation {
repositories { location { name } jobs { name } sensors { name } } } } } } } }"""


def run_init(stage: Stage, step: Step) -> None:
    """``script_and_execute``: all of the script but ``dagster dev``, which goes on until the evaluation.

    What a script leaves running ends with the agent's turn; a launched program does not.
    """
    text = Path(step["src"]).read_text()
    run_setup(stage, re.sub(r"^start_dagster_server$", f"pwd > {_FOLDER}", text, flags=re.MULTILINE), step["dest"])
    if stage.machine.guest.exists(_FOLDER):
        folder = stage.machine.get(_FOLDER).decode().strip()
        stage.machine.run(["rm", _FOLDER])
        stage.machine.guest.launch(["bash", "-c", _DEV], cwd=folder)


def open_web(stage: Stage, step: Step) -> None:
    """``dagster_webui_init``: the page of the server, once it has its links."""
    url = step["url"]
    wait_for_command(stage.setup, ["curl", "-qsf", "-m", "5", "-o", "/dev/null", f"{url}/server_info"], timeout=STARTED)
    open_page(stage.setup, url, role="link")


def run_script(scene: Scene, text: str, place: str) -> str:
    """What a script prints in the clean machine, with the pages that it asks of the agent's web server."""
    for number, (file, url) in enumerate(_CURL.findall(text)):
        page = f"{JUDGE}/page-{number}"
        scene.clean.put(page, _get(scene, url), owner="guest")
        text = text.replace(f"curl -s -o {file} {url}", f"cp {page} {file}")
    if scene.mode == "corrected":  # the schema file, which the instruction names, calls the column so
        text = text.replace(f"if {_DIFF}", f"{_OWN_NAME}\nif {_SORTED}").replace(_NUMPY, "isinstance(result, float)")
    return run_in_clean_machine(scene, text, place)


def _get(scene: Scene, url: str, *options: str) -> bytes:
    """What the agent's web server answers; empty where there is none."""
    try:
        return scene.machine.run(["curl", "-qs", "-m", "30", *options, url]).stdout
    except GuestCallError as error:
        raise CheckFailed(f"{url}: {error}") from error


def _serves(port: int, location: str, kind: str, name: str, scene: Scene) -> None:
    """Raise CheckFailed where no web server of Dagster's has this code location, with such a job or sensor in it."""
    url = f"http://localhost:{port}/graphql"
    answer = _get(scene, url, "-H", "Content-Type: application/json", "-d", json.dumps({"query": _ASKED}))
    try:
        entries: Any = json.loads(answer)["data"]["workspaceOrError"]["locationEntries"]
        found = [each for entry in entries for each in (entry["locationOrLoadError"] or {}).get("repositories", ())]
        there = any(
            each["location"]["name"] == location and (not kind or name in [one["name"] for one in each[kind]])
            for each in found
        )
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise CheckFailed(f"no web server of Dagster's answers at port {port}: {error!r}") from error
    if not there:
        raise CheckFailed(f"the web server at port {port} has no {name or location}")


def lacks(record: UpstreamTask) -> Iterator[str]:
    """What the tasks need beside Dagster that is not here."""
    for name in (record.id, record.counterpart):
        if (need := _LACKS.get(name.partition("/")[2])) is not None:
            yield need


_PAGE = "any answer at the port passes; Dagster's own server must have loaded what is asked for"
_SIZES = "file_sizes_job.py"
_CORRECTIONS: Mapping[str, Correction] = {
    "dagster/0dff0011-afff-4ab8-ae07-83f5ab95d215": Correction(
        _PAGE, test=partial(_serves, 8004, "dagster_proj", "", "")
    ),
    "dagster/8a8b875d-1f10-40fa-b998-8fd8ebb3515b": Correction(
        _PAGE, test=partial(_serves, 3000, _SIZES, "jobs", "file_sizes_job")
    ),
    "dagster/46eb418d-c5d3-46b7-9f48-999f8a75c960": Correction(
        _PAGE, test=partial(_serves, 3000, "file_watch_sensor", "sensors", "directory_sensor")
    ),
    "dagster/85e31bb7-9b44-41c2-8fea-a8f9316d0b67": Correction(
        "the gold's last column has another name than the schema file says, and its rows have an order that nobody "
        "asks for; both names pass, and any order"
    ),
    "dagster/b8614458-2d9f-47fc-b98c-7ebf2a388781": Correction(
        "the score must be numpy's number, which scikit-learn gives before 1.5; a float passes too"
    ),
}

APP = App(
    name="dagster",
    programs=("terminal", "geany", "chromium"),
    needs=Needs(
        memory_mb=3072,
        packages=("unzip",),
        layers=(
            QUIET,
            app_layer("dagster", files={f"{HOME}/.dagster/{name}": text.encode() for name, text in INSTANCE.items()}),
        ),
    ),
    config={"script_and_execute": run_init, "dagster_webui_init": open_web},
    opens_page=("dagster_webui_init",),
    run_script=run_script,
    keeps=(".dagster",),
    corrections=_CORRECTIONS,
    lacks=lacks,
    attempts=attempts,
)
