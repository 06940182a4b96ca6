"""What a person does in CoqIDE with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.toolkits.scripts import click

_SLOW = 60.0  # seconds


def type_(screen: Screen, text: str) -> Bursts:
    """Replace the whole text of the file in front, and leave it unsaved."""
    script = screen.find(role="text", window="CoqIDE*")  # the first of three: goals and messages are the others
    yield [click(script), Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    screen.find(role="label", name=f"Line:*Offset: *{len(text)}", timeout=_SLOW)


def write(screen: Screen, text: str) -> Bursts:
    """Replace the whole text of the file in front, and save it."""
    yield from type_(screen, text)
    yield from save(screen)


def run(screen: Screen) -> Bursts:
    """Have Coq read the file to its end, and wait until it has."""
    yield [click(screen.find(role="push button", name="Run to end")), Action("wait", seconds=0.5)]
    screen.find(role="status bar", name="Ready*", timeout=_SLOW)


def save(screen: Screen) -> Bursts:
    """Save the file in front."""
    yield [Action("press", keys=("ctrl", "s")), Action("wait", seconds=0.8)]


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "coqide.type": type_,
    "coqide.write": write,
    "coqide.run": run,
    "coqide.save": save,
}
"""By the names that task files use."""
