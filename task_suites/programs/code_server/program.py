"""code-server in Chromium, on the folder of a project: editor, search and terminal."""

from __future__ import annotations

from urllib.parse import quote

from deskgym.envs.errors import SetupError
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.code_server.server import DEFAULTS, PORT, SETTINGS, START
from deskgym.task_suites.programs.toolkits.commands import FOLDER

BASHRC = f"""PATH={FOLDER}:$PATH
PS1='user@desktop:\\w$ '
export PAGER=cat
bind 'set enable-bracketed-paste off' 2>/dev/null
"""


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
    done = machine.run(["mkdir", "-p", folder])
    if done.returncode:
        raise SetupError(f"the folder {folder} cannot be made: {done.stderr.decode(errors='replace').strip()}")
    machine.put("/home/user/.bashrc", BASHRC.encode())
    machine.put(SETTINGS, DEFAULTS.encode())
    launch(setup, ["bash", "-c", START], port=PORT, cwd=folder, timeout=timeout)
    open_chromium(setup, f"http://127.0.0.1:{PORT}/?folder={quote(folder)}", role="tree item", timeout=timeout)
