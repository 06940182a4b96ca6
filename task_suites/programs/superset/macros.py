"""What a person does in Superset's pages, as macros for oracles and wrong attempts.

Pages answer late, so each macro waits for what it needs before it clicks, and for what its input brings after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from deskgym.envs.action.actions import Action
from deskgym.envs.deadline import Deadline
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.chromium.macros import go
from deskgym.task_suites.programs.toolkits import scripts
from deskgym.task_suites.programs.toolkits.waiting import until

_TIMEOUT, _POLL = 60.0, 0.1


def page(screen: Screen, path: str, shows: str, as_: str = "push button") -> Bursts:
    """Type the address of one of Superset's pages, and wait for an element of it."""
    yield from go(screen, f"127.0.0.1:8088{path}", "*", "document web")
    _find(screen, shows, as_)


def press(screen: Screen, name: str, role: str = "push button", shows: str = "") -> Bursts:
    """Click the last element of a name, and wait for another one, which the click brings."""
    yield [scripts.click(_find(screen, name, role, nth=-1))]
    if shows:
        _find(screen, shows)


def pick(screen: Screen, box: str, value: str, nth: int = 0, seconds: float = 0.5) -> Bursts:
    """Choose from a drop-down list that is searched by typing. What it offers is not accessible: wait for it."""
    find = partial(screen.find, role="combo box", name=box, nth=nth, timeout=_TIMEOUT)
    yield [scripts.click(find())]
    find(state="expanded")
    yield [Action("type", text=value)]
    find(text=value)
    yield [Action("wait", seconds=seconds), Action("press", keys=("enter",))]
    find(text="")


def _pick_shown(screen: Screen, box: str, value: str) -> Bursts:
    """Choose from a list that comes from the server; again where the value that was typed has not been offered yet."""
    for seconds in (1.5, 3.0, 6.0, 12.0):
        yield from pick(screen, box, value, seconds=seconds)
        with suppress(SetupError):
            screen.find(name=f"*{value}*", timeout=4.0)
            return
    raise SetupError(f"{box!r} does not take {value!r}")


def dimension(screen: Screen, box: str, column: str) -> Bursts:
    """Add a column to one of a chart's boxes, by the plus in it."""
    yield from _open(screen, box)
    yield from _tab(screen, "SIMPLE")
    yield from pick(screen, "Column", column)
    yield from _save(screen)


def metric(screen: Screen, box: str, aggregate: str, column: str) -> Bursts:
    """Add an aggregate of a column to a box."""
    yield from _open(screen, box)
    yield from _tab(screen, "SIMPLE")
    yield from pick(screen, "Select column", column)
    yield from pick(screen, "Select aggregate options", aggregate)
    yield from _save(screen)


def save_chart(screen: Screen, name: str = "", dashboard: str = "") -> Bursts:
    """Save the chart under a new name, or as it is without one; on a dashboard too, which may be a new one."""
    yield [scripts.click(_find(screen, "SAVE", "push button"))]
    _find(screen, "Save chart", "dialog")
    if name:
        yield from put(screen, "Name", name)
    if dashboard:
        yield from pick(screen, "Select a dashboard", dashboard, seconds=2.0)
    yield from press(screen, "SAVE")
    until(lambda: not screen.find_all(role="dialog", name="Save chart"), "the dialog to save a chart stays", _TIMEOUT)


def of_row(screen: Screen, row: str, button: str) -> Bursts:
    """Press a button that comes after a text, such as the bin in a list's row.

    Chromium at times keeps the elements of a list's rows to itself until the page is loaded again.
    """
    for _ in range(6):
        if found := _after(screen, row, button, 6.0):
            yield [scripts.click(found)]
            return
        yield [Action("press", keys=("ctrl", "r"))]
        _find(screen, row)
    raise SetupError(f"no {button!r} comes after {row!r}")


def filter_(screen: Screen, column: str, value: str) -> Bursts:
    """Add a filter to a chart: a column equals a value."""
    yield from _open(screen, "FILTERS")
    yield from pick(screen, "Select subject", column)
    yield from pick(screen, "Select operator", "Equal to (=)")
    yield from pick(screen, "Comparator option", value, seconds=1.5)
    yield from _save(screen)


def write(screen: Screen, text: str, nth: int = 0) -> Bursts:
    """Replace what is in an editor of SQL, which has no name."""
    yield scripts.fill(screen.find(role="entry", name="", nth=nth, timeout=_TIMEOUT), text, end="")


def query(screen: Screen, sql: str) -> Bursts:
    """Run a query in SQL Lab, in the warehouse."""
    yield from page(screen, "/sqllab/", "RUN")
    yield from _pick_shown(screen, "Select database or type to search databases", "Warehouse")
    yield from _pick_shown(screen, "Select schema or type to search schemas", "public")
    yield from write(screen, sql)
    yield [Action("wait", seconds=1.0), scripts.click(_find(screen, "RUN", "push button"))]
    _find(screen, "DOWNLOAD TO CSV")


def confirm(screen: Screen, button: str) -> Bursts:
    """Press the last button of a name, and wait until it is gone: what it stands for has been done."""
    pressed = _find(screen, button, "push button", nth=-1)
    before = len(screen.find_all(role="push button", name=button))
    yield [scripts.click(pressed)]
    until(lambda: len(screen.find_all(role="push button", name=button)) < before, f"{button!r} stays", _TIMEOUT)


