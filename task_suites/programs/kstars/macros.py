"""What a person does in KStars with mouse and keyboard, as macros for oracles and wrong attempts."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.toolkits.menus import choose
from deskgym.task_suites.programs.toolkits.scripts import click, fill

_SLOW = 60.0  # seconds


def find(screen: Screen, object: str) -> Bursts:
    """Centre an object by its name, and track it."""
    yield [Action("press", keys=("ctrl", "f"))]
    yield from _type_name(screen, object)
    yield [Action("press", keys=("enter",)), Action("wait", seconds=0.8)]


def _type_name(screen: Screen, object: str) -> Bursts:
    field = screen.find(role="text", window="Find Object", state="focused")
    yield [*fill(field, object, end=""), Action("wait", seconds=0.8)]


def set_place(screen: Screen, city: str, country: str) -> Bursts:
    """Move to a city, in the dialog of places."""
    window = "Set Geographic Location"
    yield [Action("press", keys=("ctrl", "g"))]
    screen.find(role="text", window=window, state="focused", timeout=_SLOW)  # the filter of cities
    yield [Action("type", text=city), Action("wait", seconds=0.5)]
    yield [click(screen.find(role="list item", window=window, name=f"{city},*{country}"))]
    yield [click(screen.find(role="push button", window=window, name="OK")), Action("wait", seconds=0.5)]


def set_time(screen: Screen, day: str, hour: str) -> Bursts:
    """Set date, such as ``15 Jan 2024``, and time of day, such as ``22:30:00``, in the dialog of the time."""
    yield [Action("press", keys=("ctrl", "s"))]
    spin = screen.find(role="spin button", window="Set Time")
    # a step selects the hours, which digits alone replace; at 23 there is none up, at 0 none down
    yield [click(spin), *(Action("press", keys=(key,)) for key in ("home", "up", "down"))]
    yield [Action("type", text=hour.replace(":", ""))]
    yield [*fill(screen.find(role="text", window="Set Time"), day), Action("wait", seconds=0.5)]


def zoom(screen: Screen, degrees: float) -> Bursts:
    """Zoom the map to a width."""
    yield [Action("press", keys=("ctrl", "shift", "z"))]
    yield [*fill(screen.find(role="spin button", state="focused"), f"{degrees}"), Action("wait", seconds=0.5)]


def point(screen: Screen, ra: str, dec: str) -> Bursts:
    """Centre a right ascension and a declination of now, such as ``05 30 00`` and ``-10 00 00``."""
    window = "Set Coordinates Manually*"
    yield [Action("press", keys=("ctrl", "m"))]
    yield [click(screen.find(role="push button", window=window, name="JNow"))]
    yield fill(screen.find(role="text", window=window, nth=0), ra, end="")
    yield fill(screen.find(role="text", window=window, nth=2), dec, end="")
    yield [click(screen.find(role="push button", window=window, name="OK")), Action("wait", seconds=0.8)]


def wish(screen: Screen, objects: list[str]) -> Bursts:
    """Put objects on the wish list of the observation planner."""
    yield [Action("press", keys=("ctrl", "l"))]
    for name in objects:
        yield [click(screen.find(role="push button", name="Find Object...", timeout=_SLOW))]
        yield from _type_name(screen, name)
        yield [Action("press", keys=("enter",)), Action("wait", seconds=0.8)]
        screen.find(role="table cell", name=f"{name}*", timeout=_SLOW)


def altitude(screen: Screen, object: str) -> Bursts:
    """Centre an object, point at it with the mouse, and answer the altitude that the status bar says."""
    value = yield from read_altitude(screen, object)
    yield [Action("answer", text=value)]


def read_altitude(screen: Screen, object: str) -> Generator[list[Action], None, str]:
    """Centre an object, and point at it with the mouse; the altitude that the status bar says, in degrees."""
    yield from find(screen, object)
    yield from zoom(screen, 5)
    sky = max(screen.find_all(role="filler"), key=lambda each: each.width * each.height)
    yield [Action("move", x=sky.x + sky.width // 2 + 9, y=sky.y + sky.height // 2), Action("wait", seconds=0.4)]
    yield [Action("move", x=sky.x + sky.width // 2, y=sky.y + sky.height // 2), Action("wait", seconds=0.4)]
    said = screen.find(role="label", name="*°*,*").name
    sign, degrees, minutes = re.findall(r"([+-])(\d+)° (\d+)'", said)[-1]
    return f"{sign}{int(degrees) + int(minutes) / 60:.1f}"


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "kstars.find": find,
    "kstars.place": set_place,
    "kstars.time": set_time,
    "kstars.zoom": zoom,
    "kstars.point": point,
    "kstars.wish": wish,
    "kstars.altitude": altitude,
    "kstars.choose": choose,
}
"""By the names that task files use."""
