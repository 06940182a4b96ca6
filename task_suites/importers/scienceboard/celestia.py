"""ScienceBoard's tasks about Celestia, for those who have its build of Celestia: an adapter to that build's server.

The build takes a port as its argument, and answers ``GET /version`` and ``POST /dump`` there; with the latter go the
bodies that the dump must tell of. Neither Debian nor deskgym has that build. So this is tested against a minimal server
of our own, with a window, that speaks the same protocol, and never against the real one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import Needs
from deskgym.envs.observation.program_channel import ProgramChannel
from deskgym.task_suites.core.task import Hook, Setup
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.importers.scienceboard import dumps
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.task import Body, UpstreamTask

EXECUTABLE = "celestia-qt6"
PORT = 8000
VERSION = "0.1"
NOTE = "the adapter to ScienceBoard's build of Celestia was tested against a minimal server of deskgym's own"
_SETUP = ("opt", "launch")
_SLOW = 60.0  # seconds


def reasons(task: UpstreamTask) -> list[str]:
    """What of a task deskgym does not do."""
    strange = sorted({item.func for item in task.initialize if item.func not in _SETUP})
    return [f"deskgym does not do {name!r} in Celestia's setup" for name in strange]


def needs(task: UpstreamTask) -> Needs:
    """What Celestia needs; its sky never rests."""
    return Needs(memory_mb=3072, elements=384, glx=True, motion=0.9)


def hooks(task: UpstreamTask) -> list[Hook]:
    """The setup: Celestia with its server."""
    return [Hook("launch", open_)]


def open_(setup: Setup) -> None:
    """Start Celestia; returns when it is seen and its server answers.

    Raises:
        SetupError: it did not come up, or is not ScienceBoard's build.
    """
    launch(setup, [EXECUTABLE, str(PORT)], window="Celestia*", port=PORT, maximize=True, timeout=_SLOW)
    try:
        status, version = ProgramChannel(setup.machine, EXECUTABLE).http(PORT, "/version")
    except (GuestCallError, ValueError) as error:
        raise SetupError(f"{EXECUTABLE} does not answer GET /version: {error}") from error
    if status != 200 or version.decode(errors="replace").strip() != VERSION:
        raise SetupError(
            f"{EXECUTABLE} answers {version[:60]!r} to GET /version, not {VERSION}: another build of Celestia"
        )


def dump(machine: Machine, query: Sequence[Body]) -> dict[str, Any]:
    """What Celestia tells of itself, and of these bodies.

    Raises:
        CheckFailed: it has ended, or somebody else answers.
    """
    asked = json.dumps([{"name": body.name, "type": body.kind} for body in query]).encode()
    try:
        status, text = ProgramChannel(machine, EXECUTABLE).http(PORT, "/dump", body=asked, timeout=30.0)
        told = json.loads(text) if status == 200 else None
    except (GuestCallError, ValueError) as error:
        raise CheckFailed(f"Celestia does not answer: {error}") from None
    if not isinstance(told, Mapping):
        raise CheckFailed(f"Celestia answers with status {status} and no dump")
    return dict(told)


def test(item: CheckItem, task: UpstreamTask) -> Callable[[FinalState], Outcome] | None:
    """What decides about an ``info``: upstream's own lambdas, on the dump; None for another item."""
    if item.type != "info":
        return None
    return dumps.info(item, partial(_dump, query=task.query))


def _dump(final: FinalState, query: Sequence[Body]) -> Mapping[str, Any]:
    return final.read_once("celestia:dump", lambda machine: dump(machine, query))
