"""Dagster in Chromium, with a code location whose file lies in the user's home."""

from __future__ import annotations

import json
import time

from deskgym.envs.errors import ServiceError, SetupError
from deskgym.envs.provision.companions import Companion
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.waits import POLL
from deskgym.task_suites.programs.dagster.program import open_ as open_dagster
from deskgym.task_suites.programs.dagster_code.service import DESKTOP_FOLDER, LOCATION

_TIMEOUT = 180.0  # seconds
_RELOAD = """mutation ($name: String!) { reloadRepositoryLocation(repositoryLocationName: $name) { __typename
... on WorkspaceLocationEntry { locationOrLoadError { __typename } } } }"""


def open_(setup: Setup, files: dict[str, str], page: str = "/locations") -> None:
    """Write the files of the agent's code location, let Dagster load it, and open a page of Dagster.

    Args:
        setup: the machine with the service ``dagster`` beside it.
        files: text by name; ``defs.py`` has the definitions.
        page: its path.

    Raises:
        SetupError: the code could not be loaded.
    """
    done = setup.machine.run(["chmod", "777", DESKTOP_FOLDER])  # runs write there too
    if done.returncode:
        raise SetupError(f"{DESKTOP_FOLDER} cannot be opened to Dagster's runs: {done.stderr.decode(errors='replace')}")
    for name, text in sorted(files.items(), key=lambda item: item[0] == "defs.py"):
        setup.machine.put(legal_path(f"{DESKTOP_FOLDER}/{name}"), text.encode())
    _await_loaded(setup.companion("dagster"))
    open_dagster(setup, page, shows="link")


def _await_loaded(companion: Companion) -> None:
    """Let the web server load the agent's code, as soon as it is served."""
    until, said = time.monotonic() + _TIMEOUT, ""
    while time.monotonic() < until:
        body = json.dumps({"query": _RELOAD, "variables": {"name": LOCATION}})
        try:
            answer = companion.http("POST", "/graphql", body=body, headers={"Content-Type": "application/json"})
            said = answer.text
            if json.loads(said)["data"]["reloadRepositoryLocation"]["locationOrLoadError"]["__typename"] == (
                "RepositoryLocation"
            ):
                return
        except (ServiceError, LookupError, TypeError, ValueError) as error:
            said = repr(error)
        time.sleep(POLL)
    raise SetupError(f"the agent's code was not loaded within {_TIMEOUT:g} s: {said[:300]}")
