"""What the ``corrected`` mode asks of Airflow beside upstream's scripts."""

from __future__ import annotations

import io
import re
import zipfile
from functools import partial
from urllib.parse import parse_qs, urlsplit

from deskgym.envs.errors import GuestCallError
from deskgym.task_suites.importers.spider2v.apps.airflow.service import PROJECTS, STARTED
from deskgym.task_suites.importers.spider2v.frame import CheckFailed, Correction, Scene
from deskgym.task_suites.importers.spider2v.getters import page_of
from deskgym.task_suites.importers.spider2v.layout import HOME
from deskgym.task_suites.programs.airflow.service import LOGS

_CHECKS = {"column_checks": "SQLColumnCheckOperator", "table_checks": "SQLTableCheckOperator"}
_PASSED = "All tests have passed"
_INITIALIZED = ("dags", "Dockerfile", "packages.txt", "requirements.txt")


def is_started(scene: Scene, dag: str, port: int) -> None:
    """The project has what ``astro dev init`` makes, and Airflow runs it for a port. Raises CheckFailed where not."""
    airflow = scene.final.companions["airflow"]
    said = airflow.run(["head", "-c", "1000", STARTED, f"{PROJECTS}/astro_Project/.astro/config.yaml"], user="nobody")
    if not re.search(
        rf"\nastro_Project \d+\n(.*\n)*webserver:\n *port: ['\"]?{port}\b", said.stdout.decode(errors="replace")
    ):
        raise CheckFailed(f"the project astro_Project is not the one that was started for port {port}")
    listed = airflow.run(["ls", f"{PROJECTS}/astro_Project"], user="nobody").stdout.decode(errors="replace").split()
    if missing := [name for name in _INITIALIZED if name not in listed]:
        raise CheckFailed(f"the project lacks {', '.join(missing)}")
    if not airflow.sql(f"SELECT dag_id FROM dag WHERE dag_id = '{dag}' AND is_active"):
        raise CheckFailed(f"Airflow has not read the project's {dag}")


def is_given(scene: Scene, path: str) -> None:
    """A file of the project in upstream's archive is as it was given. Raises CheckFailed where not."""
    archive = next(step["src"] for step in scene.record.config if step.type == "copyfile_from_host_to_guest")
    with zipfile.ZipFile(io.BytesIO(archive.read_bytes())) as members:
        given = members.read(path)
    found = scene.final.companions["airflow"].run(["head", "-c", "100000", f"{PROJECTS}/{path}"], user="nobody")
    if found.stdout != given:
        raise CheckFailed(f"{path} is not as it was given")


def logs_are_airflows(scene: Scene) -> None:
    """The downloaded logs have the lines of two checks that passed in Airflow. Raises CheckFailed where not."""
    airflow = scene.final.companions["airflow"]
    for task, operator in _CHECKS.items():
        runs = airflow.sql(
            "SELECT run_id FROM task_instance WHERE dag_id = 'sql_data_quality' AND state = 'success' "
            f"AND task_id = '{task}' AND operator = '{operator}' AND run_id LIKE 'manual%'"
        )
        if not runs:
            raise CheckFailed(f"no {operator} {task!r} of a run by hand succeeded in Airflow")
        written = airflow.run(
            ["bash", "-c", f"cat {LOGS}/dag_id=sql_data_quality/run_id=manual*/task_id={task}/attempt=*.log"],
            user="guest",
        ).stdout.decode(errors="replace")
        try:
            found = scene.machine.get(f"{HOME}/Downloads/{task}.log").decode(errors="replace")
        except GuestCallError as error:
            raise CheckFailed(str(error)) from error
        if not any(line in found for line in written.splitlines() if _PASSED in line):
            raise CheckFailed(f"{task}.log is not a log of Airflow's, of a task whose tests passed")


def shows_dags(scene: Scene) -> None:
    """The page in front is Airflow's list of DAGs. Raises CheckFailed where it is another one."""
    page = page_of(scene)
    if "/home?" not in page["url"] or not page["title"].endswith("DAGs - Airflow"):
        raise CheckFailed(f"{page['url']} is not the list of DAGs")


def shows_dag(scene: Scene, dag: str) -> None:
    """The page in front is that of a DAG. Raises CheckFailed where it is another one."""
    page = page_of(scene)
    if f"/dags/{dag}/grid?" not in page["url"] or not page["title"].startswith(dag):
        raise CheckFailed(f"{page['url']} is not the page of {dag}")


def shows_log(scene: Scene, dag: str, task: str) -> None:
    """The page in front is a task's log in a run by hand. Raises CheckFailed where it is another one."""
    shows_dag(scene, dag)
    url = page_of(scene)["url"]
    asked = parse_qs(urlsplit(url).query)
    rows = scene.final.companions["airflow"].sql(
        f"SELECT run_id FROM task_instance WHERE dag_id = '{dag}' AND task_id = '{task}' AND run_id LIKE 'manual%'"
    )
    runs = [[row["run_id"]] for row in rows]
    if asked.get("dag_run_id") not in runs or (asked.get("task_id"), asked.get("tab")) != ([task], ["logs"]):
        raise CheckFailed(f"{url} is not the log of {task} in a run by hand")


_PAGE = "the address may be of a page that is not there"
_LOG = f"{_PAGE}; after a change of the administrator's password that of any run counts"
CORRECTIONS = {
    "airflow/699e0c0a-3fdc-4c10-ad9f-c4c9d7a9947b": Correction(
        "whether the project is whole, and whether Airflow runs it, is not looked at",
        test=partial(is_started, dag="example_astronauts", port=8002),
    ),
    "airflow/57a13efe-c008-4bc9-8959-36276115da0b": Correction(
        "the DAG's file may be another one", test=partial(is_given, path="workFlow/dags/workFlow_Echo.py")
    ),
    "airflow/06b8d673-f953-4f82-86b3-5f5cfe5c8aec": Correction(
        "the logs may be anybody's text; they must be Airflow's, of checks that passed", test=logs_are_airflows
    ),
    "airflow/0d3ffd3a-2034-47fb-b33f-1a849b641484": Correction(_PAGE, test=shows_dags),
    "airflow/33c8ce09-de8b-4432-8308-603b98513fdc": Correction(
        _PAGE, test=partial(shows_dag, dag="example_astronauts")
    ),
    "airflow/67ee22b5-caf1-4aa9-92c5-57546b3d823c": Correction(
        _LOG, test=partial(shows_log, dag="workFlow_Echo", task="processing")
    ),
    "airflow/fe676fc0-fbe7-4d1e-a8d5-b0234ee9730b": Correction(
        _LOG, test=partial(shows_log, dag="sql_data_quality", task="column_checks")
    ),
}  # fmt: skip
"""By the abstract task's id."""
