"""code-server in Chromium, on the folder of a project: editor, search and terminal."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.code_server.server import DEFAULTS, PORT, SETTINGS, START
from deskgym.task_suites.programs.toolkits.commands import FOLDER

BASHRC = f"PATH={FOLDER}:$PATH\nPS1='user@desktop:\\w$ '\nexport PAGER=cat\nbind 'set enable-bracketed-paste off' 2>/dev/null\n"


def open_(setup: Setup, folder: str = "/home/user/project", timeout: float = 120.0) -> None:
    """Start code-server as the agent's user, and show a folder; returns when its explorer is there.

    Args:
        setup: the machine.
        folder: below the user's home; it is made if it is not there.
        timeout: seconds.

    Raises:
        SetupError: it did not come up.
    """
    machine, folder = setup.machine, legal_path(folder)
    machine.run(["mkdir", "-p", folder])
    machine.put("/home/user/.bashrc", BASHRC.encode())
    machine.put(SETTINGS, DEFAULTS.encode())
    launch(setup, ["bash", "-c", START], port=PORT, cwd=folder, timeout=timeout)
    open_chromium(setup, f"http://127.0.0.1:{PORT}/?folder={folder}", role="tree item", timeout=timeout)
