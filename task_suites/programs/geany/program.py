"""Geany's window: a fixed profile, without sessions, plugins and automatic changes of what is typed."""

from __future__ import annotations

import posixpath
from pathlib import Path

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.toolkits.halves import Half, half_of

PROFILE = "/home/user/.config/geany/geany.conf"
SETTINGS = Path(__file__).with_name("geany.conf")
COMMAND = ("geany", "--no-session", "--no-msgwin", "--no-terminal", "--no-plugins", "--no-ctags")


def open_(setup: Setup, path: str, text: str | None = None, half: Half = "") -> None:
    """Open a file in Geany; returns when its text can be typed into.

    Args:
        setup: the machine.
        path: the file.
        text: what is written to it before; left out, the file is there already.
        half: which half of the screen its window takes; all of it if left out.

    Raises:
        SetupError: it did not come up with it.
    """
    machine, path = setup.machine, legal_path(path)
    if text is not None:
        machine.put(path, text.encode())
    machine.put(PROFILE, SETTINGS.read_bytes())
    launch(
        setup, [*COMMAND, path], window=f"{posixpath.basename(path)} - *Geany", app="geany", role="text",
        place=half_of(machine.display.size, half), maximize=not half,
    )  # fmt: skip