def dataset(screen: Screen, table: str) -> Bursts:
    """Choose a table of the warehouse on the page of new datasets."""
    yield from page(screen, "/dataset/add/", "CANCEL")
    yield from _pick_shown(screen, "Select database or type to search databases", "Warehouse")
    yield from _pick_shown(screen, "Select schema or type to search schemas", "public")
    yield from _pick_shown(screen, "Select table or type to search tables", table)
    _find(screen, "CREATE DATASET AND CREATE CHART")


def edit_metric(screen: Screen, dataset: str, key: str, sql: str) -> Bursts:
    """Add a metric in the editor of a dataset, without saving it."""
    yield from of_row(screen, dataset, "edit-alt")
    yield from press(screen, "METRICS *", "page tab", "+ ADD ITEM")
    yield from press(screen, "+ ADD ITEM", "push button", "<new metric>")
    yield from press(screen, "<new metric>")
    yield scripts.fill(screen.find(role="entry", text="<new metric>", timeout=_TIMEOUT), key, end="\n")
    yield from write(screen, sql, nth=2)  # after the key's and the label's fields


def save_dataset(screen: Screen, name: str) -> Bursts:
    """Save SQL Lab's query as a dataset, and let Superset open it in a new tab."""
    yield from press(screen, "caret-down", "push button", "Save dataset")
    yield from press(screen, "Save dataset", "menu item", "SAVE & EXPLORE")
    yield scripts.fill(screen.find(role="entry", text="Untitled*", timeout=_TIMEOUT), name, end="")
    yield from press(screen, "SAVE & EXPLORE", "push button", "CREATE CHART")


def download(screen: Screen) -> Bursts:
    """Download the result of SQL Lab's query, and wait until Chromium has it."""
    yield from press(screen, "DOWNLOAD TO CSV", "link", "*.csv*")


def put(screen: Screen, name: str, text: str) -> Bursts:
    """Replace the text of a field. A dialog that is not yet filled from the server forgets what was typed."""
    for _ in range(5):
        yield scripts.fill(_find(screen, name, "entry"), text, end="")
        with suppress(SetupError):
            screen.find(role="entry", name=name, text=text, timeout=4.0)
            return
    raise SetupError(f"the field {name!r} does not keep {text!r}")


def save_query(screen: Screen, name: str) -> Bursts:
    """Save SQL Lab's query under a name."""
    yield from press(screen, "SAVE", shows="Save query")
    yield scripts.fill(screen.find(role="entry", text="Untitled Query*", timeout=_TIMEOUT), name, end="")
    screen.find(role="entry", text=name, timeout=_TIMEOUT)
    yield from confirm(screen, "SAVE")


def connect(screen: Screen, host: str, name: str) -> Bursts:
    """Fill in how a PostgreSQL server is reached, on the page of databases."""
    yield from page(screen, "/databaseview/list/", "+ DATABASE")
    yield from press(screen, "+ DATABASE", shows="default-icon PostgreSQL")
    yield from press(screen, "default-icon PostgreSQL", shows="e.g. 5432")
    yield from put(screen, "e.g. 127.0.0.1", host)
    yield scripts.fill(_find(screen, "e.g. 5432"), "5432", end="")
    yield from put(screen, "e.g. world_population", "superset")
    yield from put(screen, "e.g. Analytics", "superset")
    yield scripts.fill(_find(screen, "e.g. [*][*][*][*][*][*][*][*]"), "superset", end="")
    yield scripts.fill(screen.find(role="entry", text="PostgreSQL", timeout=_TIMEOUT), name, end="")
    screen.find(role="entry", text=name, timeout=_TIMEOUT)


def _open(screen: Screen, box: str) -> Bursts:
    """Open what the plus in a box opens. What was added before may still move the box, so a click can miss it."""
    for _ in range(5):
        if plus := _after(screen, box, "plus-small", _TIMEOUT):
            yield [scripts.click(plus), Action("wait", seconds=1.0)]
        if screen.find_all(role="page tab", name="SIMPLE"):
            return
    raise SetupError(f"the box {box!r} does not open")


def _tab(screen: Screen, name: str) -> Bursts:
    yield [scripts.click(_find(screen, name, "page tab"))]
    screen.find(role="page tab", name=name, state="selected", timeout=_TIMEOUT)


def _save(screen: Screen) -> Bursts:
    """Press the button of the box that has popped up, which is the last one, and wait until the box is gone."""
    yield [scripts.click(_find(screen, "SAVE", "push button", nth=-1))]
    until(lambda: not screen.find_all(role="page tab", name="SIMPLE"), "the box that has popped up stays", _TIMEOUT)


def _after(screen: Screen, label: str, name: str, timeout: float) -> Element | None:
    """The first element of a name after a label; None where none comes."""
    _find(screen, label)
    deadline = Deadline(timeout)
    while True:
        elements = list(screen.elements())
        start = next((k for k, element in enumerate(elements) if element.name == label), len(elements))
        found = next((element for element in elements[start:] if element.name == name), None)
        if found or deadline.over:
            return found
        time.sleep(_POLL)


def _find(screen: Screen, name: str, role: str | None = None, nth: int = 0) -> Element:
    return screen.find(role=role, name=name, nth=nth, timeout=_TIMEOUT)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "superset.page": page,
    "superset.press": press,
    "superset.pick": pick,
    "superset.dimension": dimension,
    "superset.metric": metric,
    "superset.save_chart": save_chart,
    "superset.filter": filter_,
    "superset.of_row": of_row,
    "superset.write": write,
    "superset.query": query,
    "superset.confirm": confirm,
    "superset.dataset": dataset,
    "superset.edit_metric": edit_metric,
    "superset.save_dataset": save_dataset,
    "superset.download": download,
    "superset.put": put,
    "superset.save_query": save_query,
    "superset.connect": connect,
}
"""By the names that task files use."""
