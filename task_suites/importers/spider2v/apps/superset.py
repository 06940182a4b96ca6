"""Superset: charts, dashboards and SQL in Chromium, over a server that runs natively in a companion.

Setup scripts call ``docker``, which is a small command here, and Superset's REST interface. Evaluation scripts call the
same interface from the clean machine, which gets the companion's link once the episode is over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from deskgym.envs.errors import SetupError
from deskgym.envs.needs import Needs
from deskgym.task_suites.importers.spider2v import superset_data
from deskgym.task_suites.importers.spider2v.config import content_of
from deskgym.task_suites.importers.spider2v.config import run_script as run_setup_script
from deskgym.task_suites.importers.spider2v.frame import App, CheckFailed, Correction, Scene, Stage
from deskgym.task_suites.importers.spider2v.layout import BIN, GUEST, HOME, app_layer
from deskgym.task_suites.importers.spider2v.record import Step, UpstreamTask
from deskgym.task_suites.importers.spider2v.scripts import run_in_clean_machine
from deskgym.task_suites.importers.spider2v.superset_attempts import attempts
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
_MY_CHART = "UPDATE slices SET slice_name = 'Mychart' WHERE slice_name = 'Units by Product'"
_REGISTER = ("superset/9771b80c-81e3-4d5e-873a-0c66d1a12d0b", "superset/a3290ae7-d53e-43fb-8b7f-35845b1b4c95")
_DELETE = ("superset/35c4ad79-092b-4306-a4f7-192c24931474", "superset/fc08281a-ae88-436e-845f-2260ff49fe94")


def copy_file(stage: Stage, step: Step) -> None:
    """``copyfile_from_host_to_guest``: one of the task's files, or own data in place of the one that is missing."""
    source = Path(step["src"])
    own = source.name == superset_data.FILE and not source.exists()
    stage.machine.put(step["dest"], superset_data.script(source.parent).encode() if own else content_of(step))


def run_script(stage: Stage, step: Step) -> None:
    """``script_and_execute``: the setup, over what upstream's own databases have beside the script's."""
    companion = stage.setup.companion("superset")
    if stage.record.id in _REGISTER:
        companion.execute(_ANNOTATION, database="superset")
    if stage.record.id in _DELETE:
        companion.execute(_MY_CHART)
    run_setup_script(stage, step)
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
        if isinstance(source, Path) and source.name == superset_data.FILE and not source.exists():
            if not superset_data.sources(source.parent):
                yield f"its file {superset_data.FILE} is not in this copy, nor are the CSV files that stand for it"


def others_remain(scene: Scene) -> None:
    """Only the chart of the instruction is gone. Raises CheckFailed where another one is."""
    superset = scene.final.companions["superset"]
    names = "SELECT slice_name FROM slices ORDER BY 1"
    before, now = ([row["slice_name"] for row in superset.sql(names, base=base)] for base in (True, False))
    if len(now) < len(before) - 1:
        raise CheckFailed(f"the charts {', '.join(now)} are left of {', '.join(before)}; only one should be gone")


def dates_are_dates(scene: Scene) -> None:
    """The uploaded column of dates is one in the database. Raises CheckFailed where it is a text."""
    superset = scene.final.companions["superset"]
    found = superset.sql(
        "SELECT is_dttm FROM table_columns JOIN tables ON tables.id = table_id "
        "WHERE table_name = 'tutorial_flights' AND column_name = 'Travel Date'"
    )
    if [row["is_dttm"] for row in found] != [1]:
        raise CheckFailed("the column 'Travel Date' of 'tutorial_flights' was not parsed as dates")


APP = App(
    name="superset",
    programs=("superset", "geany"),
    needs=Needs(
        packages=("curl", "jq"),
        layers=(app_layer("superset", files={f"{BIN}/docker": GUEST / "docker.sh", PROJECT: b"# native here\n"}),),
    ),
    config={
        "copyfile_from_host_to_guest": copy_file,
        "script_and_execute": run_script,
        "superset_webui_init": open_superset,
    },
    opens_page=("superset_webui_init",),
    run_script=run_evaluation,
    makes=(superset_data.FILE,),
    corrections={
        _DELETE[0]: Correction("that all other charts remain is not checked", test=others_remain),
        "superset/52d3a685-df8d-45bf-83d2-1172c6ae09ff": Correction(
            "whether the dates were parsed is looked at and not counted", test=dates_are_dates
        ),
    },
    lacks=lacks,
    attempts=attempts,
)
