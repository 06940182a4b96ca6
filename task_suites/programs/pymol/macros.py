"""What a person does in PyMOL with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Element, Screen
from deskgym.task_suites.programs.toolkits.menus import choose
from deskgym.task_suites.programs.toolkits.qt import choose_file
from deskgym.task_suites.programs.toolkits.scripts import click, fill

_SLOW = 60.0  # seconds
_PAUSE = 0.6
# pixels: what is below the external GUI, PyMOL draws itself
_CHARACTER, _PANEL_ROW, _MENU_ROW, _LINE = 8, 18, 17, 4
_BUTTONS = {"A": 77, "S": 60, "H": 43, "L": 26, "C": 9}  # pixels from the right edge
_SHAPES = (
    "wire,lines,nonbonded,,licorice,sticks,nb_spheres,,ribbon,cartoon,,label,cell,,dots,spheres,,"
    "mesh,surface,flag ignore"
).split(",")
_COLORS = {
    "reds": ("red", "tv_red", "raspberry", "darksalmon", "salmon"),
    "greens": ("green",),
    "blues": ("blue", "tv_blue", "marine"),
    "yellows": ("yellow",),
    "magentas": ("magenta",),
    "cyans": ("cyan",),
    "oranges": ("orange",),
    "tints": ("wheat",),
    "grays": ("white", "grey90", "grey80", "grey70", "grey60", "grey50"),
}
_MENUS: dict[str, Sequence[str]] = {  # the entries from the top, as far as they are used; "" is a line between two
    "A": (
        "delete selection,rename selection,,zoom,orient,center,origin,,drag coordinates,clean,,"
        "modify,preset,find,align,,remove atoms,hydrogens"
    ).split(","),
    "hydrogens": ("add",),
    "S": ("as", "", *_SHAPES),
    "H": ("everything", "", *_SHAPES, "", "main chain", "side chain", "waters"),
    "C": ("by element", "by chain", "by ss", "by rep", "spectrum", "", "auto", "", *_COLORS),
    **_COLORS,
}


def type_(screen: Screen, commands: str) -> Bursts:
    """Type commands, one per line, at the prompt below the log."""
    prompt = screen.find(role="text", state="editable", window="PyMOL*")
    yield [click(prompt), *(Action("type", text=f"{line}\n") for line in commands.splitlines() if line)]


def save(screen: Screen, path: str) -> Bursts:
    """Save by a command: the session, or a molecule, by the path's ending."""
    yield from type_(screen, f"save {path}")
    screen.find(role="text", text=f'*wrote*"{path}"*', timeout=_SLOW)


def save_session(screen: Screen, path: str) -> Bursts:
    """Save the session by the menu."""
    yield from choose(screen, ["File", "Save Session As..."])
    yield from choose_file(screen, path)
    screen.find(role="text", text="*wrote*", timeout=_SLOW)


def picture(screen: Screen, path: str, width: int, height: int) -> Bursts:
    """Save a ray-traced picture of what is shown."""
    yield from type_(screen, f"png {path}, {width}, {height}, ray=1")
    screen.find(role="text", text=f'*wrote*"{path}"*', timeout=_SLOW)


def panel(screen: Screen, menu: list[str], row: int = 2) -> Bursts:
    """Choose from a menu of the panel of objects: its button's letter, and then the entries.

    Args:
        screen: the screen.
        menu: such as ``[S, spheres]``.
        row: of the panel: 0 is all, 1 the first object, 2 the next one, or what is selected where there is one object.
    """
    drawn = _drawn(screen)
    right = drawn.x + drawn.width
    x, top = right - _BUTTONS[menu[0]], drawn.y + 9 + row * _PANEL_ROW
    yield [Action("click", x, top), Action("wait", seconds=_PAUSE)]
    right, top = right - 2, top + 24  # of the menu's first entry
    for name, entry in pairwise(menu):
        entries = _MENUS[name]
        place = entries.index(entry)
        lines = entries[:place].count("")
        x, top = right - 40, top + (place - lines) * _MENU_ROW + lines * _LINE
        # the first move into a menu hands it the mouse, the next one chooses what a click takes
        yield [Action("move", x + 2, top), Action("wait", seconds=_PAUSE), Action("move", x, top)]
        yield [Action("wait", seconds=_PAUSE)]
        right -= max(map(len, entries)) * _CHARACTER + 6  # the next menu is at this one's left
    yield [Action("click", x, top), Action("wait", seconds=_PAUSE)]


