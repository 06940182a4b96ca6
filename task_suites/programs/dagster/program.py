"""Dagster in Chromium, and what has happened in it before the episode."""

from __future__ import annotations

import json
import time
from typing import Any

from deskgym.envs.errors import ServiceError, SetupError
from deskgym.envs.provision.companions import Companion
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.waits import POLL
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.dagster.service import PORT

_TIMEOUT = 180.0  # seconds
_LAUNCH = """mutation ($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) { __typename
... on LaunchRunSuccess { run { runId } } } }"""


def open_(setup: Setup, page: str = "/overview/jobs", title: str = "*", shows: str = "page tab list") -> None:
    """Open a page of Dagster.

    Args:
        setup: the machine with the service ``dagster`` beside it.
        page: its path.
        title: of the page, or a glob.
        shows: role of an element that the page has once it is filled.

    Raises:
        SetupError: it did not come up.
    """
    open_chromium(setup, f"http://localhost:{PORT}{page}", title=title, role=shows, timeout=_TIMEOUT)


def start(setup: Setup, job: str, config: dict[str, Any] | None = None) -> None:
    """Launch a job, and wait until its run has started.

    Args:
        setup: the machine with the service ``dagster`` beside it.
        job: its name.
        config: the run's.

    Raises:
        SetupError: it did not start.
    """
    try:
        launch_run(setup.companion("dagster"), job, config or {})
    except (ServiceError, LookupError, TypeError, ValueError) as error:
        raise SetupError(f"{job} could not be launched: {error!r}") from error


def launch_run(companion: Companion, job: str, config: dict[str, Any]) -> None:
    """Launch a job as a page does, and wait until its run has started."""
    where = {"repositoryName": "__repository__", "repositoryLocationName": "company", "pipelineName": job}
    params = {"selector": where, "runConfigData": config, "mode": "default"}
    body = json.dumps({"query": _LAUNCH, "variables": {"params": params}})
    answer = companion.http("POST", "/graphql", body=body, headers={"Content-Type": "application/json"})
    _await_start(companion, json.loads(answer.text)["data"]["launchPipelineExecution"]["run"]["runId"])


def _await_start(companion: Companion, run: str) -> None:
    until = time.monotonic() + _TIMEOUT
    while not companion.sql(f"SELECT 1 FROM runs WHERE run_id = '{run}' AND status = 'STARTED'"):
        if time.monotonic() > until:
            raise SetupError(f"the run {run} did not start within {_TIMEOUT:g} s")
        time.sleep(POLL)
