"""How Superset's tasks are set up and judged.

Setup scripts call ``docker``, which is a small command here, and Superset's REST interface. Evaluation scripts call the
same interface from the clean machine, which gets the companion's link once the episode is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from deskgym.envs.errors import SetupError
from deskgym.envs.needs import Needs
from deskgym.task_suites.importers.spider2v import config
from deskgym.task_suites.importers.spider2v.apps.superset import data
from deskgym.task_suites.importers.spider2v.apps.superset.attempts import attempts
from deskgym.task_suites.importers.spider2v.apps.superset.corrections import CORRECTIONS, DELETE, FORMER_NAME
from deskgym.task_suites.importers.spider2v.frame import App, Scene, Stage
from deskgym.task_suites.importers.spider2v.layout import BIN, HOME, app_layer
from deskgym.task_suites.importers.spider2v.record import Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import run_in_clean_machine
from deskgym.task_suites.programs import load_program

PROJECT = f"{HOME}/projects/superset/docker-compose-image-tag.yml"
_DATABASE = re.compile(r"\"database_name\": *\"(\w+)\"|databases/(\w+)\.yaml")
_ANNOTATION = """
CREATE TABLE annotation (
  created_on timestamp, changed_on timestamp, id serial PRIMARY KEY, start_dttm timestamp, end_dttm timestamp,
  layer_id integer, short_descr text, long_descr text, json_metadata text
);
ALTER TABLE annotation OWNER TO superset
"""
_MY_CHART = f"UPDATE slices SET slice_name = 'Mychart' WHERE slice_name = '{FORMER_NAME}'"
_REGISTER = "superset/a3290ae7-d53e-43fb-8b7f-35845b1b4c95"


def copy_file(stage: Stage, step: Step) -> None:
    """``copyfile_from_host_to_guest``: one of the task's files, or own data in place of the one that is missing."""
    source = Path(step["src"])
    own = source.name == data.FILE and not source.exists()
    content = data.script(source.parent).encode() if own else config.content_of(step)
    stage.machine.put(step["dest"], content)


def run_script(stage: Stage, step: Step) -> None:
    """``script_and_execute``: the setup, over what upstream's own databases have beside the script's."""
    companion = stage.setup.companion("superset")
    ids = (stage.record.id, stage.record.counterpart)
    if _REGISTER in ids:
        companion.execute(_ANNOTATION, database="superset")
    if DELETE in ids:
        companion.execute(_MY_CHART)
    config.run_script(stage, step)
    lines = [line for line in Path(step["src"]).read_text().splitlines() if not line.startswith("#")]
    found = {row["database_name"] for row in companion.sql("SELECT database_name FROM dbs")}
    missing = {"".join(names) for names in _DATABASE.findall("\n".join(lines))} - found
    if missing:
        raise SetupError(f"after the setup Superset has no database {', '.join(missing)}; it has {', '.join(found)}")


def open_superset(stage: Stage, step: Step) -> None:
    """``superset_webui_init``: the start page, with the administrator logged in."""
    load_program("superset").hooks["superset.open"](stage.setup, host="localhost")


def run_evaluation(scene: Scene, text: str, place: str) -> str:
    """Run a script in the clean machine, which reaches Superset as the agent's machine did."""
    scene.final.companions["superset"].attach(scene.clean)
    return run_in_clean_machine(scene, text, place)


def lacks(record: UpstreamTask) -> Iterable[str]:
    """Tasks that need the missing databases where the files are not there which own data is made of."""
    for step in record.config:
        source = step.parameters.get("src")
        if isinstance(source, Path) and source.name == data.FILE and not source.exists():
            if not data.sources(source.parent):
                yield f"its file {data.FILE} is not in this copy, nor are the CSV files that stand for it"


APP = App(
    name="superset",
    programs=("superset", "geany"),
    needs=Needs(
        packages=("curl", "jq"),
        layers=(
            app_layer(
                "superset", files={f"{BIN}/docker": Path(__file__).parent / "docker.sh", PROJECT: b"# native here\n"}
            ),
        ),
    ),
    config={
        "copyfile_from_host_to_guest": copy_file,
        "script_and_execute": run_script,
        "superset_webui_init": open_superset,
    },
    opens_page=("superset_webui_init",),
    run_script=run_evaluation,
    corrections=CORRECTIONS,
    lacks=lacks,
    attempts=attempts,
)
