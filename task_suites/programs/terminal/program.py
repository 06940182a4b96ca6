"""The terminal's window: a fixed profile, an empty history and a prompt that waits."""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.errors import SetupError
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.toolkits.halves import Half, half_of

HERE = Path(__file__).parent
HOME = "/home/user"
PROFILE = f"{HOME}/.config/xfce4/terminal/terminalrc"
PROMPT = "user@desktop:{}$"


def open_(
    setup: Setup,
    cwd: str = HOME,
    half: Half = "",
    env: dict[str, str] | None = None,
) -> None:
    """Open a terminal in a folder, which is made if it is not there; returns when its prompt waits.

    Args:
        setup: the machine.
        cwd: the folder.
        half: which half of the screen its window takes; all of it if left out.
        env: variables added to the session's.

    Raises:
        SetupError: it did not come up.
    """
    machine, folder = setup.machine, cwd if cwd == HOME else legal_path(cwd)
    machine.put(f"{HOME}/.bashrc", (HERE / "bashrc").read_bytes())
    machine.put(PROFILE, (HERE / "terminalrc").read_bytes())
    made = machine.run(["mkdir", "-p", folder])
    if made.returncode:
        raise SetupError(f"the folder {folder} cannot be made: {made.stderr.decode(errors='replace').strip()}")
    launch(
        setup, ["xfce4-terminal", "--disable-server", f"--working-directory={folder}", "--title=Terminal"],
        window="*Terminal*", app="xfce4-terminal", role="terminal", env=env,
        place=half_of(machine.display.size, half), maximize=not half,
    )  # fmt: skip
    prompt = PROMPT.format(folder.replace(HOME, "~", 1))
    setup.screen.find(role="terminal", text=f"*{prompt}*", timeout=30.0)
