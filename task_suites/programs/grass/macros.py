"""What a person does in GRASS's window with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.task_suites.programs.toolkits.scripts import click, fill

_WINDOW = "*GRASS GIS"
_ROW = 24  # pixels: of the trees of maps and layers, which GRASS draws itself
_SLOW = 60.0  # seconds
_PAUSE = 0.5


def command(screen: Screen, text: str) -> Bursts:
    """Type commands, one per line, in the console."""
    panes = [each for each in screen.find_all(role="panel", window=_WINDOW) if each.x > 900 and each.y > 700]
    tabs = min(panes, key=lambda each: each.height)
    yield [Action("click", tabs.x + 90, tabs.y + tabs.height // 2), Action("wait", seconds=_PAUSE)]
    hint = screen.find(role="label", window=_WINDOW, name="Press Tab to display*")
    prompt = Action("click", hint.x + 60, hint.y - 20)
    for line in filter(None, text.splitlines()):
        # Escape closes the list of completions, which Return would take one of; and of a quotation that is still open
        # the console says what is wrong, and takes the focus away
        typed = [Action("type", text=line), Action("press", keys=("escape",))]
        yield [prompt, Action("press", keys=("ctrl", "a")), *typed, prompt, Action("press", keys=("enter",))]
        yield [Action("wait", seconds=1.0)]


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


def _press(screen: Screen, form: str, button: str) -> Bursts:
    yield [click(screen.find(role="push button", window=form, name=button)), Action("wait", seconds=_PAUSE)]


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


def module(screen: Screen, menu: list[str], form: str, options: dict[str, dict[str, str]], wait: float = 1.5) -> Bursts:
    """Run a module by its form, which is opened from the menus of the window.

    Args:
        screen: the screen.
        menu: the entries, from the menu bar on.
        form: the title of the form.
        options: by tab and name, as in ``properties``.
        wait: seconds that it may take.
    """
    for name in menu:
        entries = [each for each in screen.find_all(name=name) if each.role.endswith(("menu", "menu item"))]
        yield [click(entries[-1]), Action("wait", seconds=_PAUSE)]
    for tab, values in options.items():
        yield [click(screen.find(role="page tab", window=form, name=tab)), Action("wait", seconds=_PAUSE)]
        for option, value in values.items():
            yield from _set(screen, form, option, value)
    yield [click(screen.find(role="push button", window=form, name="Run")), Action("wait", seconds=wait)]
    yield from _press(screen, form, "Close")


def tell(screen: Screen, asked: str, key: str | None = None, path: str = "/home/user/told.txt") -> Bursts:
    """Have a module write to a file what it finds, look at the file in GRASS, and answer it.

    What the console says is drawn, and no element; a form that takes rules from a file shows what is in it.

    Args:
        screen: the screen.
        asked: the command, which writes to the file.
        key: of lines such as ``mean=12`` the one whose value it is; the last line if left out.
        path: of the file.
    """
    form = "r.reclass"
    yield from command(screen, f"{asked}\n{form}")
    yield fill(_field(screen, form, "rules"), path, end="\t")
    for _ in range(3):
        yield _scroll(screen, form)
    lines: list[str] = []
    for _ in range(5):
        yield [click(screen.find(role="push button", window=form, name="Load")), Action("wait", seconds=1.0)]
        texts = [each.text for each in screen.find_all(role="text", window=form) if each.text != path]
        lines = max(texts, key=len).split()
        if lines:
            break
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    yield [Action("answer", text=values[key] if key else lines[-1])]


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
    "grass.module": module,
    "grass.tell": tell,
}
"""By the names that task files use."""
