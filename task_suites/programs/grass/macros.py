"""What a person does in GRASS's window with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Literal

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.toolkits.scripts import click, fill

_WINDOW = "*GRASS GIS"
_ROW = 24  # pixels: of the trees of maps and layers, which GRASS draws itself
_TOOL = 21.2  # pixels: of the tree of tools
_MAPSET = 23  # pixels: of the tree of the Data Catalog
_SLOW = 60.0  # seconds
_PAUSE = 0.5
_TRIES = 3
_LOADS = 5
_SCROLLS = 8
_READS = "r.reclass"  # a form that takes rules from a file, and shows them

Options = dict[str, dict[str, str | bool]]


def command(screen: Screen, text: str) -> Bursts:
    """Type commands, one per line, in the console."""
    yield _show(screen, "Console")
    hint = screen.find(role="label", window=_WINDOW, name="Press Tab to display*")
    prompt = Action("click", hint.x + 60, hint.y - 20)
    for line in filter(None, text.splitlines()):
        # Escape closes the list of completions, which Return would take one of; and of a quotation that is still open
        # the console says what is wrong, and takes the focus away
        typed = [Action("type", text=line), Action("press", keys=("escape",))]
        yield [prompt, Action("press", keys=("ctrl", "a")), *typed, prompt, Action("press", keys=("enter",))]
        yield [Action("wait", seconds=1.0)]


def _show(screen: Screen, tab: Literal["Tools", "Console"]) -> list[Action]:
    """Bring a tab beside the map to the front; both are drawn, below the panel."""
    panes = screen.find_all(role="panel", window=_WINDOW)
    width, height = max(each.x + each.width for each in panes), max(each.y + each.height for each in panes)
    low_right = [each for each in panes if each.x > width * 2 / 3 and each.y > height * 2 / 3]
    tabs = min(low_right, key=lambda each: each.height)
    return [
        Action("click", tabs.x + {"Tools": 25, "Console": 90}[tab], tabs.y + tabs.height // 2),
        Action("wait", seconds=_PAUSE),
    ]


def add(screen: Screen, maps: list[str], kind: str = "vector") -> Bursts:
    """Show maps, each above what is there, by the button of the layers."""
    form = {"vector": "d.vect", "raster": "d.rast"}[kind]
    for name in maps:
        yield [click(screen.find(role="push button", window=_WINDOW, name=f"Add {kind} map"))]
        yield from _set(screen, form, "map", name)
        yield from _press(screen, form, "OK")


def _row(screen: Screen, row: int) -> tuple[int, int]:
    """The middle of a row of layers; the top one is 0."""
    button = screen.find(role="push button", window=_WINDOW, name="Add vector map")
    return 80, button.y + button.height + 3 + row * _ROW + _ROW // 2


def choose(screen: Screen, entry: str, row: int = 0) -> Bursts:
    """Choose from the menu of a row of layers."""
    x, y = _row(screen, row)
    yield [Action("click", x, y), Action("click", x, y, button="right"), Action("wait", seconds=_PAUSE)]
    yield [click(screen.find(role="menu item", name=entry)), Action("wait", seconds=_PAUSE)]


def toggle(screen: Screen, row: int = 0) -> Bursts:
    """Click the box of a row of layers, which shows or hides it."""
    x, y = _row(screen, row)
    yield [Action("scroll", x, y, dx=-20), Action("wait", seconds=_PAUSE)]
    yield [Action("click", 43, y), Action("wait", seconds=_PAUSE)]


def opacity(screen: Screen, percent: int, row: int = 0) -> Bursts:
    """Set how opaque a layer is, by the keys of its slider."""
    yield from choose(screen, "Change opacity level", row)
    slider = screen.find(role="slider")
    yield [
        Action("click", slider.x + slider.width // 2, slider.y + 8),
        Action("press", keys=("home",)),
        *(Action("press", keys=("pagedown",)) for _ in range(percent // 10)),
        *(Action("press", keys=("right",)) for _ in range(percent % 10)),
    ]
    yield [click(screen.find(role="push button", window="Set opacity*", name="OK")), Action("wait", seconds=_PAUSE)]


def rename(screen: Screen, text: str, row: int = 0) -> Bursts:
    """Give a row of layers another name."""
    yield from choose(screen, "Rename", row)
    yield [Action("press", keys=("ctrl", "a")), Action("type", text=f"{text}\n"), Action("wait", seconds=_PAUSE)]


def remove(screen: Screen, row: int = 0) -> Bursts:
    """Remove a row of layers."""
    yield from choose(screen, "Remove", row)
    for _ in screen.find_all(role="push button", name="Yes"):
        yield [click(screen.find(role="push button", name="Yes")), Action("wait", seconds=_PAUSE)]


def properties(screen: Screen, options: dict[str, dict[str, str]], row: int = 0, form: str = "d.vect") -> Bursts:
    """Set options of how a layer is drawn: by the tab of the form, and there by the option's name."""
    yield from choose(screen, "Properties", row)
    for tab, values in options.items():
        yield [click(screen.find(role="page tab", window=form, name=tab)), Action("wait", seconds=_PAUSE)]
        for option, value in values.items():
            yield from _set(screen, form, option, value)
    yield from _press(screen, form, "OK")


