"""What a person does in Airflow's pages, as macros for oracles and wrong attempts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import quote

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.airflow.service import PORT
from deskgym.task_suites.programs.chromium.macros import go, press

_TIMEOUT, _SLOW = 30.0, 60.0  # seconds; the grid comes late on a busy machine
_BESIDE = 24, 7  # pixels from the left upper corner of a pipeline's name to its switch


def switch(screen: Screen, dag: str) -> Bursts:
    """Click the switch of a pipeline in the list of DAGs, which is on the screen."""
    name = screen.find(role="link", name=dag, timeout=_TIMEOUT)
    yield [Action("click", name.x - _BESIDE[0], name.y + _BESIDE[1]), Action("wait", seconds=1.0)]


def clear(screen: Screen, dag: str, run: str, task: str) -> Bursts:
    """Clear a task instance and those after it, on its page."""
    yield from _instance(screen, dag, run, task)
    yield from press(screen, "Clear and retry task.", "push button", "Affected Tasks: *")
    yield from press(screen, "Clear", "push button")
    yield [Action("wait", seconds=2.0)]


def mark(screen: Screen, dag: str, run: str, task: str, state: str = "success") -> Bursts:
    """Set the state of a task instance by hand, on its page."""
    yield from _instance(screen, dag, run, task)
    yield from press(screen, "Manually set task instance state", "push button")
    yield from press(screen, state, "menu item", "Affected Tasks: *")
    yield from press(screen, f"Mark as {state}", "push button")
    yield [Action("wait", seconds=2.0)]


def logs(screen: Screen, dag: str, run: str, task: str, shows: str) -> Bursts:
    """Show the log of a task instance until it has this text."""
    yield from _instance(screen, dag, run, task)
    yield from press(screen, "Logs", "page tab", shows)


def submit(screen: Screen, button: str = "Save *") -> Bursts:
    """Press a form's button, and wait until the form has gone: which page comes then depends on those before it."""
    yield from press(screen, button, "push button")
    end = time.monotonic() + _SLOW
    while screen.find_all(role="push button", name=button) and time.monotonic() < end:
        time.sleep(0.2)


def password(screen: Screen, name: str, text: str) -> Bursts:
    """Type into a field that shows dots."""
    x, y = screen.find(role="password text", name=name, timeout=_TIMEOUT).center
    yield [Action("click", x, y), Action("press", keys=("ctrl", "a")), Action("type", text=text)]


def pick(screen: Screen, name: str, text: str) -> Bursts:
    """Choose from a list that is searched: open it by its name, type and press Return."""
    x, y = screen.find(role="combo box", name=name, timeout=_TIMEOUT).center
    yield [Action("click", x, y), Action("wait", seconds=0.5), Action("type", text=text)]
    yield [Action("wait", seconds=0.5), Action("press", keys=("enter",))]


def _instance(screen: Screen, dag: str, run: str, task: str) -> Bursts:
    """Go to the page of a task instance in the grid of its pipeline."""
    url = f"127.0.0.1:{PORT}/dags/{dag}/grid?dag_run_id={quote(run, safe='')}&task_id={task}"
    yield from go(screen, url, f"{dag} - Grid - Airflow", "document web")
    screen.find(role="push button", name="Clear and retry task.", timeout=_SLOW)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "airflow.switch": switch,
    "airflow.clear": clear,
    "airflow.mark": mark,
    "airflow.logs": logs,
    "airflow.submit": submit,
    "airflow.password": password,
    "airflow.pick": pick,
}
"""By the names that task files use."""
