"""A desktop that is there already: its X server, window manager and buses are used, and stay when the guest goes."""

from __future__ import annotations

import asyncio
import os

from dbus_fast import Variant

from deskgym.envs.guest.accessibility.bus import AccessibilityLost, Bus, CallFailed
from deskgym.envs.guest.desktop import DEADLINE, Desktop, owned
from deskgym.envs.guest.errors import DisplayLost, StartFailed
from deskgym.envs.guest.process_table import process_table
from deskgym.envs.guest.services import first_line

_RELEASE = 1.0  # seconds for letting go of what is held, at the end


class AttachedDesktop(Desktop):
    """The desktop at ``$DISPLAY``. What it lacks of buses is started, and ends with the guest."""

    async def start(self, width: int, height: int, glx: bool = False) -> None:
        """Attach to it.

        Raises:
            StartFailed: there is none, or it has another size, or no window manager.
        """
        loop = asyncio.get_running_loop()
        found = dict(self.env)
        self._describe_environment(glx)
        for name in ("XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE"):
            self.env[name] = found.get(name) or os.environ.get(name) or self.env[name]
        name = found.get("DISPLAY", "")
        if not name:
            raise StartFailed("there is no DISPLAY in the guest's environment: start it inside the desktop's session")
        from deskgym.envs.guest.x11 import screen

        try:
            self.screen = screen.Screen(loop, name)
        except DisplayLost as error:
            raise StartFailed(str(error)) from error
        size = self.screen.connection.size
        if size != (width, height):
            raise StartFailed(f"the screen at {name} is {size[0]}x{size[1]}, and {width}x{height} was asked for")
        if not self.screen.windows.managed():
            raise StartFailed(f"nobody manages the windows at {name}: start a window manager, such as openbox")
        self._mark("connected")
        await self._join_buses(found, size)
        from deskgym.envs.guest.executor.executor import Executor

        self.executor = Executor(self._config, self._reaper, self.env)
        self.executor.start()
        await self.executor.ready(DEADLINE)
        self.own = {seen.pid: seen.started for seen in process_table()}
        self._mark("desktop")

    async def _join_buses(self, found: dict[str, str], size: tuple[int, int]) -> None:
        address = found.get("DBUS_SESSION_BUS_ADDRESS") or _bus_of(self.env["XDG_RUNTIME_DIR"])
        if address is not None:
            self.env["DBUS_SESSION_BUS_ADDRESS"] = address
        else:
            await first_line(*self._start_bus(), DEADLINE)
        session = Bus(self.env["DBUS_SESSION_BUS_ADDRESS"])
        try:
            await session.connect()
        except (OSError, AccessibilityLost) as error:
            where = self.env["DBUS_SESSION_BUS_ADDRESS"]
            raise StartFailed(f"the session bus {where} is of no use: {error}") from error
        self._mark("session_bus")
        try:  # the bus itself starts it, so that it stays with the desktop
            bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
            await session.call(*bus, "StartServiceByName", "su", "org.a11y.Bus", 0)
        except CallFailed:
            await owned(session, "org.a11y.Bus", self._start_launcher())
        await session.call(
            "org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties",
            "Set", "ssv", "org.a11y.Status", "IsEnabled", Variant("b", True),
        )  # fmt: skip
        await self._read_accessibility(session, size)
        self._publish_bus()

    def alive(self) -> bool:
        """Whether the X server answers is seen when it is asked."""
        return True

    async def leave(self) -> None:
        """Let go of what is held, since the desktop stays."""
        try:
            await asyncio.wait_for(self.screen.release(), _RELEASE)
        except Exception:  # it may be gone too
            pass


def _bus_of(runtime: str) -> str | None:
    path = f"{runtime}/bus"
    return f"unix:path={path}" if os.path.exists(path) else None
