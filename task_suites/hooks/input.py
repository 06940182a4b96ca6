"""Hooks that act with mouse and keyboard, as an agent would."""

from __future__ import annotations

from deskgym.envs.action.actions import Action, split_keys
from deskgym.envs.displays.base import SettlePolicy
from deskgym.task_suites.core.task import Setup


def click(
    setup: Setup,
    name: str | None = None,
    role: str | None = None,
    text: str | None = None,
    window: str | None = None,
    nth: int = 0,
    clicks: int = 1,
    timeout: float = 10.0,
) -> None:
    """Click an element; see ``deskgym.envs.episode.Screen.find``.

    Raises:
        SetupError: it is not there.
    """
    element = setup.screen.find(name=name, role=role, text=text, window=window, nth=nth, timeout=timeout)
    _perform(setup, Action("click", *element.center, clicks=clicks))


def type_(setup: Setup, text: str) -> None:
    """Type a text; a line break is Return."""
    _perform(setup, Action("type", text=text))


def press(setup: Setup, keys: str) -> None:
    """Press a key or a combination such as ``ctrl+l``."""
    _perform(setup, Action("press", keys=split_keys(keys)))


def _perform(setup: Setup, action: Action) -> None:
    display = setup.machine.display
    display.perform(action.check(display.size).events(), SettlePolicy())
