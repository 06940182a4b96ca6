"""The libraries that turns run with: the benchmark's own versions where they are installed, else this Python's."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.provision.tool_environments import ToolEnvironment, find_environment
from deskgym.task_suites.programs import load_program

HOW = "`deskgym install tapilot` installs the benchmark's, pandas 2.0.3 among them"


@dataclass(frozen=True)
class Libraries:
    """What the code of turns can import.

    Attributes:
        environment: the benchmark's libraries, or None for those of this Python.
        folder: where the environment's are on this host.
        note: what a reader of a score should know; ``""`` with the environment.
    """

    environment: ToolEnvironment | None = None
    folder: Path | None = None
    note: str = ""


def find_libraries() -> Libraries:
    """The benchmark's libraries, if they are installed and machines' Python can load them."""
    (environment,) = load_program("tapilot").needs.layers
    try:
        layer, version = find_environment(environment), environment.version
    except MachineError:
        return Libraries(note=f"run with this Python's libraries: {HOW}")
    if version != sys.version_info[:2]:
        ours, theirs = (".".join(map(str, numbers[:2])) for numbers in (sys.version_info, version))
        return Libraries(note=f"run with this Python's libraries: it is {ours}, and the benchmark's are for {theirs}")
    return Libraries(environment, layer.path / "opt" / "upper" / environment.libraries.removeprefix("/opt/"))
