"""What a person does in JupyterLab, as macros for oracles and wrong attempts.

Cells are counted from 1, from the first that is in sight. JupyterLab indents a new line by itself, so code is typed
line by line, each over what the editor has put there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.toolkits.scripts import click
from deskgym.task_suites.programs.toolkits.waiting import until

_CONTENT = ("Code Cell Content", "Markdown Cell Content")
_TIMEOUT = 60.0
_POLL = 0.05
_QUIET = 0.6  # seconds without a running cell
_CLICK = 5.0  # seconds that a click has to move the focus
_SAVED = 1.0  # seconds that the server has to write a file


def cell(screen: Screen, number: int) -> Bursts:
    """Click into the editor of a cell, until it has the focus; one of text is opened by a double click.

    Chromium tells late where cells are after one above has grown: a click there may hit another cell.
    """
    end = time.monotonic() + _TIMEOUT
    while _focused(screen) != number:
        found = _cell(screen, number)
        yield [Action("click", found.x + 200, found.y + 20, clicks=1 if found.name.startswith("Code") else 2)]
        again = time.monotonic() + _CLICK
        while _focused(screen) != number and time.monotonic() < again:
            time.sleep(_POLL)
        if time.monotonic() > end:
            raise SetupError(f"cell {number} did not take the focus within {_TIMEOUT:g} s")


def outside(screen: Screen, number: int) -> Bursts:
    """Click beside the text of a cell, which selects the cell itself."""
    found = _cell(screen, number)
    yield [Action("click", found.x + 30, found.y + 20)]


def code(screen: Screen, number: int, text: str) -> Bursts:
    """Replace the text of a cell."""
    yield from cell(screen, number)
    yield [Action("press", keys=("ctrl", "a")), Action("press", keys=("delete",)), *_typed(text)]


def add(screen: Screen, text: str) -> Bursts:
    """Add a cell after the last one, and type into it."""
    count = len(_cells(screen))
    yield [click(_find(screen, "Click to add a cell.", "push button"))]
    yield from code(screen, count + 1, text)


def run(screen: Screen, number: int) -> Bursts:
    """Run a cell, and wait until it has ended."""
    yield from cell(screen, number)
    yield [Action("press", keys=("shift", "enter"))]
    _until_idle(screen)


def menu(screen: Screen, path: list[str]) -> Bursts:
    """Choose an item of a menu, or of a menu in it; shortcuts behind names need not be given."""
    yield [click(_find(screen, path[0], "menu item"))]
    for name in path[1:]:
        yield [click(_item(screen, name))]


def run_all(screen: Screen) -> Bursts:
    """Run all cells from the menu, and wait until they have ended."""
    yield from menu(screen, ["Run", "Run All Cells"])
    _until_idle(screen)


def restart(screen: Screen) -> Bursts:
    """Restart the kernel and run all cells, with the button for it, and wait until they have ended."""
    yield [click(_find(screen, "Restart the kernel and run all cells", "push button"))]
    yield [click(_find(screen, "Confirm Kernel Restart", "push button"))]
    _until_idle(screen)


def save(screen: Screen) -> Bursts:
    """Save the file in front."""
    yield [Action("press", keys=("ctrl", "s"))]
    yield [Action("wait", seconds=_SAVED)]


def file(screen: Screen, name: str, choose: str | None = None) -> Bursts:
    """Open a file of the file browser by a double click, or choose an item of its context menu."""
    entry = _find(screen, f"Name: {name} *", "list item")
    x, y = entry.x + 60, entry.center[1]
    if choose is None:
        yield [Action("click", x, y, clicks=2)]
    else:
        yield [Action("click", x, y, button="right")]
        yield [click(_item(screen, choose))]


def choose_kernel(screen: Screen, name: str) -> Bursts:
    """Choose a kernel in the dialog for it."""
    select = _find(screen, "Select Kernel", "push button")
    yield [click(_find(screen, "", "combo box"))]
    yield [click(_find(screen, name, "menu item"))]
    yield [click(select)]
    _find(screen, f"{name}*", "push button")


def press(screen: Screen, name: str, role: str = "push button") -> Bursts:
    """Click an element, once it is there."""
    yield [click(_find(screen, name, role))]


def sees(screen: Screen, name: str, role: str | None = None) -> Bursts:
    """Go on when an element is there."""
    _find(screen, name, role)
    yield from ()


def _find(screen: Screen, name: str, role: str | None = None) -> Element:
    return screen.find(role=role, name=name, timeout=_TIMEOUT)


def _item(screen: Screen, name: str) -> Element:
    """An item of an open menu. Its name ends with its shortcut; one with a menu of its own is found by its text."""
    bar = screen.find(role="menu bar", timeout=_TIMEOUT)

    def items() -> list[Element]:
        texts = [each for each in screen.find_all(role="static", name=name) if each.y > bar.y + bar.height]
        entries = [each for each in screen.find_all(role="menu item") if each.y != bar.y]
        exact = [each for each in entries if each.name == name]
        return [*exact, *(each for each in entries if each.name.startswith(f"{name} ")), *texts]

    until(lambda: bool(items()), f"JupyterLab does not show the item {name!r}", _TIMEOUT)
    return items()[0]


def _cells(screen: Screen) -> list[Element]:
    return [each for each in screen.find_all(role="section") if each.name in _CONTENT]


def _focused(screen: Screen) -> int:
    """The number of the cell whose editor has the focus; 0 for none."""
    number = 0
    elements = screen.elements()
    for k in range(len(elements)):
        element = elements[k]
        number += element.role == "section" and element.name in _CONTENT
        if number and element.role == "entry" and "focused" in element.states:
            return number
    return 0


def _cell(screen: Screen, number: int) -> Element:
    until(lambda: len(_cells(screen)) >= number, f"JupyterLab does not show cell {number}", _TIMEOUT)
    return _cells(screen)[number - 1]


def _typed(text: str) -> list[Action]:
    lines = text.strip("\n").split("\n")
    actions = [Action("type", text=lines[0])]
    for line in lines[1:]:
        actions += [Action("type", text="\n"), Action("press", keys=("shift", "home")), Action("type", text=line)]
        if not line:
            actions[-1] = Action("press", keys=("delete",))
    return actions


def _until_idle(screen: Screen) -> None:
    """Wait until no cell has been running for a while, and at least one has run."""
    since = None
    until = time.monotonic() + 2 * _TIMEOUT
    while since is None or time.monotonic() - since < _QUIET:
        marks = [each.name for each in screen.find_all(role="static", name="[[]*]:")]
        if "[*]:" in marks or all(mark == "[ ]:" for mark in marks):
            since = None
        else:
            since = since or time.monotonic()
        if time.monotonic() > until:
            raise SetupError(f"JupyterLab did not end running cells within {2 * _TIMEOUT:g} s: {marks}")
        time.sleep(_POLL)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    f"jupyterlab.{macro.__name__}": macro
    for macro in (cell, outside, code, add, run, menu, run_all, restart, save, file, choose_kernel, press, sees)
}
"""By the names that task files use."""
