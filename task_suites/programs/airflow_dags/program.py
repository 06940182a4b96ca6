"""An editor with a DAG file in front of Airflow's pages, and the warehouse that DAGs load."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks import services
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.airflow import company
from deskgym.task_suites.programs.airflow.macros import submit
from deskgym.task_suites.programs.airflow.program import open_ as open_airflow
from deskgym.task_suites.programs.airflow.service import PORT as AIRFLOW_PORT
from deskgym.task_suites.programs.airflow_dags.service import DESKTOP_DAGS
from deskgym.task_suites.programs.chromium.macros import go
from deskgym.task_suites.programs.retail.functions import script
from deskgym.task_suites.programs.toolkits.scripts import fill
from deskgym.task_suites.programs.warehouse.service import DATABASE, PASSWORD, PORT, ROLE

_SLOW = 120.0  # seconds


def open_(setup: Setup, dag: str = "", page: str = "/home", text: str | None = None) -> None:
    """Open Airflow in Chromium, and the file of a DAG in the editor before it.

    Args:
        setup: the machine with the service ``airflow`` beside it.
        dag: its id; "" opens no editor.
        page: of Airflow.
        text: what the file has; the company's DAG if left out, and an empty file for one that it does not have.

    Raises:
        SetupError: one of them did not come up.
    """
    path = f"{DESKTOP_DAGS}/{dag}.py"
    if dag and (text is not None or dag not in company.PIPELINES):
        setup.machine.put(path, (text or "").encode())
    open_airflow(setup, page)
    if dag:
        launch(
            setup, ["mousepad", path], app="mousepad", role="text", window=f"*{PurePosixPath(path).name}*",
            place=(300, 120, 860, 560),
        )  # fmt: skip


def warehouse(setup: Setup, tables: dict[str, list[list[Any]]] | None = None) -> None:
    """Make tables in the warehouse beside Airflow, and let Airflow's connection ``warehouse`` lead to it.

    DAGs connect to it as ``analyst``, who owns the schema ``analytics``; so can the desktop, at PostgreSQL's port.

    Args:
        setup: the machine with the service ``airflow`` beside it.
        tables: rows by name, with a header; the agent may read them.

    Raises:
        SetupError: a statement failed.
    """
    rights = f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE};"
    services.sql(setup, "airflow", script(tables or {}, "postgresql") + rights, database=DATABASE)
    services.sql(
        setup, "airflow",
        f"UPDATE connection SET host = '127.0.0.1', port = {PORT}, schema = '{DATABASE}', login = '{ROLE}', "
        f"password = '{PASSWORD}' WHERE conn_id = 'warehouse'",
    )  # fmt: skip


def write(screen: Screen, text: str) -> Bursts:
    """Replace the text in the editor and save it."""
    yield [
        *fill(screen.find(role="text"), text, end=""),
        Action("press", keys=("ctrl", "s")),
        Action("wait", seconds=1.0),
    ]


def run(screen: Screen, dag: str) -> Bursts:
    """Start a DAG by hand in Chromium, which a click brings to the front, and wait until the run has succeeded.

    A file that was just saved is read a little later: until then its page is not there.

    Args:
        screen: what an agent sees.
        dag: its id.
    """
    yield [Action("click", 20, screen.size[1] // 2)]
    yield from _until(screen, f"dags/{dag}/trigger", "heading", "Trigger DAG: *")
    yield from submit(screen, "Trigger")
    found = f"dagrun/list/?_flt_3_dag_id={dag}&_flt_3_state=success"
    yield from _until(screen, found, "link", "manual__*")


def _until(screen: Screen, page: str, role: str, name: str) -> Bursts:
    """Go to a page, again and again, until it has an element; one of a DAG that was not read yet is titled Airflow."""
    end = time.monotonic() + _SLOW
    while True:
        yield from go(screen, f"127.0.0.1:{AIRFLOW_PORT}/{page}", "*Airflow", "document web")
        if screen.find_all(role=role, name=name):
            return
        if time.monotonic() > end:
            screen.find(role=role, name=name)  # says what is there in its place


MACROS: Mapping[str, Callable[..., Bursts]] = {"airflow_dags.write": write, "airflow_dags.run": run}
"""By the names that task files use."""
