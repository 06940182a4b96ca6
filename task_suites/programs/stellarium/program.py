"""Stellarium's window, at a place and a time with its clock stopped, and its remote control."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from deskgym.envs.errors import SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.program_channel import ProgramChannel
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch

APP = "stellarium"
PORT = 8090
DEFAULTS = "/usr/share/stellarium/data/default_cfg.ini"
SETTINGS = "/home/user/.stellarium/config.ini"
_CHANGED: Mapping[str, Mapping[str, str]] = {
    "plugins_load_at_startup": {"RemoteControl": "true", "Satellites": "false", "Exoplanets": "false"},
    "video": {"fullscreen": "false", "minimum_fps": "4", "maximum_fps": "20"},
    "search": {"flag_search_online": "false"},
    "stars": {"flag_star_twinkle": "false"},
    "gui": {"auto_hide_horizontal_toolbar": "false", "auto_hide_vertical_toolbar": "false"},
    "navigation": {"auto_move_duration": "0"},
    "landscape": {"atmosphere_fade_duration": "0"},
    "RemoteControl": {"autostart": "true", "port": str(PORT)},
}
_SLOW = 90.0  # seconds
_J2000 = datetime(2000, 1, 1, 12)


def get(machine: Machine, path: str, timeout: float = 20.0, **query: str) -> Any:
    """What Stellarium's remote control answers at a path below ``/api``; raises GuestCallError as ``ProgramChannel``.

    Raises:
        ValueError: it answers something else than JSON.
    """
    asked = f"/api/{path}" + (f"?{urlencode(query, quote_via=quote)}" if query else "")
    status, body = ProgramChannel(machine, APP).http(PORT, asked, timeout=timeout)
    if status != 200:
        raise ValueError(f"Stellarium answers {status} to {asked}: {body[:200]!r}")
    return json.loads(body)


def post(machine: Machine, path: str, **values: str) -> None:
    """Tell its remote control to do something; SetupError says what it refuses."""
    asked = f"/api/{path}?{urlencode(values, quote_via=quote)}"
    status, said = ProgramChannel(machine, APP).http(PORT, asked, body=b"", timeout=20.0)
    if status != 200 or said.startswith(b"error"):
        raise SetupError(f"Stellarium refuses {path} of {values}: {said[:200].decode(errors='replace')}")


def open_(setup: Setup, place: str, time: str, fov: float = 60.0) -> None:
    """Open Stellarium; returns when it shows the sky there and then, towards the south, with its clock stopped.

    Args:
        setup: the machine.
        place: as Stellarium lists it, such as ``"Paris, Western Europe"``.
        time: universal time, such as ``"2024-01-15T22:30"``.
        fov: height of the view in degrees.

    Raises:
        SetupError: it did not come up, or does not know the place.
    """
    machine = setup.machine
    machine.put(SETTINGS, settings(machine.get(DEFAULTS).decode()).encode())
    launch(
        setup, ["stellarium"], window="Stellarium 0*", port=PORT, env={"QT_XCB_GL_INTEGRATION": "xcb_glx"},
        maximize=True, timeout=_SLOW,
    )  # fmt: skip
    post(machine, "location/setlocationfields", id=place)
    post(machine, "main/time", time=f"{julian_day(datetime.fromisoformat(time)):.8f}", timerate="0")
    post(machine, "main/fov", fov=f"{fov}")


def settings(defaults: str) -> str:
    r"""Stellarium's settings with ours in them.

    Examples:
        >>> settings("[video]\nfullscreen = true\nother = 1\n").splitlines()[:3]
        ['[video]', 'fullscreen=false', 'minimum_fps=4']
    """
    lines: list[str] = []
    left = {section: dict(values) for section, values in _CHANGED.items()}
    section = ""
    for line in defaults.splitlines():
        if found := re.fullmatch(r"\[(\w+)\]", line.strip()):
            section = found[1]
            lines += [line, *(f"{key}={value}" for key, value in left.pop(section, {}).items())]
        elif line.partition("=")[0].strip() not in _CHANGED.get(section, {}):
            lines.append(line)
    for section, values in left.items():
        lines += [f"[{section}]", *(f"{key}={value}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def julian_day(when: datetime) -> float:
    """The Julian day of a universal time.

    Examples:
        >>> julian_day(datetime(2000, 1, 2))
        2451545.5
    """
    return 2451545.0 + (when - _J2000) / timedelta(days=1)
