"""What a person does in Dagster's pages, as macros for oracles and wrong attempts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.chromium.macros import go, press
from deskgym.task_suites.programs.toolkits.scripts import click

SITE = "localhost:3000"
_TIMEOUT, _SLOW = 60.0, 240.0  # seconds; a run starts a process for each of its steps
_WRITTEN = Action("wait", seconds=2.0)
"""Until a switch has told the server: the page shows nothing that says so."""


def show(screen: Screen, page: str, title: str = "*", site: str = SITE) -> Bursts:
    """Go to a page of Dagster, such as ``runs`` or ``locations/shop/jobs/load``."""
    yield from go(screen, f"{site}/{page}", "*", "document web")
    screen.find(role="document web", name=title, timeout=_SLOW)


def reload(screen: Screen, site: str = SITE) -> Bursts:
    """Load all code again, on the page of code locations."""
    yield from show(screen, "locations", "Code locations", site)
    screen.find(role="push button", name="refresh Reload all", timeout=_SLOW)
    yield from press(screen, "refresh Reload all", "push button")
    yield [Action("wait", seconds=1.0)]  # else it is not disabled yet
    screen.find(role="push button", name="refresh Reload all", state="enabled", timeout=_SLOW)


def launch(screen: Screen, ends: str = "SUCCESS") -> Bursts:
    """Press "Launch Run" in the launchpad, and wait until the page of the run says how it has ended."""
    screen.find(role="push button", name="*Launch Run", state="sensitive", timeout=_TIMEOUT)
    yield from press(screen, "*Launch Run", "push button")
    await_end(screen, ends)


def await_end(screen: Screen, ends: str = "SUCCESS") -> None:
    """Wait until the page of a run, which is on the screen, says how it has ended."""
    screen.find(role="document web", name=f"*[[]{ends}[]]", timeout=_SLOW)


def launch_job(screen: Screen, location: str, job: str, ends: str = "SUCCESS", site: str = SITE) -> Bursts:
    """Launch a job in its launchpad as it stands there, and wait for the run's end."""
    yield from show(screen, f"locations/{location}/jobs/{job}/playground", f"Job: {job}", site)
    yield from launch(screen, ends)


def switch(screen: Screen, page: str, site: str = SITE) -> Bursts:
    """Click the switch on the page of a schedule or sensor."""
    yield from show(screen, page, f"*: {page.rpartition('/')[2]}", site)
    row = screen.find(role="section", name="Running", timeout=_TIMEOUT)
    labels = [each for each in screen.find_all(role="label") if abs(each.center[1] - row.center[1]) < row.height]
    yield [click(min(labels, key=lambda each: each.x)), _WRITTEN]


def _at_rest(screen: Screen, role: str) -> None:
    """Wait until an element has stopped moving."""
    last = None
    while (found := screen.find(role=role, timeout=_TIMEOUT)) != last:
        last = found
        time.sleep(0.2)


def test_sensor(screen: Screen, page: str, cursor: str, site: str = SITE) -> Bursts:
    """Evaluate a sensor with a cursor, and open its first request for a run in the launchpad."""
    yield from show(screen, page, f"*: {page.rpartition('/')[2]}", site)
    screen.find(role="push button", name="Test Sensor", timeout=_SLOW)
    yield from press(screen, "Test Sensor", "push button", "Evaluate")
    _at_rest(screen, "dialog")
    fields = [each for each in screen.find_all(role="entry") if not each.name]
    yield [click(fields[-1])]
    screen.find(role="entry", name="", state="focused", timeout=_TIMEOUT)
    yield [Action("type", text=cursor)]
    screen.find(role="entry", text=cursor, timeout=_TIMEOUT)
    yield from press(screen, "Evaluate", "push button")
    screen.find(role="link", name="edit Open in Launchpad", timeout=_SLOW)
    yield from press(screen, "edit Open in Launchpad", "link")


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "dagster.show": show,
    "dagster.reload": reload,
    "dagster.launch": launch,
    "dagster.launch_job": launch_job,
    "dagster.switch": switch,
    "dagster.test_sensor": test_sensor,
}
"""By the names that task files use."""
