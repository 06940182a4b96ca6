"""What a person does in PyMOL with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.toolkits.menus import choose
from deskgym.task_suites.programs.toolkits.qt import choose_file
from deskgym.task_suites.programs.toolkits.scripts import click

_SLOW = 60.0  # seconds


def type_(screen: Screen, commands: str) -> Bursts:
    """Type commands, one per line, at the prompt below the log."""
    prompt = screen.find(role="text", state="editable", window="PyMOL*")
    yield [click(prompt), *(Action("type", text=f"{line}\n") for line in commands.splitlines() if line)]


def save(screen: Screen, path: str) -> Bursts:
    """Save by a command: the session, or a molecule, by the path's ending."""
    yield from type_(screen, f"save {path}")
    screen.find(role="text", text=f'*wrote*"{path}"*', timeout=_SLOW)


def save_session(screen: Screen, path: str) -> Bursts:
    """Save the session by the menu."""
    yield from choose(screen, ["File", "Save Session As..."])
    yield from choose_file(screen, path)
    screen.find(role="text", text="*wrote*", timeout=_SLOW)


def picture(screen: Screen, path: str, width: int, height: int) -> Bursts:
    """Save a ray-traced picture of what is shown."""
    yield from type_(screen, f"png {path}, {width}, {height}, ray=1")
    screen.find(role="text", text=f'*wrote*"{path}"*', timeout=_SLOW)


def ask(screen: Screen, of: list[Any], digits: int = 0) -> Bursts:
    """Ask PyMOL by a command, and answer what it says.

    Args:
        screen: the screen.
        of: a function of PyMOL's API and its arguments.
        digits: of a number, digits after the point.
    """
    value = yield from said(screen, of, digits)
    yield [Action("answer", text=value)]


def said(screen: Screen, of: list[Any], digits: int = 0) -> Generator[list[Action], None, str]:
    """Ask PyMOL by a command; what it says."""
    function, *arguments = of
    # the log repeats the command, in which the end of what is printed must not stand; its blanks are not breaking
    yield from type_(screen, f"print('%s=%d' % (cmd.{function}({', '.join(map(repr, arguments))}), 1000 + 1))")
    log = screen.find(role="text", text="*=1001*", timeout=_SLOW).text
    value = str(log.rpartition("=1001")[0].split()[-1])
    return f"{float(value):.{digits}f}" if digits else value


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "pymol.type": type_,
    "pymol.save": save,
    "pymol.save_session": save_session,
    "pymol.picture": picture,
    "pymol.choose": choose,
    "pymol.ask": ask,
}
"""By the names that task files use."""
