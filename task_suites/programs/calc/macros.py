"""What a person does in Calc with mouse and keyboard, as macros for oracles and wrong attempts.

LibreOffice moves its focus late: keys that come at once after Return in the Name Box still go there. So each macro
looks, before it types, that the focus is where the keys belong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.toolkits.scripts import click

DEADLINE = 20.0
_POLL = 0.02


def _until(what: str, holds: Callable[[], bool]) -> None:
    """Wait for a state of the screen. Raises SetupError after ``DEADLINE`` seconds."""
    until = time.monotonic() + DEADLINE
    while not holds():
        if time.monotonic() > until:
            raise SetupError(f"Calc did not show {what} within {DEADLINE:g} s")
        time.sleep(_POLL)


def sheet(screen: Screen, name: str) -> Bursts:
    """Bring a sheet to the front."""
    yield [click(screen.find(role="page tab", name=name))]
    _until(f"the sheet {name!r}", lambda: bool(screen.find_all(role="table", name=f"Sheet {name}")))


def select(screen: Screen, range: str) -> Bursts:
    """Select cells of the sheet in front, such as ``B2:B9``, through the Name Box."""
    yield [click(screen.find(role="text"))]
    _until("the focus in the Name Box", lambda: "focused" in screen.find(role="text").states)
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=f"{range}\n")]

    def selected() -> bool:
        tables = screen.find_all(role="table")
        return any("focused" in table.states for table in tables) and screen.find(role="text").text == range

    _until(f"the selection {range}", selected)


def enter(screen: Screen, at: str, text: str) -> Bursts:
    """Type a text or a formula into a cell."""
    yield from select(screen, at)
    yield [Action("type", text=f"{text}\n")]


def fill(screen: Screen, range: str, text: str) -> Bursts:
    """Type a text or a formula into all cells of a range at once; relative references move along."""
    yield from select(screen, range)
    yield [Action("type", text=text), Action("press", keys=("alt", "enter"))]


def menu(screen: Screen, path: list[str]) -> Bursts:
    """Open a menu and choose an item of it, or of a menu in it."""
    for name in path[:-1]:
        yield [click(screen.find(role="menu", name=name))]
    yield [click(screen.find(name=path[-1]))]


def choose(screen: Screen, option: str, window: str, nth: int = 0) -> Bursts:
    """Choose an option in the ``nth`` drop-down list of a dialog."""
    yield [click(screen.find(role="toggle button", window=window, nth=nth))]
    yield [click(screen.find(role="table cell", name=option))]


def only(screen: Screen, header: str, value: str) -> Bursts:
    """Show only the rows with a value, through the arrow in a header cell that has an AutoFilter."""
    for _ in range(3):  # the arrow may come after the button that asks for it was drawn as pressed
        cell = screen.find(role="table cell", name=header)
        yield [Action("click", cell.x + cell.width - 9, cell.y + cell.height - 9)]
        with suppress(SetupError):
            screen.find(role="check box", name="All", timeout=DEADLINE / 4)
            break
    yield [click(screen.find(role="check box", name="All"))]
    row = screen.find(role="table cell", name=value)
    yield [Action("click", screen.find(role="check box", name="All").x + 8, row.center[1])]
    yield [click(screen.find(role="push button", name="OK"))]


def field(screen: Screen, name: str, to: str) -> Bursts:
    """Drag a field to a part of the dialog for pivot tables, such as ``Row Fields:``; in steps, as a hand does."""
    dialog = "Pivot Table Layout"
    start = screen.find(role="table cell", name=name, window=dialog, nth=-1).center
    part = screen.find(role="label", name=to, window=dialog)
    x, y = part.x + 60, part.y + 60
    yield [Action("move", *start), Action("mouse_down")]
    yield [Action("move", start[0] - 15, start[1])]
    yield [Action("move", x - 10, y - 10)]
    yield [Action("move", x, y)]
    yield [Action("mouse_up")]


def awaits_sheet(screen: Screen, name: str) -> Bursts:
    """Go on when a sheet of that name, or glob, has come."""
    screen.find(role="page tab", name=name)
    yield from ()


def condition(screen: Screen, option: str, value: str, style: str) -> Bursts:
    """Give the selected cells a conditional format: a comparison with a value, and a cell style."""
    yield from menu(screen, ["Format", "Conditional", "Condition..."])
    dialog = "Conditional Formatting*"
    screen.find(role="label", name="Apply Style:", window=dialog)
    _until("the condition", lambda: len(screen.find_all(role="toggle button", window=dialog)) == 3)
    lists = sorted(screen.find_all(role="toggle button", window=dialog), key=lambda element: (element.y, element.x))
    yield [click(lists[1])]
    yield [click(screen.find(role="table cell", name=option))]
    yield [click(lists[2])]
    yield [click(screen.find(role="table cell", name=style))]
    entry = min(screen.find_all(role="text", window=dialog), key=lambda element: element.y)
    yield [click(entry), Action("press", keys=("ctrl", "a")), Action("type", text=value)]
    screen.find(role="text", window=dialog, text=value)
    yield [click(screen.find(role="push button", name="OK", window=dialog))]


def save(screen: Screen) -> Bursts:
    """Save the workbook in its own format."""
    yield [Action("press", keys=("ctrl", "s"))]


MACROS: Mapping[str, Callable[..., Bursts]] = {
    f"calc.{macro.__name__}": macro
    for macro in (sheet, select, enter, fill, menu, choose, only, field, awaits_sheet, condition, save)
}
"""By the names that task files use."""
