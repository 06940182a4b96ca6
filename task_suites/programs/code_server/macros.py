"""What a person does in code-server with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.toolkits.scripts import click, fill
from deskgym.task_suites.programs.toolkits.waiting import until

SHELL = r"user@desktop:[^$]*\$"
_TIMEOUT = 60.0
_SLOW = 180.0  # seconds that a command may take


def load(screen: Screen, path: str) -> Bursts:
    """Open a file of the folder by Ctrl+P, where its path is typed; goes on when its tab is there."""
    name = posixpath.basename(path)
    yield [Action("press", keys=("ctrl", "p"))]
    screen.find(role="entry", name="Search files by name*", timeout=_TIMEOUT)
    yield [Action("type", text=path)]
    screen.find(role="entry", name="Search files by name*", text=path, timeout=_TIMEOUT)
    screen.find(role="list item", name=f"{name}*", timeout=_TIMEOUT)
    yield [Action("press", keys=("enter",))]
    screen.find(role="page tab", name=f"{name}*", state="selected", timeout=_TIMEOUT)
    screen.find(role="entry", name=f"{name}*", state="focused", timeout=_TIMEOUT)


def write(screen: Screen, text: str) -> Bursts:
    """Replace the text of the file that was just opened, and save it."""
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    yield from save(screen)


def save(screen: Screen) -> Bursts:
    """Save the file in front, whose title has a dot until then."""
    screen.find(role="frame", name="● *", timeout=_TIMEOUT)
    yield [Action("press", keys=("ctrl", "s"))]
    screen.find(role="frame", name="[!●]*", timeout=_TIMEOUT)


def terminal(screen: Screen) -> Bursts:
    """Open the terminal below the editor, and click into it once it has a prompt."""
    yield [Action("press", keys=("ctrl", "`"))]
    until(lambda: re.fullmatch(SHELL, _last_line(screen)) is not None, "code-server does not show the prompt", _TIMEOUT)
    prompt = screen.find(role="list item", text="user@*")
    yield [Action("click", prompt.x + 300, prompt.y + 60)]
    screen.find(role="entry", name="Terminal *", state="focused", timeout=_TIMEOUT)


def run(screen: Screen, command: str) -> Bursts:
    """Type a command into the terminal, which has the focus, and wait until the prompt is back."""
    yield [Action("type", text=command)]
    until(lambda: _last_line(screen).endswith(command), "code-server does not show the command", _TIMEOUT)
    yield [Action("press", keys=("enter",))]
    until(lambda: re.fullmatch(SHELL, _last_line(screen)) is not None, "code-server does not show the prompt", _SLOW)


def replace(screen: Screen, old: str, new: str, files: str = "") -> Bursts:
    """Replace a text in all files of the folder, or in those that ``files`` names."""
    yield [Action("press", keys=("ctrl", "shift", "h"))]
    yield fill(screen.find(role="entry", name="Replace:*", timeout=_TIMEOUT), new, end="")
    if files:
        yield [click(screen.find(role="push button", name="Toggle Search Details", timeout=_TIMEOUT))]
        yield fill(screen.find(role="entry", name="files to include", timeout=_TIMEOUT), files, end="")
    yield fill(screen.find(role="entry", name="Search:*", timeout=_TIMEOUT), old)
    screen.find(role="static", name="* result* in * file*", timeout=_TIMEOUT)
    yield [click(screen.find(role="push button", name="Replace All (Ctrl*", timeout=_TIMEOUT))]
    yield [click(screen.find(role="push button", name="Replace", timeout=_TIMEOUT))]
    screen.find(role="static", name="Replaced *", timeout=_TIMEOUT)


def _last_line(screen: Screen) -> str:
    """The last line of the terminal that is not empty."""
    rows = screen.find_all(role="list item")
    lines = [row.name or row.text for row in rows if (row.name or row.text).strip()]
    return lines[-1].rstrip() if lines else ""


MACROS: Mapping[str, Callable[..., Bursts]] = {
    f"code_server.{macro.__name__}": macro for macro in (load, write, save, terminal, run, replace)
}
"""By the names that task files use."""
