"""What a person does in PSPP with mouse and keyboard, as macros for oracles and wrong attempts.

Accessibility shows menus, dialogs and the text of syntax; cells of data and tables of output are only drawn.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Generator, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.pspp import reports
from deskgym.task_suites.programs.toolkits.scripts import click
from deskgym.task_suites.programs.toolkits.waiting import until

DATA, OUTPUT, SYNTAX = "*Data Editor", "*Output Viewer", "*Syntax Editor"
_SLOW = 60.0  # seconds
_PAUSE = 0.4
_POLL = 0.1
_TRIES = 20


def choose(screen: Screen, entries: list[str], window: str = DATA) -> Bursts:
    """Click entries of menus, from the bar of a window on."""
    yield [click(screen.find(role="menu", name=entries[0], window=window)), Action("wait", seconds=_PAUSE)]
    for entry in entries[1:-1]:
        yield [click(screen.find(role="menu", name=entry)), Action("wait", seconds=_PAUSE)]
    yield [click(screen.find(role="menu item", name=entries[-1])), Action("wait", seconds=_PAUSE)]


def show(screen: Screen, window: str, title: str) -> Bursts:
    """Bring the window of this title to the front, by the menu of another one."""
    yield [click(screen.find(role="menu", name="Windows", window=window)), Action("wait", seconds=_PAUSE)]
    yield [click(screen.find(role="check menu item", name=title)), Action("wait", seconds=_PAUSE)]


def pick(screen: Screen, dialog: str, variables: list[str], into: int = 0) -> Bursts:
    """In a dialog, move variables from the list at its left, by one of its arrows; the top one is 0."""
    screen.find(role="push button", name="OK", window=dialog)
    for name in variables:
        cells = [each for each in screen.find_all(role="table cell", name=name, window=dialog) if each.x > 0]
        yield [click(min(cells, key=lambda each: each.x)), Action("wait", seconds=_PAUSE)]
        arrows = screen.find_all(role="push button", name="", window=dialog)
        yield [click(sorted(arrows, key=lambda each: each.y)[into]), Action("wait", seconds=_PAUSE)]


def press(screen: Screen, name: str) -> Bursts:
    """Press a button of a dialog."""
    yield [click(screen.find(role="push button", name=name)), Action("wait", seconds=2 * _PAUSE)]


def set_cell(screen: Screen, row: int, column: str, text: str) -> Bursts:
    """Type into a cell of the Variable View: of this row, from 1, and column."""
    top = screen.find(role="push button", name=column, window=DATA)
    side = screen.find(role="push button", name=str(row), window=DATA)
    at = (top.center[0], side.center[1])
    yield [Action("click", *at), Action("click", *at, clicks=2), Action("wait", seconds=_PAUSE)]
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=f"{text}\n"), Action("wait", seconds=_PAUSE)]


def syntax(screen: Screen, text: str) -> Bursts:
    """Type syntax in a new window, and run all of it."""
    before = len(screen.find_all(role="text", window=SYNTAX))
    yield from choose(screen, ["File", "New", "Syntax"])
    screen.find(role="text", window=SYNTAX, nth=before)
    yield [Action("type", text=f"{text}\n"), Action("wait", seconds=_PAUSE)]
    run = len(screen.find_all(role="table cell", window=OUTPUT))
    yield from choose(screen, ["Run", "All"], SYNTAX)
    until(lambda: len(screen.find_all(role="table cell", window=OUTPUT)) > run, "the syntax does not run", _SLOW, _POLL)
    yield [Action("wait", seconds=2 * _PAUSE)]


def write(screen: Screen, text: str) -> Bursts:
    """Replace the text of the syntax that is open, and save it."""
    yield [click(screen.find(role="text", window=SYNTAX)), Action("press", keys=("ctrl", "a"))]
    yield [Action("type", text=text), Action("press", keys=("ctrl", "s")), Action("wait", seconds=2 * _PAUSE)]


def save(screen: Screen) -> Bursts:
    """Save the data."""
    yield from choose(screen, ["File", "Save..."])
    _saved(screen)


def save_as(screen: Screen, path: str) -> Bursts:
    """Save the data under another name."""
    yield from choose(screen, ["File", "Save As..."])
    yield from _name(screen, path, "Save")
    _saved(screen)


def _saved(screen: Screen) -> None:
    screen.find(role="frame", name=f"[!*]{DATA}", timeout=_SLOW)  # a star stands before what is not saved


def export(screen: Screen, path: str) -> Bursts:
    """Export all output, in the format that the path ends with."""
    yield from show(screen, DATA, "Output")
    yield from choose(screen, ["File", "Export..."], OUTPUT)
    yield from _name(screen, path, "Save")


def _name(screen: Screen, path: str, button: str) -> Bursts:
    """Type a path in the dialog of files."""
    screen.find(role="push button", name="Cancel")
    yield [Action("wait", seconds=_PAUSE), Action("press", keys=("ctrl", "a")), Action("type", text=path)]
    screen.find(role="text", text=path)
    for _ in range(_TRIES):  # the button takes no click while the dialog still looks at the path
        yield [click(screen.find(role="push button", name=button, nth=-1)), Action("wait", seconds=3 * _PAUSE)]
        if not screen.find_all(role="push button", name="Cancel"):
            return
    raise SetupError(f"the dialog of files did not close when {button} was pressed {_TRIES} times")


def tell(screen: Screen, table: str, row: list[str], column: str, path: str = "/home/user/work/told.csv") -> Bursts:
    """Export the output, open what was exported as a text, and answer a number of it; see ``reports.cell``."""
    value = yield from said(screen, table, row, column, path)
    yield [Action("answer", text=value)]


def said(screen: Screen, table: str, row: list[str], column: str, path: str) -> Generator[list[Action], None, str]:
    """A number of the output."""
    yield from export(screen, path)
    yield from choose(screen, ["File", "Open"])
    screen.find(role="push button", name="Cancel")
    yield [Action("wait", seconds=_PAUSE), Action("type", text=path), Action("wait", seconds=_PAUSE)]
    yield [click(screen.find(role="push button", name="Open", window="Open")), Action("wait", seconds=_PAUSE)]
    text = screen.find(role="text", window=f"*{posixpath.basename(path)}*", text="*Table:*", timeout=_SLOW).text
    found = dict(reversed(reports.tables(text)))
    return reports.cell(found[table], row, column)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "pspp.choose": choose,
    "pspp.show": show,
    "pspp.pick": pick,
    "pspp.press": press,
    "pspp.cell": set_cell,
    "pspp.syntax": syntax,
    "pspp.write": write,
    "pspp.save": save,
    "pspp.save_as": save_as,
    "pspp.export": export,
    "pspp.tell": tell,
}
"""By the names that task files use."""
