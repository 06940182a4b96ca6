"""KStars' window at a place and a time, with its clock stopped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from deskgym.envs.deadline import Deadline
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram
from deskgym.envs.observation.program_channel import ProgramChannel
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch

APP = "kstars"
SETTINGS = Path(__file__).with_name("kstarsrc.conf")
# The dialog Find Object of version 3.6.2 reads freed memory when it is opened first: of ten KStars four ended then, and
# of a hundred some five where glibc keeps no cache of freed pieces for each thread.
ENV = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"}
_FIND = [
    {"t": "keydown", "k": "ctrl"}, {"t": "keydown", "k": "f"}, {"t": "keyup", "k": "f"}, {"t": "keyup", "k": "ctrl"},
]  # fmt: skip
_ESCAPE = [{"t": "keydown", "k": "escape"}, {"t": "keyup", "k": "escape"}]
_STARTS = 5


def ask(machine: Machine, member: str, signature: str = "", arguments: Sequence[Any] = ()) -> list[Any]:
    """What KStars answers on the session bus. Raises GuestCallError as ``ProgramChannel.dbus``."""
    channel = ProgramChannel(machine, APP)
    return channel.dbus("org.kde.kstars", "/KStars", "org.kde.kstars", member, signature, arguments)


def open_(setup: Setup, place: list[str], time: str, ground: bool = False) -> None:
    """Open KStars; returns when it shows the sky there and then, towards the south.

    Args:
        setup: the machine.
        place: city, province and country, as KStars knows them; the province may be empty.
        time: local time there, such as ``"2024-01-15T22:30"``; the clock is stopped.
        ground: it is drawn, and hides what is below the horizon.

    Raises:
        SetupError: it did not come up, or does not know the place.
    """
    machine = setup.machine
    settings = f"{SETTINGS.read_text()}ShowGround={str(ground).lower()}\n"
    machine.put("/home/user/.config/kstarsrc", settings.encode())
    for _ in range(_STARTS):
        launch(
            setup, ["kstars", "--paused"], window="KStars", window_size=(700, 500), app=APP, role="push button",
            name="Find Object", env=ENV, maximize=True, timeout=60.0,
        )  # fmt: skip
        if _outlives_find(machine):
            break
    else:
        raise SetupError(f"KStars ended {_STARTS} times when its dialog Find Object was opened")
    if ask(machine, "setGeoLocation", "sss", place) != [True]:
        raise SetupError(f"KStars does not know the place {place}: give city, province and country as it writes them")
    when = datetime.fromisoformat(time)
    ask(machine, "setLocalTime", "i" * 6, [when.year, when.month, when.day, when.hour, when.minute, when.second])


def _outlives_find(machine: Machine) -> bool:
    """Open the dialog Find Object and close it; whether KStars is still there, whose dialog ends it no more then."""
    program = AccessibleProgram(machine, APP)
    machine.display.perform(_FIND, SettlePolicy())
    deadline = Deadline(20.0, machine.slowness)
    opened = False
    while (root := program.tree(outline=True)) is not None:
        shown = any(node.name == "Find Object" and "showing" in node.states for node in root.find_all("dialog"))
        if opened and not shown:
            return True
        if shown:
            opened = True
            machine.display.perform([], SettlePolicy(quiet_ms=150, cap_ms=500))  # its thread reads the catalogue
            machine.display.perform(_ESCAPE, SettlePolicy())
        if deadline.over:
            raise SetupError("KStars' dialog Find Object did not open and close within 20 s")
    return False
