"""CoqIDE's window with a file in it."""

from __future__ import annotations

import posixpath

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.toolkits.halves import Half, half_of


def open_(setup: Setup, path: str, text: str, half: Half = "") -> None:
    """Open a file in CoqIDE; returns when it can be typed into.

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
        setup, ["coqide", path], window="*CoqIDE*", app="coqide", role="label", name="Ready*",
        cwd=posixpath.dirname(path),
        place=half_of(machine.display.size, half), maximize=not half, timeout=60.0,
    )  # fmt: skip
