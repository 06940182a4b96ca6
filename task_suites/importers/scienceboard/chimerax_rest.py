"""ScienceBoard's tasks about ChimeraX, for those who have it: an adapter to its REST server.

ChimeraX's own command ``remotecontrol rest start`` opens the server: ``GET /run?command=...`` answers with what the
command notes in the log. Upstream's bundle SessionStates must be installed in it: its command ``states`` writes the
session down. Neither is in Debian. So this is tested against a minimal server of our own, with a window, that speaks
the same protocol, and never against the real one. Whoever types Python into ChimeraX can make it say anything, here as
upstream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome
from deskgym.envs.evaluation.readers.files import read_text
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import Needs
from deskgym.envs.observation.program_channel import ProgramChannel
from deskgym.task_suites.core.task import Hook, Setup
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.importers.lambda_language import LambdaError
from deskgym.task_suites.importers.scienceboard import chimerax
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask

EXECUTABLE = "chimerax"
PORT = 8000
FOLDER = "/home/user/Downloads"
NOTE = "the adapter to ChimeraX was tested against a minimal server of deskgym's own"
_SETUP = ("execute", "launch", "clear_log", "open", "turn", "color", "destroy")
_SLOW = 90.0  # seconds
_LIMIT = 64 << 20  # bytes of a session that was written down


def reasons(task: UpstreamTask) -> list[str]:
    """What of a task deskgym does not do."""
    strange = sorted({item.func for item in task.initialize if item.func not in _SETUP})
    return [*(f"deskgym does not do {name!r} in ChimeraX's setup" for name in strange), *chimerax.missing(task)]


def needs(task: UpstreamTask) -> Needs:
    """What ChimeraX needs."""
    return Needs(memory_mb=4096, elements=384, glx=True)


def hooks(task: UpstreamTask) -> list[Hook]:
    """The setup: ChimeraX with its server, then what the file has done in it, by commands."""
    return [Hook("launch", partial(open_, commands=_commands(task), files=chimerax.molecules(task)))]


def _commands(task: UpstreamTask) -> list[str]:
    made = []
    for item in task.initialize:
        if item.func == "clear_log":
            made.append("log clear")
        elif item.func == "open":
            made.append(f"open {FOLDER}/{item['name']}.cif")
        elif item.func == "turn":
            made.append(f"turn {item['axis']} {item['angle']:g}")
        elif item.func == "color":
            made.append(f"color {item['style']}")
        elif item.func == "destroy":
            made.append("destroy")  # a command of the bundle: it takes the command line away
    return made


def open_(setup: Setup, commands: list[str], files: Mapping[str, Path | None]) -> None:
    """Start ChimeraX and run commands in it.

    Raises:
        SetupError: it did not come up, or a command failed.
    """
    for name, file in files.items():
        assert file is not None  # ``reasons`` names what is not there
        setup.machine.put(f"{FOLDER}/{name}.cif", file.read_bytes())
    argv = [EXECUTABLE, "--cmd", f"remotecontrol rest start json true port {PORT}"]
    launch(setup, argv, window="*ChimeraX*", port=PORT, maximize=True, timeout=_SLOW)
    for command in commands:
        try:
            run(setup.machine, command)
        except CheckFailed as error:
            raise SetupError(str(error)) from error


def run(machine: Machine, command: str) -> list[str]:
    """What ChimeraX notes in its log of a command.

    Raises:
        CheckFailed: the command failed, it has ended, or somebody else answers.
    """
    try:
        channel = ProgramChannel(machine, EXECUTABLE)
        status, text = channel.http(PORT, f"/run?command={quote(command)}", timeout=_SLOW)
        said = json.loads(text) if status == 200 else None
        if not isinstance(said, Mapping) or said["error"] is not None:
            raise CheckFailed(f"ChimeraX could not do {command!r}: {shown(said)}")
        return [str(note) for note in said["log messages"]["note"]]
    except (GuestCallError, ValueError, LookupError, TypeError) as error:
        raise CheckFailed(f"ChimeraX does not answer {command!r}: {error}") from None


def states(final: FinalState) -> Mapping[str, Any]:
    """The session, as the bundle's command writes it down: one flat table. Raises CheckFailed."""
    return final.read_once("chimerax:states", _states)


def _states(machine: Machine) -> dict[str, Any]:
    run(machine, f"states {FOLDER} session")
    try:
        told = json.loads(machine.get(f"{FOLDER}/session.json", limit=_LIMIT))
    except (GuestCallError, ValueError) as error:
        raise CheckFailed(f"ChimeraX wrote no session down: {error}") from None
    if not isinstance(told, dict):
        raise CheckFailed("what ChimeraX wrote down is no session")
    return told


def test(item: CheckItem, task: UpstreamTask) -> Callable[[FinalState], Outcome] | None:
    """What decides about one of its own kinds of items; None for another one."""
    decide = {"states": _decide_states, "info": _decide_info, "file": _decide_file}.get(item.type)
    return None if decide is None else partial(decide, item=item)


def _decide_states(final: FinalState, item: CheckItem) -> Outcome:
    """A key of the session, or the first one that a lambda finds, has a value, fits a pattern, or is not there."""
    told, key = states(final), item["key"]
    try:
        if "find" in item.values:
            found = next((name for name, value in told.items() if item["find"](name, value)), None)
            key = None if found is None else key(found)
        elif not isinstance(key, str):
            key = next((name for name in told if key(name)), None)
    except LambdaError as error:
        return False, f"nothing in the session fits: {error}"
    if "value" in item.values and item["value"] is None:
        return key is None or key not in told, f"{key} is in the session, and must not be"
    if key is None or key not in told:
        return False, f"the session has no {key or item['key']}"
    value = told[key]
    text = value if isinstance(value, str) else json.dumps(value)
    if "pattern" in item.values:
        return re.search(item["pattern"], text) is not None, f"{key} is {shown(value)}; right is {item['pattern']}"
    return item["value"] in (value, text), f"{key} is {shown(value)}; right is {shown(item['value'])}"


def _decide_info(final: FinalState, item: CheckItem) -> Outcome:
    """The lines that the command ``info`` notes, in any order."""
    command = f"info {item['key']}"
    notes = final.read_once(f"chimerax:{command}", lambda machine: run(machine, command))
    lines = {line for line in (notes[0] if notes else "").strip().split("\n") if line}
    return lines == set(item["value"]), f"{command!r} says {shown(sorted(lines))}; right is {shown(item['value'])}"


def _decide_file(final: FinalState, item: CheckItem) -> Outcome:
    """A text is in a file."""
    wanted = item["value"] if isinstance(item["value"], str) else str(item["value"]())
    return wanted in read_text(final, item["key"], limit=_LIMIT), f"{item['key']} must have {wanted!r}"
