"""What a person does on web pages, as macros for oracles and wrong attempts.

A step may return before the new page is there, so each macro looks for what it needs on the page, and after typing
for the text in the field. Chromium tells late where elements are after scrolling: a click would miss them. So a script
makes pages small with ``chromium.overview`` first, which shows them whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.task_suites.programs.toolkits import scripts

_TIMEOUT = 20.0


def overview(screen: Screen) -> Bursts:
    """Zoom out to a third; a site's later pages are shown so too."""
    yield [Action("press", keys=("ctrl", "minus"))] * 6


def go(screen: Screen, url: str, shows: str, as_: str = "heading") -> Bursts:
    """Type an address, delete what the address bar adds to it, and wait for an element of the page."""
    yield [Action("press", keys=("ctrl", "l"))]
    bar = partial(screen.find, role="entry", name="Address and search bar", timeout=_TIMEOUT)
    bar(state="focused")
    yield [Action("type", text=url)]
    bar(text=f"{url}*")
    yield [Action("press", keys=("delete",)), Action("press", keys=("enter",))]
    _find(screen, shows, as_)


def press(screen: Screen, name: str, role: str | None = None, shows: str | None = None) -> Bursts:
    """Click an element, and wait for another one, which the click brings."""
    yield [scripts.click(_find(screen, name, role))]
    if shows is not None:
        _find(screen, shows)


def fill(screen: Screen, name: str, text: str) -> Bursts:
    """Replace the text of a field."""
    yield scripts.fill(_find(screen, name, "entry"), text, end="")
    screen.find(role="entry", name=name, text=text, timeout=_TIMEOUT)


def choose(screen: Screen, option: str, name: str = "*") -> Bursts:
    """Choose an option of a drop-down list, by the list's name."""
    yield from press(screen, name, "combo box")
    yield from press(screen, option, "menu item")


def _find(screen: Screen, name: str, role: str | None = None) -> Element:
    return screen.find(role=role, name=name, timeout=_TIMEOUT)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "chromium.overview": overview,
    "chromium.go": go,
    "chromium.press": press,
    "chromium.fill": fill,
    "chromium.choose": choose,
}
"""By the names that task files use."""