def setting(screen: Screen, name: str, value: str) -> Bursts:
    """Change a setting in the window of Setting > Edit All; ``name`` must be the first one that has it in its name."""
    yield from choose(screen, ["Setting", "Edit All..."])
    table = screen.find(role="table")
    above = next(each for each in screen.find_all(role="text") if each.x == table.x and each.y < table.y)
    yield [*fill(above, name, end=""), Action("wait", seconds=_PAUSE)]
    yield [
        Action("click", table.x + table.width * 3 // 4, table.y + 15, clicks=2),
        *(Action("wait", seconds=_PAUSE), Action("press", keys=("ctrl", "a")), Action("type", text=f"{value}\n")),
        *(Action("wait", seconds=_PAUSE), Action("press", keys=("alt", "f4")), Action("wait", seconds=_PAUSE)),
    ]


def _drawn(screen: Screen) -> Element:
    """The part of the window that PyMOL draws."""
    return max(screen.find_all(role="filler", window="PyMOL*"), key=lambda each: each.width * each.height)


def color(screen: Screen, color: str, row: int = 2) -> Bursts:
    """Choose a colour in the panel; rows as in ``panel``."""
    group = next(name for name, colors in _COLORS.items() if color in colors)
    yield from panel(screen, ["C", group, color], row)


def sequence(screen: Screen, mode: str, end: bool = False) -> Bursts:
    """Show the sequence viewer, of an entry of Display > Sequence Mode; scrolled to its end if that is asked for."""
    yield from choose(screen, ["Display", "Sequence"])
    yield from choose(screen, ["Display", "Sequence Mode", mode])
    drawn = _drawn(screen)
    if end:
        yield [Action("drag", 600, drawn.y + 37, to_x=drawn.x + drawn.width - 225, to_y=drawn.y + 37)]
    yield [Action("wait", seconds=_PAUSE)]


def pick(screen: Screen, first: int, last: int | None = None) -> Bursts:
    """Select in the sequence viewer what is drawn in these columns of characters, from 0."""
    y = _drawn(screen).y + 23
    x, to_x = (_CHARACTER * column + _CHARACTER // 2 for column in (first, first if last is None else last))
    yield [
        Action("click", x, y) if last is None else Action("drag", x, y, to_x=to_x, to_y=y),
        Action("wait", seconds=_PAUSE),
    ]


def ask(screen: Screen, of: list[Any], digits: int = 0) -> Bursts:
    """Ask PyMOL by a command, and answer what it says.

    Args:
        screen: the screen.
        of: a function of PyMOL's API and its arguments.
        digits: of a number, digits after the point.
    """
    value = yield from said(screen, of, digits)
    yield [Action("answer", text=value)]


def said(screen: Screen, of: list[Any], digits: int = 0) -> Generator[list[Action], None, str]:
    """Ask PyMOL by a command; what it says."""
    function, *arguments = of
    # the log repeats the command, in which the end of what is printed must not stand; its blanks are not breaking
    yield from type_(screen, f"print('%s=%d' % (cmd.{function}({', '.join(map(repr, arguments))}), 1000 + 1))")
    log = screen.find(role="text", text="*=1001*", timeout=_SLOW).text
    value = str(log.rpartition("=1001")[0].split()[-1])
    return f"{float(value):.{digits}f}" if digits else value


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "pymol.type": type_,
    "pymol.save": save,
    "pymol.save_session": save_session,
    "pymol.picture": picture,
    "pymol.choose": choose,
    "pymol.panel": panel,
    "pymol.color": color,
    "pymol.setting": setting,
    "pymol.sequence": sequence,
    "pymol.pick": pick,
    "pymol.ask": ask,
}
"""By the names that task files use."""
