"""PSPP's windows with data or syntax in it; and PSPP without a window, which makes the data."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from pathlib import Path

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch, run

APP = "psppire"  # in the tree of elements
FOLDER = "/home/user/work"
PSPP = ("pspp", "--no-statrc", "--safer", "-o", "-", "-O", "format=csv")
SETTINGS = Path(__file__).with_name("psppirerc.conf")

_MADE = f"{FOLDER}/.make.sps"


def open_(
    setup: Setup, path: str = "", data: dict[str, str] | None = None, files: dict[str, str] | None = None
) -> None:
    """Open a file in PSPP; returns when its window is there.

    Args:
        setup: the machine.
        path: data (``.sav``) or syntax (``.sps``); no file if left out.
        data: data files to make before, by path: the syntax that makes them.
        files: other files, with their texts, by path.

    Raises:
        SetupError: the data could not be made, or it did not come up.
    """
    machine = setup.machine
    machine.put("/home/user/.config/psppirerc", SETTINGS.read_bytes())
    for name, text in (files or {}).items():
        machine.put(legal_path(name), text.encode())
    if data:
        machine.put(_MADE, making(data).encode())
        run(setup, [*PSPP, _MADE], cwd=FOLDER)
        machine.run(["rm", _MADE])
    launch(
        setup, ["psppire", "--no-splash", *([legal_path(path)] if path else [])],
        window=f"*{posixpath.basename(path)}*Editor", app=APP, role="menu bar", cwd=FOLDER,
        maximize=not path.endswith(".sps"), timeout=60.0,
    )  # fmt: skip


def making(data: Mapping[str, str]) -> str:
    """Syntax that makes data files: by path, the syntax of each."""
    return "".join(f"{syntax}\nSAVE OUTFILE='{legal_path(path)}'.\nNEW FILE.\n" for path, syntax in data.items())
