"""KStars' window at a place and a time, with its clock stopped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from deskgym.envs.errors import SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.program_channel import ProgramChannel
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch

APP = "kstars"
SETTINGS = Path(__file__).with_name("kstarsrc.conf")
# The dialog Find Object of version 3.6.2 reads freed memory in a thread of its own: of ten times that it was opened, it
# ended KStars four times, and one of eighty times where glibc keeps no cache of freed pieces for each thread.
ENV = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1"}


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
    launch(
        setup, ["kstars", "--paused"], window="KStars", window_size=(700, 500), app=APP, role="push button",
        name="Find Object", env=ENV, maximize=True, timeout=60.0,
    )  # fmt: skip
    if ask(machine, "setGeoLocation", "sss", place) != [True]:
        raise SetupError(f"KStars does not know the place {place}: give city, province and country as it writes them")
    when = datetime.fromisoformat(time)
    ask(machine, "setLocalTime", "i" * 6, [when.year, when.month, when.day, when.hour, when.minute, when.second])
