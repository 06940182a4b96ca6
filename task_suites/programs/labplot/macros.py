"""What a person does in LabPlot with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.task_suites.programs.labplot.project import LINES, SCALES, SYMBOLS
from deskgym.task_suites.programs.toolkits.qt import choose_file
from deskgym.task_suites.programs.toolkits.scripts import click, fill

_IMPORT = "Import Data to Spreadsheet or Matrix*"
_PLOT = "Plot Spreadsheet Data*"

Axis = Literal["x", "y"]


def _press(*keys: str) -> list[Action]:
    return [Action("press", keys=(key,)) for key in keys]


def import_(screen: Screen, path: str) -> Bursts:
    """Import a file into a new spreadsheet, by the dialog of the button From File."""
    yield [click(screen.find(role="push button", name="From File"))]
    yield [click(screen.find(role="push button", window=_IMPORT, name="New")), Action("wait", seconds=0.5)]
    yield [*_press("down", "down", "enter"), Action("wait", seconds=0.5)]
    yield [*_press("enter"), Action("wait", seconds=0.5)]
    yield [click(screen.find(role="push button", window=_IMPORT, name="Data Source")), Action("wait", seconds=0.5)]
    yield from choose_file(screen, path)
    yield [Action("wait", seconds=0.8)]
    yield [click(screen.find(role="push button", window=_IMPORT, name="OK")), Action("wait", seconds=1.0)]


def plot(screen: Screen, swap: bool = False) -> Bursts:
    """Plot all columns of the spreadsheet in front, the first one as x or the last, in a new worksheet."""
    yield [click(screen.find(role="table cell", name="0.5")), Action("press", keys=("ctrl", "a"))]
    yield [click(screen.find(role="menu item", name="Spreadsheet")), Action("wait", seconds=0.5)]
    yield [*_press("down", "right", "enter"), Action("wait", seconds=0.8)]
    if swap:
        boxes = sorted(screen.find_all(role="combo box", window=_PLOT), key=lambda box: box.y)
        for box, key in zip(boxes, ("down", "up"), strict=False):
            yield from _choose_at(box, key)
    yield from _plot_new(screen)


def _plot_new(screen: Screen) -> Bursts:
    yield [click(screen.find(role="radio button", name="New plot in a new worksheet"))]
    yield [click(screen.find(role="push button", name="Plot")), Action("wait", seconds=1.0)]


def save(screen: Screen, path: str | None = None) -> Bursts:
    """Save the project, under a path if it has no file yet."""
    yield [Action("press", keys=("ctrl", "s")), Action("wait", seconds=0.8)]
    if path is not None:
        yield from choose_file(screen, path)
    yield [Action("wait", seconds=1.0)]


def select(screen: Screen, name: str, tab: str | None = None) -> Bursts:
    """Choose the plot, or an axis or curve in it, in the project explorer, and show a tab of its properties."""
    yield [click(screen.find(role="table cell", name="Plot")), Action("wait", seconds=0.5)]
    if name != "Plot":
        yield [*_press("right"), Action("wait", seconds=0.5)]
        yield [click(screen.find_all(role="table cell", name=name)[-1]), Action("wait", seconds=0.7)]
    if tab is not None:
        yield [click(screen.find(role="page tab", name=tab)), Action("wait", seconds=0.5)]


def title(screen: Screen, of: str, text: str) -> Bursts:
    """Give the plot, or one of its axes, a title."""
    yield from select(screen, of, "Title")
    fields = [each for each in screen.find_all(role="text") if "editable" in each.states]
    field = max(fields, key=lambda each: each.width * each.height)
    yield [*fill(field, text, end=""), Action("wait", seconds=0.5)]


def scale(screen: Screen, axis: Axis, to: str) -> Bursts:
    """Choose the scale of an axis, by its place in the list."""
    yield from select(screen, "Plot", "General")
    yield [_below(screen, "Scale", axis), Action("wait", seconds=0.5)]
    yield [*_press(*["down"] * SCALES.index(to), "enter"), Action("wait", seconds=0.5)]


def range_(screen: Screen, axis: Axis, start: float, end: float) -> Bursts:
    """Set the range of an axis."""
    yield from select(screen, "Plot", "General")
    yield [_below(screen, "Auto", axis), Action("wait", seconds=0.4)]
    for name, value in (("Start", start), ("End", end)):
        yield [_below(screen, name, axis), Action("press", keys=("ctrl", "a")), Action("type", text=f"{value:g}\n")]
        yield [Action("wait", seconds=0.4)]


def _below(screen: Screen, name: str, axis: Axis) -> Action:
    """Click the first cell of a column of the table of ranges: that of x stands over that of y."""
    screen.find(role="table column header", name=name)
    heads = sorted(screen.find_all(role="table column header", name=name), key=lambda each: each.y)
    head = heads["xy".index(axis)]
    return Action("click", head.x + 8, head.y + head.height + 15)


def style(screen: Screen, curve: str, line: str | None = None, symbol: str | None = None) -> Bursts:
    """Give a curve a style of line and symbols."""
    for tab, names, now, wanted in (("Symbol", SYMBOLS, "none", symbol), ("Line", LINES, "Solid Line", line)):
        if wanted is not None:
            yield from select(screen, curve, tab)
            steps = names.index(wanted) - (1 if tab == "Line" else 0)
            yield from _choose_at(screen.find(role="combo box", name=now), *["down"] * steps)


def _choose_at(box: Element, *keys: str) -> Bursts:
    yield [click(box), Action("wait", seconds=0.5), *_press(*keys, "enter"), Action("wait", seconds=0.5)]


def _menu(screen: Screen, column: str, entries: list[int]) -> Bursts:
    """Choose entries of a column's context menu and its submenus, counted from 1."""
    yield [click(screen.find(role="table column header", name=f"{column} *")), Action("wait", seconds=0.4)]
    head = screen.find(role="table column header", name=f"{column} *")
    yield [click(head, button="right"), Action("wait", seconds=0.6)]
    for level, entry in enumerate(entries):
        keys = ["down"] * entry if level == 0 else ["right", *["down"] * (entry - 1)]
        yield [*_press(*keys), Action("wait", seconds=0.3)]
    yield [*_press("enter"), Action("wait", seconds=1.0)]


