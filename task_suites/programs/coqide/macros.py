"""What a person does in CoqIDE with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.task_suites.programs.toolkits.scripts import click

_SLOW = 60.0  # seconds


def write(screen: Screen, text: str) -> Bursts:
    """Replace the whole text of the file in front, and save it."""
    yield [click(_script(screen)), Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    yield from save(screen)


def run(screen: Screen, shows: str = "") -> Bursts:
    """Have Coq read the file to its end, and wait until the messages have a text."""
    yield [click(screen.find(role="push button", name="End"))]
    if shows:
        screen.find(role="text", text=shows, timeout=_SLOW)


def save(screen: Screen) -> Bursts:
    """Save the file in front."""
    yield [Action("press", keys=("ctrl", "s")), Action("wait", seconds=0.5)]


def _script(screen: Screen) -> Element:
    """The file's text: the largest text of the window."""
    return max(screen.find_all(role="text"), key=lambda element: element.width * element.height)


MACROS: Mapping[str, Callable[..., Bursts]] = {"coqide.write": write, "coqide.run": run, "coqide.save": save}
"""By the names that task files use."""
