"""CoqIDE's window with a file in it."""

from __future__ import annotations

import posixpath

from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.toolkits.halves import Half, half_of

APP = "coqide"
_TIMEOUT = 60.0  # seconds


def open_(setup: Setup, path: str, text: str, half: Half = "") -> None:
    """Open a file in CoqIDE; returns when it can be typed into, and Coq answers.

    Args:
        setup: the machine.
        path: of the file.
        text: what is in it.
        half: which half of the screen its window takes; all of it if left out.

    Raises:
        SetupError: it did not come up with it.
    """
    machine, path = setup.machine, legal_path(path)
    machine.put(path, text.encode())
    launch(
        setup, ["coqide", path], window="CoqIDE*", app=APP, role="text", process="coqidetop.opt",
        cwd=posixpath.dirname(path), place=half_of(machine.display.size, half), maximize=not half, timeout=_TIMEOUT,
    )  # fmt: skip
    AccessibleProgram(machine, APP).wait(
        "Coq's first message",
        lambda root: any(node.text.startswith("Welcome") for node in root.find_all("text")),
        timeout=_TIMEOUT,
    )