def compute(screen: Screen, after: str, function: str, name: str | None = None) -> Bursts:
    """Insert a column right of one, fill it with values of a function of the first column, and name it."""
    yield from _menu(screen, after, [8])
    yield from _menu(screen, "1", [4, 5])
    yield [Action("type", text=function), Action("wait", seconds=0.3)]
    yield [click(screen.find(role="push button", name="Generate")), Action("wait", seconds=0.6)]
    if name is not None:
        yield [click(screen.find(role="table cell", name="1", state="selected")), Action("wait", seconds=0.5)]
        yield fill(screen.find(role="text", text="1"), name)


def sort(screen: Screen, column: str, number: int, order: str = "Ascending", together: bool = True) -> Bursts:
    """Sort the spreadsheet by a column, the number-th one, or each column by itself."""
    yield [click(screen.find(role="table column header", name=f"{column} *"))]
    yield [click(screen.find(role="menu item", name="Spreadsheet")), Action("wait", seconds=0.5)]
    yield [*_press(*["down"] * 5, "enter"), Action("wait", seconds=0.8)]
    boxes = sorted(screen.find_all(role="combo box", window="Sort*"), key=lambda box: box.y)
    if order == "Descending":
        yield from _choose_at(boxes[0], "down")
    if together:
        yield from _choose_at(boxes[1], "down")
        yield from _choose_at(boxes[2], *["down"] * (number - 1))
    yield [click(screen.find(role="push button", name="Sort")), Action("wait", seconds=0.6)]


def statistic(screen: Screen, column: str, which: str) -> Bursts:
    """Answer with a statistic of a column, as its dialog shows it."""
    yield from _menu(screen, column, [15])
    said = screen.find(role="text", window="*column statistics*").text
    value = re.search(rf"{which}\W+?(-?[\d.,]+)", said)
    yield [Action("answer", text=value.group(1) if value else said[:200])]


def fit(screen: Screen, column: str, model: int = 1) -> Bursts:
    """Fit a column, and show the fit in the plot that there is."""
    yield from _menu(screen, column, [2, 1, model])
    yield [click(screen.find(role="push button", name="Plot")), Action("wait", seconds=1.5)]


def parameter(screen: Screen, which: Literal["c₀", "c₁"]) -> Bursts:
    """Answer with a parameter of the fit, from its properties."""
    yield from select(screen, "Fit to*", "Parameters")
    cells = screen.find_all(role="table cell")
    names = [cell.name for cell in cells]
    yield [Action("answer", text=names[names.index(which) + 1])]


def histogram(screen: Screen, column: str) -> Bursts:
    """Plot a histogram of a column in a new worksheet."""
    yield from _menu(screen, column, [1, 2])
    yield from _plot_new(screen)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "labplot.import": import_,
    "labplot.plot": plot,
    "labplot.save": save,
    "labplot.title": title,
    "labplot.scale": scale,
    "labplot.range": range_,
    "labplot.style": style,
    "labplot.compute": compute,
    "labplot.sort": sort,
    "labplot.statistic": statistic,
    "labplot.fit": fit,
    "labplot.parameter": parameter,
    "labplot.histogram": histogram,
}
"""By the names that task files use."""
