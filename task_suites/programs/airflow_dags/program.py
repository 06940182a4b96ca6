"""An editor with a DAG file, in front of Airflow's pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.airflow import company
from deskgym.task_suites.programs.airflow.program import open_ as open_airflow
from deskgym.task_suites.programs.airflow_dags.service import DESKTOP_DAGS
from deskgym.task_suites.programs.toolkits.scripts import fill


def open_(setup: Setup, dag: str, page: str = "/home", text: str | None = None) -> None:
    """Open Airflow in Chromium, and the file of a DAG in the editor before it.

    Args:
        setup: the machine with the service ``airflow`` beside it.
        dag: its id.
        page: of Airflow.
        text: what the file has; the company's DAG if left out, and an empty file for one that it does not have.

    Raises:
        SetupError: one of them did not come up.
    """
    path = f"{DESKTOP_DAGS}/{dag}.py"
    if text is not None or dag not in company.PIPELINES:
        setup.machine.put(path, (text or "").encode())
    open_airflow(setup, page)
    launch(
        setup, ["mousepad", path], app="mousepad", role="text", window=f"*{PurePosixPath(path).name}*",
        place=(300, 120, 860, 560),
    )  # fmt: skip


def write(screen: Screen, text: str) -> Bursts:
    """Replace the text in the editor and save it."""
    yield [
        *fill(screen.find(role="text"), text, end=""),
        Action("press", keys=("ctrl", "s")),
        Action("wait", seconds=1.0),
    ]


MACROS: Mapping[str, Callable[..., Bursts]] = {"airflow_dags.write": write}
"""By the names that task files use."""
