"""TeXstudio's window with a document in it: a fixed profile that changes nothing of what is typed."""

from __future__ import annotations

import posixpath
from pathlib import Path

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.toolkits.halves import Half, half_of

PROFILE = "/home/user/.config/texstudio/texstudio.ini"
SETTINGS = Path(__file__).with_name("texstudio.conf")
COMMAND = ("texstudio", "--start-always", "--no-session")


def open_(setup: Setup, path: str, text: str, files: dict[str, str] | None = None, half: Half = "") -> None:
    """Open a document in TeXstudio; returns when it can be typed into.

    Args:
        setup: the machine.
        path: of the document.
        text: its source.
        files: other files of its folder, by their names.
        half: which half of the screen its window takes; all of it if left out.

    Raises:
        SetupError: it did not come up with it.
    """
    machine, path = setup.machine, legal_path(path)
    for name, content in {**(files or {}), posixpath.basename(path): text}.items():
        machine.put(f"{posixpath.dirname(path)}/{name}", content.encode())
    machine.put(PROFILE, SETTINGS.read_bytes())
    launch(
        setup, [*COMMAND, path], window=f"*{posixpath.basename(path)}*", app="texstudio", role="menu bar",
        place=half_of(machine.display.size, half), maximize=not half, timeout=60.0,
    )  # fmt: skip
