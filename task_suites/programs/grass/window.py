"""GRASS's window as it tells of itself; ``site/sitecustomize.py`` is its part of the talk."""

from __future__ import annotations

import json
from typing import Any

from deskgym.envs.deadline import Deadline
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.program_channel import ProgramChannel

LAUNCHED = "session"
"""The name that the window is launched under."""

SOCKET = "deskgym-grass"
TIMEOUT = 40.0  # seconds
_MODULES = 30.0  # seconds that the modules which the agent started may still take
_PAUSE = SettlePolicy(quiet_ms=100, cap_ms=300)


def close_prompt(machine: Machine) -> None:
    """Take the prompt of its console away; SetupError where the window does not do it."""
    said = ProgramChannel(machine, LAUNCHED).unix(f"\0{SOCKET}", b"close the prompt", first=True, timeout=TIMEOUT)
    if error := json.loads(said).get("error"):
        raise SetupError(f"GRASS's console was not closed: {error}")


def dump(machine: Machine) -> dict[str, Any]:
    """What the window tells, when the modules that were started from it have ended, or have had their time.

    Raises:
        CheckFailed: it has ended, or somebody else answers.
    """
    deadline = Deadline(_MODULES, machine.slowness)
    while True:
        try:
            told = json.loads(ProgramChannel(machine, LAUNCHED).unix(f"\0{SOCKET}", b"", first=True, timeout=TIMEOUT))
        except (GuestCallError, ValueError) as error:
            raise CheckFailed(f"GRASS does not answer: {error}") from None
        if "error" in told:
            raise CheckFailed(f"GRASS does not answer: {told['error']}")
        if not (told["busy"] or told["queued"]) or deadline.over:
            return dict(told)
        machine.display.perform([], _PAUSE)
