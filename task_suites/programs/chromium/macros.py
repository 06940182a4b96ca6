"""What a person does on web pages, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.envs.errors import SetupError

_SCROLLS = 30


def _click(element: Element) -> Action:
    return Action("click", *element.center)


def go(screen: Screen, url: str) -> Bursts:
    """Type an address, and delete what the address bar adds to it."""
    yield [
        Action("press", keys=("ctrl", "l")),
        Action("type", text=url),
        Action("press", keys=("delete",)),
        Action("press", keys=("enter",)),
    ]


def reveal(screen: Screen, name: str, role: str | None = None) -> Bursts:
    """Scroll down until an element lies wholly on the screen."""
    width, height = screen.size
    page = screen.find(role="document web")
    for _ in range(_SCROLLS):
        found = screen.find_all(role=role, name=name)
        if found and found[0].y + found[0].height < height - 8:
            return
        yield [Action("scroll", page.x + page.width - 40, height * 2 // 3, dy=3)]
    raise SetupError(f"no element {name!r} came into sight within {_SCROLLS} turns of the wheel")


def press(screen: Screen, name: str, role: str | None = None) -> Bursts:
    """Click an element, scrolling down to it first."""
    screen.find(role="document web")
    yield from reveal(screen, name, role)
    yield [_click(screen.find(role=role, name=name))]


def fill(screen: Screen, name: str, text: str) -> Bursts:
    """Replace the text of a field."""
    yield from press(screen, name, "entry")
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=text)]


def choose(screen: Screen, option: str, name: str | None = None) -> Bursts:
    """Choose an option of a drop-down list, by the list's name."""
    if name is not None:
        yield from reveal(screen, name, "combo box")
    yield [_click(screen.find(role="combo box", name=name))]
    yield [_click(screen.find(role="menu item", name=option))]


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "chromium.go": go,
    "chromium.reveal": reveal,
    "chromium.press": press,
    "chromium.fill": fill,
    "chromium.choose": choose,
}
"""By the names that task files use."""
