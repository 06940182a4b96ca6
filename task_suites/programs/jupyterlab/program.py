"""JupyterLab on the desktop, as the agent's user, in Chromium: on a folder of a task's notebooks and data."""

from __future__ import annotations

import json
from typing import Any

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.jupyterlab.notebooks import KERNELS, sqlite
from deskgym.task_suites.programs.jupyterlab.notebooks import notebook as made
from deskgym.task_suites.programs.jupyterlab.server import LAB, PAGE, PORT, PYTHON

READY = "/tmp/.jupyterlab-ready"


def open_(setup: Setup, folder: str = "/home/user/work", show: str = "", timeout: float = 120.0) -> None:
    """Start JupyterLab on a folder, and show a notebook of it with a kernel that is ready, or the launcher.

    Args:
        setup: the machine.
        folder: what its file browser shows, below the user's home.
        show: a notebook in it, such as ``sales.ipynb``; the launcher if left out.
        timeout: seconds.

    Raises:
        SetupError: it did not come up.
    """
    machine, folder = setup.machine, legal_path(folder)
    machine.run(["mkdir", "-p", folder])
    machine.guest.launch([PYTHON, LAB, str(PORT), folder, READY], cwd=folder)
    if show:
        open_chromium(
            setup, f"{PAGE}/tree/{show}", title="*JupyterLab", role="panel", timeout=timeout, file=READY, name="Cells"
        )
    else:
        open_chromium(setup, PAGE, title="JupyterLab", role="menu bar", timeout=timeout)


def kernel(setup: Setup, name: str) -> None:
    """Install another kernel for the user, on the same Python; ``name`` is one of ``notebooks.KERNELS``."""
    setup.machine.put(
        f"/home/user/.local/share/jupyter/kernels/{name}/kernel.json",
        json.dumps(
            {
                "argv": [PYTHON, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                "display_name": KERNELS[name],
                "language": "python",
            }
        ).encode(),
    )


def database(setup: Setup, path: str, tables: dict[str, list[list[Any]]]) -> None:
    """Write an SQLite database: rows by table, the first one its columns' names."""
    setup.machine.put(legal_path(path), sqlite(tables))


def notebook(setup: Setup, path: str, cells: list[Any], kernel: str = "python3") -> None:
    """Write a notebook.

    Args:
        setup: the machine.
        path: the file, below the user's home.
        cells: in order: a text is a code cell; a mapping has ``markdown``, or ``code`` and what it ``prints``.
        kernel: name of its kernel.
    """
    setup.machine.put(legal_path(path), json.dumps(made(cells, kernel), indent=1).encode())
