"""What a person does in Stellarium with mouse and keyboard, as macros for oracles and wrong attempts.

Its windows are drawn in its sky and are no elements: they open in the middle of the screen, where their fields are
found by their places.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen

Page = Literal["Landscape", "Starlore"]
_PAGES: Mapping[Page, int] = {"Landscape": -159, "Starlore": -68}
_ROW = 28.8  # pixels
_PAUSE = Action("wait", seconds=1.0)


def press(screen: Screen, keys: list[list[str]]) -> Bursts:
    """Press keys one after the other, such as ``[[ctrl, g], [e]]``."""
    for each in keys:
        yield [Action("press", keys=tuple(each)), Action("wait", seconds=0.4)]


def find(screen: Screen, object: str) -> Bursts:
    """Select an object by its name, and centre it."""
    yield [Action("press", keys=("f3",)), _PAUSE]
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=object), _PAUSE]
    yield [Action("press", keys=("enter",)), _PAUSE]


def deselect(screen: Screen) -> Bursts:
    """Deselect what is selected, by the right button of the mouse."""
    x, y = _middle(screen)
    yield [Action("click", x + 200, y + 100, button="right"), _PAUSE]


def set_time(screen: Screen, date: str, hour: int, minute: int) -> Bursts:
    """Set a date, such as ``2024-01-15``, and the local time in the window of date and time."""
    x, y = _middle(screen)
    yield [Action("press", keys=("f5",)), _PAUSE]
    yield [Action("click", x - 208, y + 33)]
    for number in (*map(int, date.split("-")), hour, minute, 0):
        yield [Action("press", keys=("ctrl", "a"))]
        for digit in f"{number}":  # a digit that comes while the sky of the one before is still drawn is lost
            yield [Action("type", text=digit), Action("wait", seconds=0.4)]
        yield [Action("press", keys=("tab",)), Action("wait", seconds=0.3)]
    yield [Action("press", keys=("f5",)), _PAUSE]


def set_place(screen: Screen, place: str) -> Bursts:
    """Go to a place, by the first one in the list that has this in its name."""
    x, y = _middle(screen)
    yield [Action("press", keys=("f6",)), _PAUSE]
    yield [Action("click", x + 190, y - 36), Action("press", keys=("ctrl", "a")), Action("type", text=place), _PAUSE]
    yield [Action("click", x + 122, y - 237), _PAUSE]
    yield [Action("press", keys=("f6",)), _PAUSE]


def choose(screen: Screen, page: Page, row: int) -> Bursts:
    """Choose from the list on a page of the window of the view; the top one of those that are shown is 0."""
    x, y = _middle(screen)
    yield [Action("press", keys=("f4",)), _PAUSE]
    yield [Action("click", x + _PAGES[page], y - 229), _PAUSE]
    yield [Action("click", x - 480, y - 184 + round(row * _ROW)), Action("wait", seconds=1.5)]
    yield [Action("press", keys=("f4",)), _PAUSE]


def _middle(screen: Screen) -> tuple[int, int]:
    """The middle of the sky, below the title bar."""
    width, height = screen.size
    return width // 2, height // 2 + 9


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "stellarium.press": press,
    "stellarium.find": find,
    "stellarium.deselect": deselect,
    "stellarium.time": set_time,
    "stellarium.place": set_place,
    "stellarium.choose": choose,
}
"""By the names that task files use."""