def _set(screen: Screen, form: str, option: str, value: str) -> Bursts:
    """Fill an option's field, which may have to be scrolled to."""
    bottom = screen.find(role="push button", window=form, name="Close", timeout=_SLOW).y - 20
    for _ in range(_SCROLLS):  # what is far below is no element yet
        if screen.find_all(role="label", window=form, name=f"({option}=*)"):
            break
        yield _scroll(screen, form)
    field = _field(screen, form, option)
    while field.y + field.height > bottom:
        before = field
        yield _scroll(screen, form)
        field = _field(screen, form, option)
        if field == before:
            break
    yield fill(field, value, end="\t")


def _scroll(screen: Screen, form: str) -> list[Action]:
    """Scroll a form down; at its right edge, where no field takes the wheel for itself."""
    pane = max(screen.find_all(role="scroll pane", window=form), key=lambda each: each.height)
    return [Action("scroll", pane.x + pane.width - 25, pane.y + 30, dy=2), Action("wait", seconds=_PAUSE)]


def _field(screen: Screen, form: str, option: str) -> Element:
    """The field of an option in a form: the first one below its label."""
    label = screen.find(role="label", window=form, name=f"({option}=*)", timeout=_SLOW)
    fields = [
        field
        for role in ("text", "spin button")
        for field in screen.find_all(role=role, window=form)
        if field.y > label.y + 5
    ]
    return min(fields, key=lambda field: (field.y, field.x))


def _holds(screen: Screen, form: str, option: str, value: str) -> bool:
    """Whether an option's field has this value, or is not to be seen."""
    shown = screen.find_all(role="label", window=form, name=f"({option}=*)")
    return not shown or _field(screen, form, option).text == value


def _press(screen: Screen, form: str, button: str, role: str = "push button", wait: float = _PAUSE) -> Bursts:
    yield [click(screen.find(role=role, window=form, name=button)), Action("wait", seconds=wait)]


