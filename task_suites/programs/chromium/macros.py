"""What a person does on web pages, as macros for oracles and wrong attempts.

A step may return before the new page is there, so each macro looks for what it needs on the page, and after typing
for the text in the field.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.toolkits.scripts import click

_TURNS = 30
_MARGIN = 8
_TIMEOUT = 20.0
_REST = 0.15


def go(screen: Screen, url: str, shows: str, as_: str = "heading") -> Bursts:
    """Type an address, delete what the address bar adds to it, and wait for an element of the page."""
    yield [
        Action("press", keys=("ctrl", "l")),
        Action("type", text=url),
        Action("press", keys=("delete",)),
        Action("press", keys=("enter",)),
    ]
    awaits(screen, shows, as_)


def awaits(screen: Screen, name: str, role: str | None = None) -> Element:
    """An element that a page shows at its top, once it is there."""
    return screen.find(role=role, name=name, timeout=_TIMEOUT)


def reveal(screen: Screen, name: str, role: str | None = None) -> Bursts:
    """Scroll down until an element lies wholly on the screen; from the page's end, begin again at its top."""
    height = screen.size[1]
    page = awaits(screen, "*", "document web")
    x, y = page.x + page.width - 40, height * 2 // 3
    for _ in range(_TURNS):
        before = screen.find_all()
        if any(e.y + e.height < height - _MARGIN for e in screen.find_all(role=role, name=name)):
            return
        yield [Action("scroll", x, y, dy=3)]
        if not _changes(screen, before):
            yield [Action("scroll", x, y, dy=-_TURNS)]
            _changes(screen, before)
    raise SetupError(f"no element {name!r} came into sight within {_TURNS} turns of the wheel")


def _changes(screen: Screen, before: Sequence[Element], timeout: float = 1.0) -> bool:
    """Wait until the elements have changed, which they do a while after the pixels, and then until they rest."""
    until, changed = time.monotonic() + timeout, False
    while time.monotonic() < until:
        now = screen.find_all()
        if changed and now == before:
            return True
        changed, before = changed or now != before, now
        time.sleep(_REST)
    return changed


def press(screen: Screen, name: str, role: str | None = None) -> Bursts:
    """Click an element, scrolling down to it first."""
    yield from reveal(screen, name, role)
    yield [click(screen.find(role=role, name=name))]


def fill(screen: Screen, name: str, text: str) -> Bursts:
    """Replace the text of a field."""
    yield from press(screen, name, "entry")
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=text)]
    screen.find(role="entry", name=name, text=text)


def choose(screen: Screen, option: str, name: str = "*") -> Bursts:
    """Choose an option of a drop-down list, by the list's name."""
    yield from press(screen, name, "combo box")
    yield [click(screen.find(role="menu item", name=option))]


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "chromium.go": go,
    "chromium.reveal": reveal,
    "chromium.press": press,
    "chromium.fill": fill,
    "chromium.choose": choose,
}
"""By the names that task files use."""
