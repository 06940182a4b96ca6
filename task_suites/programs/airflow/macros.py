"""What a person does in Airflow's pages, as macros for oracles and wrong attempts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from urllib.parse import quote

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.airflow.service import PORT
from deskgym.task_suites.programs.chromium.macros import fill, go, press
from deskgym.task_suites.programs.toolkits.scripts import click

_TIMEOUT, _SLOW = 30.0, 60.0  # seconds; the grid comes late on a busy machine
_BESIDE = 24, 7  # pixels from the left upper corner of a pipeline's name to its switch


def switch(screen: Screen, dag: str) -> Bursts:
    """Click the switch of a pipeline in the list of DAGs, which is on the screen."""
    name = screen.find(role="link", name=dag, timeout=_TIMEOUT)
    yield [Action("click", name.x - _BESIDE[0], name.y + _BESIDE[1]), Action("wait", seconds=1.0)]


def switches(screen: Screen, dags: list[str]) -> Bursts:
    """Click the switches of several pipelines."""
    for dag in dags:
        yield from switch(screen, dag)


def edit(screen: Screen, page: str, row: str) -> Bursts:
    """Open the form of a row in one of the lists under Admin or Security, such as ``pool`` or ``users``."""
    yield from go(screen, f"127.0.0.1:{PORT}/{page}/list/", "List *", "heading")
    cell = screen.find(role="table cell", name=row, timeout=_TIMEOUT)
    links = screen.find_all(role="link", name="Edit *")
    yield [click(min(links, key=lambda link: abs(link.center[1] - cell.center[1])))]
    screen.find(role="heading", name="Edit *", timeout=_SLOW)


def trigger(screen: Screen, dag: str, key: str = "", value: str = "") -> Bursts:
    """Start a pipeline by hand with its form, with another value in its configuration where one is given."""
    yield from go(screen, f"127.0.0.1:{PORT}/dags/{dag}/trigger", "Trigger DAG: *", "heading")
    if key:
        yield from fill(screen, f"{key}:", value)
    yield from submit(screen, "Trigger")


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


def pick(screen: Screen, name: str, option: str) -> Bursts:
    """Choose from a list that opens by its name, which is what was chosen before."""
    yield from press(screen, name, "combo box")
    yield from press(screen, option, "list item", f"× {option}")


def select(screen: Screen, option: str) -> Bursts:
    """Choose a role in the form of an account, which has none yet."""
    yield from press(screen, "Select Value", "entry")
    yield from press(screen, option, "list item", "×")


def _instance(screen: Screen, dag: str, run: str, task: str) -> Bursts:
    """Go to the page of a task instance in the grid of its pipeline."""
    url = f"127.0.0.1:{PORT}/dags/{dag}/grid?dag_run_id={quote(run, safe='')}&task_id={task}"
    yield from go(screen, url, f"{dag} - Grid - Airflow", "document web")
    screen.find(role="push button", name="Clear and retry task.", timeout=_SLOW)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "airflow.switch": switch,
    "airflow.switches": switches,
    "airflow.edit": edit,
    "airflow.trigger": trigger,
    "airflow.clear": clear,
    "airflow.mark": mark,
    "airflow.logs": logs,
    "airflow.submit": submit,
    "airflow.password": password,
    "airflow.pick": pick,
    "airflow.select": select,
}
"""By the names that task files use."""
