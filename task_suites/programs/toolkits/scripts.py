"""What a person does in any program with mouse and keyboard: parts of macros for oracles and wrong attempts."""

from __future__ import annotations

from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen


def click(element: Element, **more: Any) -> Action:
    """Click the middle of an element."""
    x, y = element.center
    return Action("click", x, y, **more)


def fill(element: Element, text: str, end: str = "\n") -> list[Action]:
    """Replace what is in a text field and press Return, or what ``end`` says."""
    return [click(element), Action("press", keys=("ctrl", "a")), Action("type", text=text + end)]


def choose_menu(screen: Screen, menu: str, item: str) -> Bursts:
    """Choose an item of a menu in the menu bar."""
    yield [click(screen.find(role="menu item", name=menu))]
    yield [click(screen.find(name=item))]
