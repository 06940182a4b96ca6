"""How Dagster's tasks are played: code is written by commands, and the pages are clicked in Chromium."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import BurstOrProgram, Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.importers.spider2v.apps.dagster_code import (
    MODEL,
    PREDICTIONS,
    customers,
    model,
    orders,
    sensor,
    sizes,
    sklearn,
)  # fmt: skip
from deskgym.task_suites.importers.spider2v.attempts import run
from deskgym.task_suites.importers.spider2v.frame import Attempts
from deskgym.task_suites.importers.spider2v.record import Mode, UpstreamTask
from deskgym.task_suites.programs.dagster.launchpad import materialize
from deskgym.task_suites.programs.dagster.macros import (
    launch,
    launch_job,
    reload,
    show,
    switch,
    test_sensor,
)  # fmt: skip

STARTED = 240.0
"""Seconds that ``dagster dev`` may take."""

Part = Callable[[Screen], Bursts]


@dataclass(frozen=True)
class Played:
    """Commands that a shell runs, and what is done on the screen after them."""

    commands: Sequence[str] = ()
    parts: Sequence[Part] = field(default=())

    def __call__(self, screen: Screen) -> Iterator[BurstOrProgram]:
        """As a script."""
        yield from (run(command) for command in self.commands)
        for part in self.parts:
            yield from part(screen)
        yield [Action("done")]


def typed(command: str, shows: str, screen: Screen) -> Bursts:
    """Type a command into the terminal, and wait until a line of its text is, or has, what it shows."""
    screen.find(role="terminal", text="*(dagster) user@desktop:*")
    yield [Action("type", text=f"{command}\n")]
    until = time.monotonic() + STARTED
    while shows not in screen.find(role="terminal").text.partition(command)[2]:
        if time.monotonic() > until:
            raise SetupError(f"the terminal did not show {shows!r} within {STARTED:g} s after {command!r}")
        time.sleep(0.2)


def lineage(screen: Screen) -> Bursts:
    """Load the code again, and materialize all assets."""
    yield from reload(screen)
    yield from show(screen, "asset-groups/", "Global Asset Lineage")
    yield from materialize(screen)


def _page(page: str, title: str, name: str, screen: Screen) -> Bursts:
    yield from show(screen, page, title)
    screen.find(name=name, timeout=60.0)


# math-proj

_MATH = "locations/math_proj/sensors/math_sensor"


def _tested(cursor: str, ends: str, screen: Screen) -> Bursts:
    yield from test_sensor(screen, _MATH, cursor)
    yield from launch(screen, ends)


# sklearn-dagster

_LOCATION = "sklearn_repo@sklearn_repository.py"
_RUN_JOB: Part = partial(launch_job, location=_LOCATION, job="sklearn_job")
_START: Part = partial(switch, page=f"locations/{_LOCATION}/schedules/every_weekday_hour")

# file-watch-sensor

_START_SENSOR: Part = partial(switch, page="locations/file_watch_sensor/sensors/directory_sensor")

# orders

_CHECKS: Part = partial(_page, "assets/subprocess_asset?view=checks", "*subprocess_asset*", "no_null_check*")
_EVENTS: Part = partial(_page, "assets/subprocess_asset?view=events", "*subprocess_asset*", "Events")

# dbt-dagster-proj

# file-ops-and-jobs


def _served(port: int) -> str:
    return f"Serving dagster-webserver on http://127.0.0.1:{port}"


_DEV: Part = partial(typed, "dagster dev -f file_sizes_job.py", _served(3000))

# hacker-news-ml-pipeline

_SCAFFOLD = "dagster project scaffold --name {}"
_MADE = "Success! Created"
_ATTEMPTS: Mapping[str, tuple[Played, Mapping[str, Played]]] = {
    "dagster/0da85c2f-db82-4b7b-bf1a-ee72071d84af": (
        Played(sklearn('"Age", "Fare"'), (reload, _RUN_JOB, _START)),
        {
            "not launched": Played(sklearn('"Age", "Fare"'), (reload, _START)),
            "the schedule not started": Played(sklearn('"Age", "Fare"'), (reload, _RUN_JOB)),
        },
    ),
    "dagster/0dff0011-afff-4ab8-ae07-83f5ab95d215": (
        Played(parts=[partial(typed, "dagster dev -p 8004", _served(8004))]),
        {
            "another port": Played(parts=[partial(typed, "dagster dev -p 8005", _served(8005))]),
            "another server": Played(parts=[partial(typed, "python -m http.server 8004", "Serving HTTP")]),
        },
    ),
    "dagster/1a57b227-d047-4dc9-8a33-2d4d02788667": (
        Played(parts=[partial(typed, _SCAFFOLD.format("dagster-proj"), _MADE)]),
        {
            "another name": Played(parts=[partial(typed, _SCAFFOLD.format("dagster_project"), _MADE)]),
            "folders alone": Played(["mkdir -p ~/dagster-proj/dagster_proj ~/dagster-proj/dagster_proj_tests"]),
        },
    ),
    "dagster/3d0a78fd-2fc3-48e0-9d2c-280afc247b56": (
        Played(parts=[partial(_tested, "123", "SUCCESS")]),
        {
            "another cursor": Played(parts=[partial(_tested, "132", "FAILURE")]),
            "not launched": Played(parts=[partial(test_sensor, page=_MATH, cursor="123")]),
        },
    ),
    "dagster/46eb418d-c5d3-46b7-9f48-999f8a75c960": (
        Played(sensor("name"), (reload, _START_SENSOR)),
        {
            "not started": Played(sensor("name"), (reload,)),
            "without the names": Played(sensor('"a new file"'), (reload, _START_SENSOR)),
        },
    ),
    "dagster/6664f67f-4366-4017-b270-b01c896be626": (
        Played(orders("Item_ID"), (lineage, _CHECKS)),
        {
            "the other column": Played(orders("Order_ID"), (lineage, _CHECKS)),
            "another page": Played(orders("Item_ID"), (lineage, _EVENTS)),
        },
    ),
    "dagster/85e31bb7-9b44-41c2-8fea-a8f9316d0b67": (
        Played(customers(), (lineage,)),
        {
            "without customers who never bought": Played(customers(join="inner"), (lineage,)),
            "not materialized": Played(customers(), (reload,)),
        },
    ),
    "dagster/8a8b875d-1f10-40fa-b998-8fd8ebb3515b": (
        Played(sizes("max(file_sizes.values())"), (_DEV,)),
        {
            "the smallest file": Played(sizes("min(file_sizes.values())"), (_DEV,)),
            "not served": Played(sizes("max(file_sizes.values())")),
        },
    ),
    "dagster/b8614458-2d9f-47fc-b98c-7ebf2a388781": (
        Played(model(MODEL + PREDICTIONS), (lineage,)),
        {
            "without predictions": Played(model(MODEL), (lineage,)),
            "not materialized": Played(model(MODEL + PREDICTIONS), (reload,)),
        },
    ),
}
"""By the abstract task's id: what solves it, and what comes near."""


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """Commands stand for what a person types into the editor; terminal and pages are used as a person would."""
    found = _ATTEMPTS.get(record.id) or _ATTEMPTS.get(record.counterpart)
    return Attempts(*found) if found else Attempts()