def status(screen: Screen, shown: str) -> Bursts:
    """Choose what the bar below the map shows, such as ``Map scale``."""
    render = screen.find(role="check box", window=_WINDOW, name="Render")
    yield [
        Action("click", render.x - 60, render.y + render.height // 2, button="right"), Action("wait", seconds=_PAUSE),
    ]  # fmt: skip
    yield [click(screen.find(role="radio menu item", name=shown)), Action("wait", seconds=_PAUSE)]


def scale(screen: Screen, number: int) -> Bursts:
    """Set the map's scale, 1:number."""
    yield from status(screen, "Map scale")
    yield from _type_below(screen, f"1:{number}")


def goto(screen: Screen, east: int, north: int) -> Bursts:
    """Move the map's centre to whole degrees; negative ones are west and south."""
    yield from status(screen, "Go to XY coordinates")
    e, n = "EW"[east < 0], "NS"[north < 0]
    yield from _type_below(screen, f"{abs(east):02}:00:00{e};{abs(north):02}:00:00{n}")


def _type_below(screen: Screen, text: str) -> Bursts:
    render = screen.find(role="check box", window=_WINDOW, name="Render")
    fields = [each for each in screen.find_all(role="text", window=_WINDOW) if abs(each.y - render.y) < 20]
    yield [*fill(fields[0], text), Action("wait", seconds=_PAUSE)]


def tool(screen: Screen, form: str, row: int, options: Options, wait: float = 1.5) -> Bursts:
    """Run a module by its form, which is opened from the tools beside the map.

    Args:
        screen: the screen.
        form: the module's name, which is searched for.
        row: of what is found, with the groups that it is in, from 0.
        options: by tab and name, as in ``properties``; a box that is to be clicked by its text.
        wait: seconds that it may take.
    """
    yield from _open(screen, form, row, form)
    for tab, values in options.items():
        yield from _tab(screen, form, tab)
        for box in (option for option, value in values.items() if value is True):
            yield from _press(screen, form, box, role="check box")
        yield from _fill_all(screen, form, values, values)
    for tab, values in options.items() if len(options) > 1 else ():  # a slow one empties fields after it was left
        yield from _tab(screen, form, tab)
        lost = [o for o, v in values.items() if isinstance(v, str) and not _holds(screen, form, o, v)]
        yield from _fill_all(screen, form, values, lost)
    yield [click(screen.find(role="push button", window=form, name="Run")), Action("wait", seconds=wait)]
    screen.find(role="push button", window=form, name="Run", state="sensitive", timeout=_SLOW)  # it has ended
    yield from _press(screen, form, "Close")


def _tab(screen: Screen, form: str, tab: str) -> Bursts:
    yield [click(screen.find(role="page tab", window=form, name=tab)), Action("wait", seconds=_PAUSE)]


def _fill_all(screen: Screen, form: str, values: Mapping[str, str | bool], options: Iterable[str]) -> Bursts:
    """Fill fields of a tab until they hold: the form empties others when it has looked at the map that was given."""
    left = {option: value for option in options if isinstance(value := values[option], str)}
    for _ in range(_TRIES):
        if not left:
            break
        for option, value in left.items():
            yield from _set(screen, form, option, value)
        yield [Action("wait", seconds=2 * _PAUSE)]
        left = {option: value for option, value in left.items() if not _holds(screen, form, option, value)}


def _open(screen: Screen, searched: str, row: int, window: str) -> Bursts:
    """Open a window by the search in the tools."""
    for _ in range(_TRIES):
        yield _show(screen, "Tools")
        search = max(screen.find_all(role="text", window=_WINDOW, name="Search"), key=lambda each: each.x)
        yield [*fill(search, searched, end=""), Action("wait", seconds=2.0)]
        y = search.y + search.height + 16 + round(row * _TOOL)
        yield [Action("click", search.x + 100, y), Action("wait", seconds=_PAUSE)]
        yield from _press(screen, _WINDOW, "Run...", wait=2.0)
        if screen.find_all(role="push button", window=window, name="Run"):
            return
    raise SetupError(f"{window} did not open")


def calculate(screen: Screen, name: str, expression: str) -> Bursts:
    """Make a raster map in the map calculator's window."""
    window = "Raster Map Calculator"
    yield from _open(screen, "r.mapcalc", 3, window)
    texts = screen.find_all(role="text", window=window)
    first = min((each for each in texts if "single_line" in each.states), key=lambda each: each.y)
    below = next(each for each in texts if "multi_line" in each.states)
    yield [*fill(first, name, end=""), *fill(below, expression, end="")]
    yield from _press(screen, window, "Run", wait=3.0)
    yield from _press(screen, window, "Close")


def switch(screen: Screen, location: int, mapset: int) -> Bursts:
    """Switch to a mapset in the Data Catalog, by rows from 0: of its location, which is opened, and then its own."""
    search = min(screen.find_all(role="text", window=_WINDOW, name="Search"), key=lambda each: each.x)
    first = search.y + search.height + 18
    yield [Action("click", 31, first + location * _MAPSET), Action("wait", seconds=1.0)]
    yield [Action("click", 110, first + mapset * _MAPSET, button="right"), Action("wait", seconds=_PAUSE)]
    yield [click(screen.find(role="menu item", name="Switch mapset")), Action("wait", seconds=2.0)]


def tell(screen: Screen, asked: str, key: str | None = None) -> Bursts:
    """Have a module write to ``/home/user/told.txt`` what it finds, look at it in GRASS, and answer it.

    Args:
        screen: the screen.
        asked: the command, which writes to the file.
        key: as in ``answer``.
    """
    for _ in range(_TRIES):
        yield from command(screen, f"{asked}\n{_READS}")
        if told := (yield from _told(screen, key)):
            yield [Action("answer", text=told)]
            return
    raise SetupError(f"{_READS} did not show what {asked!r} wrote")


def answer(screen: Screen, key: str | None = None) -> Bursts:
    """Look in GRASS at what a module wrote to ``/home/user/told.txt``, and answer it.

    Args:
        screen: the screen.
        key: of lines such as ``mean=12`` the one whose value it is; the last line if left out.
    """
    for _ in range(_TRIES):
        yield from _open(screen, _READS, 3, _READS)
        if told := (yield from _told(screen, key)):
            yield [Action("answer", text=told)]
            return
    raise SetupError(f"{_READS} did not show what was written")


def _told(screen: Screen, key: str | None) -> Generator[list[Action], None, str]:
    """What stands in the file, by a form that takes rules from it: what the console says is drawn, and no element."""
    path = "/home/user/told.txt"
    yield from _set(screen, _READS, "rules", path)
    for _ in range(3):
        yield _scroll(screen, _READS)
    for _ in range(_LOADS):  # the module may still be at work
        yield from _press(screen, _READS, "Load", wait=1.0)
        texts = [each.text for each in screen.find_all(role="text", window=_READS) if each.text != path]
        lines = max(texts, key=len).split()
        values = dict(line.split("=", 1) for line in lines if "=" in line)
        if told := values.get(key, "") if key else lines[-1] if lines else "":
            return told
    yield [Action("press", keys=("escape",)), Action("wait", seconds=_PAUSE)]  # the message that there is no file
    if screen.find_all(role="push button", window=_READS, name="Close"):  # where there was none, Escape closed this
        yield from _press(screen, _READS, "Close")
    return ""


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "grass.command": command,
    "grass.add": add,
    "grass.choose": choose,
    "grass.toggle": toggle,
    "grass.opacity": opacity,
    "grass.rename": rename,
    "grass.remove": remove,
    "grass.properties": properties,
    "grass.status": status,
    "grass.scale": scale,
    "grass.goto": goto,
    "grass.tool": tool,
    "grass.calculate": calculate,
    "grass.switch": switch,
    "grass.tell": tell,
    "grass.answer": answer,
}
"""By the names that task files use."""
