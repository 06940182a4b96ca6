"""What a person does in a terminal: types a command, and goes on when the prompt is back."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.toolkits.scripts import click

SHELL = r"user@desktop:[^$]*\$"
_POLL = 0.05


def _last_line(screen: Screen) -> str:
    lines = [line for line in screen.find(role="terminal").text.splitlines() if line.strip()]
    return lines[-1].rstrip() if lines else ""


def _await(screen: Screen, what: str, holds: Callable[[str], bool], timeout: float) -> None:
    until = time.monotonic() + timeout
    while not holds(line := _last_line(screen)):
        if time.monotonic() > until:
            raise SetupError(f"the terminal did not show {what} within {timeout:g} s; its last line is {line!r}")
        time.sleep(_POLL)


def run(screen: Screen, command: str, prompt: str = SHELL, timeout: float = 120.0) -> Bursts:
    """Type a command and wait until a prompt is back.

    Args:
        screen: what an agent sees.
        command: one line or more, such as those of a here-document.
        prompt: a regular expression for the whole of the last line when the command has ended.
        timeout: seconds to wait for it.
    """
    yield [Action("type", text=command.rstrip("\n"))]
    _await(screen, "the command", lambda line: re.fullmatch(prompt, line) is None, timeout)
    yield [Action("press", keys=("enter",))]
    _await(screen, f"the prompt {prompt}", lambda line: re.fullmatch(prompt, line) is not None, timeout)


def focus(screen: Screen) -> Bursts:
    """Click into the terminal, so that keys go there."""
    yield [click(screen.find(role="terminal"))]


MACROS: Mapping[str, Callable[..., Bursts]] = {"terminal.run": run, "terminal.focus": focus}
"""By the names that task files use."""
