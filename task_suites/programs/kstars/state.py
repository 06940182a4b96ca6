"""KStars' state: told over the session bus by the process that was launched, and read from its menus and its map."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram, Node
from deskgym.task_suites.programs.kstars.program import APP, ask
from deskgym.task_suites.programs.toolkits.sky import apart

T = TypeVar("T")

STEP = 5
"""Minutes to which times are rounded: KStars tells its clock in thousandths of a day."""

_J2000 = datetime(2000, 1, 1, 12)
_POINTED = re.compile(r"(\d+)h\s+(\d+)m\s+(\d+)s,\s+([+-])(\d+)°\s+(\d+)'\s+(\d+)\"")
_STILL = SettlePolicy(quiet_ms=60, cap_ms=1000)
_APART = 60  # pixels


def state(machine: Machine) -> dict[str, Any]:
    """Place, time and what is switched on.

    Returns:
        ``city``, ``province``, ``country``, ``latitude`` and ``longitude`` (degrees), ``time`` (local, ISO 8601,
        rounded to five minutes), ``on`` (all checked entries of menus, such as ``Projection/Gnomonic``, and of
        toolbars), ``wish_list`` (names of objects).
    """
    return _believed(lambda: _state(machine))


def _state(machine: Machine) -> dict[str, Any]:
    program = AccessibleProgram(machine, APP)
    program.end_others()
    root = program.tree()
    if root is None:
        raise CheckFailed("KStars has ended")
    place = json.loads(ask(machine, "location")[0])
    return {
        "city": place["name"], "province": place["province"], "country": place["country"],
        "latitude": place["latitude"], "longitude": place["longitude"],
        "time": rounded(_time(machine) + timedelta(hours=place["tz"])), "on": sorted({*_checked(root)}),
        "wish_list": sorted(filter(None, ask(machine, "getObservingWishListObjectNames")[0].split("\n"))),
    }  # fmt: skip


def _checked(node: Node, menu: str = "") -> Iterator[str]:
    """The checked entries below a node; those of a menu have its name in front."""
    for child in node.children:
        if "checked" in child.states and child.name:
            yield f"{menu}/{child.name}" if menu else child.name
        yield from _checked(child, child.name if child.role == "menu item" else menu)


def _time(machine: Machine) -> datetime:
    """The time of its clock, in UTC."""
    return _J2000 + timedelta(days=float(position(machine, "Sun")["RA_Dec_Epoch_JD"]) - 2451545.0)


def rounded(when: datetime) -> str:
    """A time in ISO 8601, to the next ``STEP`` minutes."""
    minutes = round((when - _J2000) / timedelta(minutes=STEP)) * STEP
    return (_J2000 + timedelta(minutes=minutes)).isoformat(timespec="minutes")


def position(machine: Machine, name: str) -> dict[str, str]:
    """What KStars says of an object's place in the sky: the fields of ``getObjectPositionInfo``."""
    return _fields(ask(machine, "getObjectPositionInfo", "s", [name])[0], name)


def about(machine: Machine, name: str) -> dict[str, str]:
    """What KStars says of an object: the fields of ``getObjectDataXML``."""
    return _fields(ask(machine, "getObjectDataXML", "s", [name])[0], name)


def _fields(text: str, name: str) -> dict[str, str]:
    found = {part.tag: " ".join((part.text or "").split()) for part in ET.fromstring(text)} if text else {}
    if not found:
        raise CheckFailed(f"KStars knows no object {name!r}")
    return found


def centre(machine: Machine) -> tuple[float, float, float]:
    """Right ascension and declination of the sky map's centre, of now, and the map's width there; all in degrees.

    The mouse is moved over the map, and the status bar says what it points at.

    Raises:
        CheckFailed: KStars has ended, or something is in front of the map.
    """
    return _believed(lambda: _centre(machine))


def _centre(machine: Machine) -> tuple[float, float, float]:
    program = AccessibleProgram(machine, APP)
    program.end_others()
    root = program.tree()
    if root is None:
        raise CheckFailed("KStars has ended")
    sky = max((node.extents for node in root.find_all("filler")), key=lambda extents: extents[2] * extents[3])
    x, y = sky[0] + sky[2] // 2, sky[1] + sky[3] // 2
    aside = (sky[0] + sky[2] // 8, sky[1] + sky[3] // 8)  # a tool tip that was in front goes away meanwhile
    seen: list[tuple[float, float]] = []
    for at in ((x - _APART, y), (x + _APART, y), (x, y)):
        seen.append(_pointed(machine, program, aside, at, seen[-1] if seen else _new(root, None)))
    left, right, (ra, dec) = seen
    return ra, dec, apart(*left, *right) * sky[2] / (2 * _APART)


def _pointed(
    machine: Machine,
    program: AccessibleProgram,
    aside: tuple[int, int],
    at: tuple[int, int],
    before: tuple[float, float] | None,
) -> tuple[float, float]:
    """What the mouse points at, there, which must be something else than before."""
    for nudge in (0, 1, -1, 2):
        for x, y in (aside, (at[0] + nudge, at[1])):
            machine.display.perform([{"t": "move", "x": x, "y": y}], _STILL)
        try:
            return program.wait("what the mouse points at", partial(_new, before=before), timeout=0.7)
        except SetupError:
            continue
    raise CheckFailed("the sky cannot be pointed at: something is in front of it")


def _new(root: Node, before: tuple[float, float] | None) -> tuple[float, float] | None:
    """What the status bar says that the mouse points at, where that is not as before."""
    for label in root.find_all("label"):
        if found := _POINTED.search(label.name or label.text):
            hours, minutes, seconds, sign, *rest = found.groups()
            ra = 15 * (int(hours) + int(minutes) / 60 + int(seconds) / 3600)
            degrees, arcminutes, arcseconds = map(int, rest)
            dec = (degrees + arcminutes / 60 + arcseconds / 3600) * (-1 if sign == "-" else 1)
            return (ra, dec) if before is None or apart(ra, dec, *before) > 0 else None
    return None


def _believed(read: Callable[[], T]) -> T:
    """What is read, unless somebody else answers or nobody does."""
    try:
        return read()
    except (GuestCallError, LookupError, ET.ParseError, ValueError) as error:
        raise CheckFailed(f"KStars does not answer: {error}") from None
