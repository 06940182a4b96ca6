"""What a person does in KAlgebra with mouse and keyboard, as macros for oracles and wrong attempts.

Each is a generator of bursts (see ``deskgym.task_suites.core.script``): it looks at the screen between them, and at
nothing that an agent could not see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Literal

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.kalgebra.program import TABS, Tab
from deskgym.task_suites.programs.toolkits import qt
from deskgym.task_suites.programs.toolkits.scripts import choose_menu, click, fill

COLORS = {
    "white": 1, "black": 5, "red": 13, "orange": 14, "yellow": 15, "lime": 16, "cyan": 17, "blue": 18, "magenta": 19,
    "maroon": 20, "green": 23, "teal": 24, "navy": 25, "purple": 26,
}  # fmt: skip
"""Colours of the function form's list, by the place where KAlgebra has them: its items have no accessible names."""

COLOR_VALUES = {
    "white": "#ffffff", "black": "#000000", "red": "#ff0000", "orange": "#ff8000", "yellow": "#ffff00",
    "lime": "#00ff00", "cyan": "#00ffff", "blue": "#0000ff", "magenta": "#ff00ff", "maroon": "#800000",
    "green": "#008000", "teal": "#008080", "navy": "#000080", "purple": "#800080",
}  # fmt: skip
"""The same colours as ``#rrggbb``."""

Menu = Literal["Calculator", "2D Graph", "3D Graph"]


def tab(screen: Screen, to: Tab) -> Bursts:
    """Bring a tab to the front, unless it is there."""
    yield from qt.choose_tab(screen, TABS[to])


def enter(screen: Screen, text: str) -> Bursts:
    """Replace what is in the calculator's or the 3D graph's input, and press Return."""
    yield fill(screen.find(role="text"), text)


def evaluate(screen: Screen, text: str) -> Bursts:
    """Evaluate an expression in the calculator, from any tab."""
    yield from tab(screen, "calculator")
    yield from enter(screen, text)


def surface(screen: Screen, expression: str) -> Bursts:
    """Plot a surface in the 3D graph, from any tab."""
    yield from tab(screen, "3d")
    yield from enter(screen, expression)


def add_function(screen: Screen, expression: str) -> Bursts:
    """Add a function to the 2D graph, from any tab."""
    yield from tab(screen, "2d")
    add = screen.find(role="page tab", name="Add")
    if not screen.find_all(role="page tab list", name="Add"):  # the form is open when there are no functions
        yield [click(add)]
    yield fill(screen.find(role="text"), expression)
    with suppress(SetupError):  # refused: the form stays, and whoever wrote the expression is to blame
        screen.find(role="table cell", name="f*", timeout=5.0)


def _edit(screen: Screen, nth: int) -> Bursts:
    """Open the form of the nth function: a double click on its expression."""
    yield [click(screen.find(role="table cell", nth=2 * nth + 1), clicks=2)]
    try:
        screen.find(role="push button", name="Remove", timeout=2.0)
    except SetupError:  # on a busy computer the clicks may come too far apart to be a double click
        yield [click(screen.find(role="table cell", nth=2 * nth + 1), clicks=2)]
        screen.find(role="push button", name="Remove")


def change_function(screen: Screen, expression: str, nth: int = 0) -> Bursts:
    """Replace the expression of the nth function."""
    yield from _edit(screen, nth)
    yield fill(screen.find(role="text"), expression)


def remove_function(screen: Screen, nth: int = 0) -> Bursts:
    """Remove the nth function."""
    yield from _edit(screen, nth)
    yield [click(screen.find(role="push button", name="Remove"))]


def color(screen: Screen, name: str, nth: int = 0) -> Bursts:
    """Give the nth function a colour of ``COLORS``."""
    yield from _edit(screen, nth)
    yield [click(screen.find(role="combo box"))]
    yield [click(screen.find(role="list item", nth=COLORS[name]))]
    yield [click(screen.find(role="push button", name="OK"))]


def toggle_function(screen: Screen, nth: int = 0) -> Bursts:
    """Show or hide the nth function by its check box, at the left of its row."""
    cell = screen.find(role="table cell", nth=2 * nth)
    yield [Action("click", cell.x + 9, cell.center[1])]


def menu(screen: Screen, of: Menu, item: str) -> Bursts:
    """Choose an item of a menu."""
    yield from choose_menu(screen, of, item)


def remove_variable(screen: Screen, name: str) -> Bursts:
    """Remove a variable: a click on its value opens a form with a button for it."""
    cell = screen.find(role="table cell", name=name)
    yield [Action("click", cell.x + cell.width + 20, cell.center[1])]
    yield [click(screen.find(role="push button", name="Remove Variable"))]


def change_variable(screen: Screen, name: str, value: str) -> Bursts:
    """Change a variable in the form that a click on its value opens."""
    cell = screen.find(role="table cell", name=name)
    yield [Action("click", cell.x + cell.width + 20, cell.center[1])]
    ok = screen.find(role="push button", name="OK")
    box = screen.find(role="text", nth=-1)
    yield [*fill(box, value, end=""), click(ok)]


def load_script(screen: Screen, path: str) -> Bursts:
    """Load a script through the file dialog."""
    yield from tab(screen, "calculator")
    yield [Action("press", keys=("ctrl", "l"))]
    yield from qt.choose_file(screen, path)


def save_script(screen: Screen, path: str) -> Bursts:
    """Save the calculator's input as a script through the file dialog."""
    yield from tab(screen, "calculator")
    yield [Action("press", keys=("ctrl", "g"))]
    yield from qt.choose_file(screen, path)


def viewport(screen: Screen, left: float, top: float, width: float, height: float) -> Bursts:
    """Show a part of the plane in the 2D graph."""
    yield from tab(screen, "2d")
    yield [click(screen.find(role="page tab", name="Viewport"))]
    numbers = {"Left:": left, "Top:": top, "Width:": width, "Height:": height}
    for label, number in numbers.items():
        box = screen.find(role="spin button", name=label)
        yield [click(box, clicks=2), Action("press", keys=("ctrl", "a")), Action("type", text=f"{number:g}\t")]
    yield [click(screen.find(role="push button", name="Apply"))]


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "kalgebra.tab": tab,
    "kalgebra.enter": enter,
    "kalgebra.evaluate": evaluate,
    "kalgebra.surface": surface,
    "kalgebra.add": add_function,
    "kalgebra.change": change_function,
    "kalgebra.remove": remove_function,
    "kalgebra.color": color,
    "kalgebra.toggle": toggle_function,
    "kalgebra.menu": menu,
    "kalgebra.remove_variable": remove_variable,
    "kalgebra.change_variable": change_variable,
    "kalgebra.load_script": load_script,
    "kalgebra.save_script": save_script,
    "kalgebra.viewport": viewport,
}
"""By the names that task files use."""
