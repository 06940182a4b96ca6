"""What a person does in the company's Dagster, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.chromium.macros import press
from deskgym.task_suites.programs.dagster.launchpad import materialize, nearest
from deskgym.task_suites.programs.dagster.macros import await_end, launch, show
from deskgym.task_suites.programs.toolkits.scripts import click

_TIMEOUT = 120.0  # seconds
_BELOW = 120  # pixels from the field of ops down into the editor of a configuration


def configure(screen: Screen, job: str, config: str, ends: str = "SUCCESS") -> Bursts:
    """Launch a job with a configuration that is typed into the launchpad, and wait for the run's end."""
    yield from show(screen, f"locations/company/jobs/{job}/playground", f"Job: {job}")
    field = screen.find(role="entry", name="Type an op subset*", timeout=_TIMEOUT)
    screen.find(role="static", name="batch", timeout=_TIMEOUT)  # it fills itself with what the job takes
    words = [Action("press", keys=("ctrl", "a")), Action("type", text=config)]
    yield [Action("click", field.x + 4 * _BELOW, field.y + _BELOW), *words, Action("wait", seconds=1.0)]
    yield from launch(screen, ends)


def group(screen: Screen, name: str) -> Bursts:
    """Materialize a group of assets, and wait for the run's end."""
    yield from show(screen, f"locations/company/asset-groups/{name}", f"Asset Group: {name}")
    yield from materialize(screen)


def asset(screen: Screen, name: str) -> Bursts:
    """Materialize one asset on its page, and wait for the run's end."""
    yield from show(screen, f"assets/{name}", f"*{name}*")
    yield from materialize(screen)


def open_run(screen: Screen, job: str, status: str = "Success") -> Bursts:
    """Open the page of a job's run with a status, by the list of its runs."""
    yield from show(screen, f"locations/company/jobs/{job}/runs", f"Job: {job}")
    row = screen.find(role="table cell", name=status, timeout=_TIMEOUT)
    links = screen.find_all(role="link", name="View run")
    yield [click(min(links, key=lambda link: abs(link.center[1] - row.center[1])))]
    screen.find(role="document web", name=f"{job} *[[]{status.upper()}[]]", timeout=_TIMEOUT)


def again(screen: Screen, job: str, how: str = "From failure") -> Bursts:
    """Execute the failed run of a job again, as an item of the button's list says, and wait for the new run's end."""
    yield from open_run(screen, job, "Failure")
    button = screen.find(role="push button", name="Re-execute all (*)", timeout=_TIMEOUT)
    yield [click(nearest(screen.find_all(role="push button", name="arrow_drop_down"), button))]
    yield from press(screen, f"*{how}", "menu item")
    await_end(screen)


def read(screen: Screen, job: str, text: str, shows: str = "") -> Bursts:
    """Show the log of a job's run that has succeeded, with the lines that have a text, until there is such a line."""
    yield from open_run(screen, job)
    field = screen.find(role="entry", name="Filter…", timeout=_TIMEOUT)
    yield [click(field), Action("type", text=text)]
    screen.find(name=shows or f"*{text}*rows written*", timeout=_TIMEOUT)


def terminate(screen: Screen, region: str) -> Bursts:
    """Terminate the run that copies a region: its log says which one."""
    for number in (0, 1):
        yield from show(screen, "runs?q%5B0%5D=status%3ASTARTED", "Runs*")
        screen.find(role="link", name="View run", timeout=_TIMEOUT)
        yield [click(screen.find(role="link", name="View run", nth=number, timeout=_TIMEOUT))]
        screen.find(role="document web", name="archive_history *", timeout=_TIMEOUT)
        found = screen.find(name="copied * of 15 parts of *", timeout=_TIMEOUT)
        if found.name.endswith(f" {region}"):
            yield from press(screen, "cancel Terminate", "push button")
            yield from press(screen, "Terminate 1 run", "push button")
            await_end(screen, "CANCELED")
            return


MACROS: Mapping[str, Callable[..., Bursts]] = {
    f"dagster.{macro.__name__}": macro
    for macro in (configure, group, asset, materialize, open_run, again, read, terminate)
}
"""By the names that task files use."""
