"""Starts the desktop: X, the session bus, the accessibility bus and the window manager, as much as can be at once."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import StartFailed
from deskgym.envs.guest.process_table import process_table, uid_of
from deskgym.envs.guest.processes import Reaper
from deskgym.envs.guest.services import Service, first_line
from deskgym.envs.guest.undumpable import make_undumpable
from deskgym.envs.guest.x11.boxes import Box, added, around
from deskgym.envs.guest.x11.framebuffer import Framebuffer
from deskgym.envs.guest.x11.server import XServer

if TYPE_CHECKING:
    from deskgym.envs.guest.accessibility.bus import Bus
    from deskgym.envs.guest.accessibility.reader import AccessibilityReader
    from deskgym.envs.guest.executor.executor import Executor
    from deskgym.envs.guest.x11.screen import Screen
    from deskgym.envs.guest.x11.settings_manager import SettingsManagerWatch

BACKGROUND = 0x3B4252
DEADLINE = 20.0

_HERE = os.path.dirname(os.path.abspath(__file__))
_LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")


class Desktop:
    """A running desktop.

    Attributes:
        screen: our connection to X.
        reader: reads the accessible elements.
        executor: runs code actions.
        env: what its programs have in their environment.
        timings: ms from the call to each part's being ready.
        own: when the processes started that were there when it was ready, by their numbers.
        session: our connection to the session bus.
    """

    screen: Screen
    reader: AccessibilityReader
    executor: Executor
    session: Bus

    def __init__(self, config: GuestConfig, reaper: Reaper, env: dict[str, str]) -> None:
        self.env = env
        self.timings: dict[str, float] = {}
        self.services: list[Service] = []
        self.own: dict[int, int] = {}
        self.manager: Service | None = None  # of a desktop that is ours, as the next
        self.settings: SettingsManagerWatch | None = None
        self._config, self._reaper = config, reaper
        self._unreported: tuple[Box, ...] = ()
        self._unread: tuple[Box, ...] = ()  # what has changed since the elements were read
        self._begun = time.perf_counter()

    def _mark(self, name: str) -> None:
        self.timings[name] = round((time.perf_counter() - self._begun) * 1000, 1)

    async def start(self, width: int, height: int, glx: bool = False) -> int | None:
        """Start everything; returns a descriptor of the framebuffer's file, opened for reading.

        Raises:
            StartFailed: a part did not come up in time.
        """
        loop = asyncio.get_running_loop()
        self.server = XServer(self._config, self._reaper, (width, height), glx)
        self.services.append(self.server.service)
        self._describe_environment(glx)
        bus_ready = self._start_bus()
        x_waiting = loop.create_task(self.server.ready(DEADLINE))
        accessible = loop.create_task(self._accessibility(bus_ready, (width, height)))
        try:
            from deskgym.envs.guest.x11 import screen  # while X starts on the other core
            from deskgym.envs.guest.x11.settings_manager import SettingsManagerWatch

            await x_waiting
            self._mark("x")
            name = self.server.display
            os.environ.update(DISPLAY=name, XAUTHORITY=self.server.authority)
            self.env.update(DISPLAY=name, XAUTHORITY=self.server.authority)
            self._pixels = Framebuffer(self.server.framebuffer)
            self.screen = screen.Screen(loop, name, self._pixels)
            self.settings = SettingsManagerWatch(self.screen.connection)
            self._mark("connected")
            root = self.screen.connection.root
            root.change_attributes(background_pixel=BACKGROUND)
            root.clear_area()
            self.screen.connection.flush()
            manager = self._start_manager()
            from deskgym.envs.guest.executor.executor import Executor

            self.executor = Executor(self._config, self._reaper, self.env)
            self.executor.start()
            self._mark("zygote")
            await self._managed_by(manager)
            self._mark("window_manager")
            await accessible
            self._publish_bus()
            await self._set_activation_environment()
            await self.executor.ready(DEADLINE)
            self.own = {seen.pid: seen.started for seen in process_table()}
            for pid in self.own:
                if self._config.uid is not None and uid_of(pid) == self._config.uid:
                    make_undumpable(pid)
            self._mark("desktop")
        except BaseException:
            accessible.cancel()
            x_waiting.cancel()
            raise
        return os.open(self.server.framebuffer, os.O_RDONLY | os.O_CLOEXEC)

    def _start_manager(self) -> Service:
        self.manager = self._service(["openbox", "--sm-disable", "--config-file", f"{_HERE}/openbox.xml"])
        return self.manager

    async def _managed_by(self, manager: Service) -> None:
        """Wait until the window manager is at work. Raises StartFailed."""
        deadline = time.monotonic() + DEADLINE
        managed = self.screen.windows.managed
        if not await self.screen.connection.until(lambda: manager.ended.done() or managed(), deadline) or (
            manager.ended.done()
        ):
            raise manager.failure("did not take over the windows")

    async def keep_managed(self) -> None:
        """Start the window manager again if it has ended. Raises StartFailed."""
        if self.manager is not None and self.manager.ended.done():
            self.services.remove(self.manager)
            self.screen.windows.forget_manager()
            manager = self._start_manager()
            await self._managed_by(manager)
            self.own |= {seen.pid: seen.started for seen in process_table() if seen.pid == manager.pid}

    def see(self) -> None:
        """Take in what has been damaged so far, before elements are read."""
        self.screen.sync()
        self.screen.connection.pump()
        self.note_change(self.screen.damage.take())

    async def leave(self) -> None:
        """Called when the host has gone; what was started here ends anyway."""

    def alive(self) -> bool:
        """Whether the X server runs."""
        return not self.server.service.ended.done()

    def failed(self) -> str:
        """Which parts of the desktop have ended, with their last words; empty when none has."""
        return "; ".join(str(s.failure("ended")) for s in self.services if s.ended.done())

    def note_change(self, boxes: Iterable[Box]) -> None:
        """Keep in mind that these parts of the screen have changed."""
        more = tuple(boxes)
        self._unread = added(self._unread, more)
        self._unreported = added(self._unreported, more)

    def take_report(self) -> Box | None:
        """The part of the screen that has changed since the last report."""
        boxes, self._unreported = self._unreported, ()
        return around(boxes)

    def take_change(self) -> tuple[Box, ...]:
        """The parts of the screen that have changed since the last call."""
        boxes, self._unread = self._unread, ()
        return boxes

    def _describe_environment(self, glx: bool) -> None:
        runtime = self._config.runtime_dir
        self.env.update(
            DBUS_SESSION_BUS_ADDRESS=f"unix:path={runtime}/bus",
            XDG_SESSION_TYPE="x11",
            XDG_CURRENT_DESKTOP="deskgym",
            XDG_CONFIG_DIRS=f"{_HERE}/xdg:/etc/xdg",  # GTK without animations and blinking caret
            GTK_OVERLAY_SCROLLING="0",  # scroll bars that fade for 300 ms after each move of the pointer
            FONTCONFIG_FILE=f"{_HERE}/fonts.conf",
            XDG_DATA_DIRS="/usr/local/share:/usr/share",
            QT_ACCESSIBILITY="1",
            QT_LINUX_ACCESSIBILITY_ALWAYS_ON="1",
            QT_QPA_PLATFORM="xcb",
            **({} if glx else {"QT_XCB_GL_INTEGRATION": "xcb_egl"}),
            **({"QT_QUICK_BACKEND": "software"} if self._config.emulated else {}),
            QT_AUTO_SCREEN_SCALE_FACTOR="0",
            GDK_BACKEND="x11",
            GTK_MODULES="gail:atk-bridge",
            GTK_IM_MODULE="gtk-im-context-simple",
            XMODIFIERS="@im=none",
            GIO_USE_VFS="local",  # no gvfs daemons: a file is a file
            LIBGL_ALWAYS_SOFTWARE="1",
            QTWEBENGINE_DISABLE_SANDBOX="1",  # the machine is the sandbox; nested ones need rights that it lacks
        )

    def _service(self, argv: list[str], user: str = "agent", pass_fds: tuple[int, ...] = (), **more: str) -> Service:
        env = {**self.env, **more}
        if self._config.marker:
            env["DESKGYM_MACHINE"] = self._config.marker
        service = Service.start(self._config, self._reaper, argv, env=env, user=user, pass_fds=pass_fds)
        self.services.append(service)
        return service

    def _start_bus(self) -> tuple[Service, int]:
        ready_read, ready_write = os.pipe()
        os.set_blocking(ready_read, False)
        address = self._session_address()
        try:
            service = self._service(
                [
                    "dbus-daemon", "--nofork", "--nopidfile", "--nosyslog", f"--config-file={self._write_bus_config()}",
                    f"--address={address}", f"--print-address={ready_write}",
                ],
                pass_fds=(ready_write,),
            )  # fmt: skip
        finally:
            os.close(ready_write)
        return service, ready_read

    def _write_bus_config(self, kind: str = "session") -> str:
        """Write how a bus shall be; gives the file's path."""
        place, services = f"{self._config.state_dir}/session-bus.conf", "/usr/share/dbus-1/services"
        if kind == "accessibility":  # its launcher looks there first
            place, services = "/etc/at-spi2/accessibility.conf", "/usr/share/dbus-1/accessibility-services"
            os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(f"{_HERE}/bus.conf") as file:
            text = file.read().replace("@TYPE@", kind).replace("@SERVICES@", services)
        with open(place, "w") as file:
            file.write(text.replace("@GUEST@", str(self._seen_as())))
        return place

    async def _accessibility(self, bus_ready: tuple[Service, int], size: tuple[int, int]) -> None:
        """Bring up the accessibility bus, say that it is enabled, and connect a reader."""
        await first_line(*bus_ready, DEADLINE)
        self._mark("session_bus")
        session = self._to_bus(self._session_address())
        await session.connect()
        if self._config.uid is not None:  # the machine is ours
            self._write_bus_config("accessibility")
        await owned(session, "org.a11y.Bus", self._start_launcher())
        await self._read_accessibility(session, size)

    def _session_address(self) -> str:
        """Where the session bus itself listens."""
        return self.env["DBUS_SESSION_BUS_ADDRESS"]

    def _accessibility_address(self, own: str) -> str:
        """Where programs find the accessibility bus, whose own address this is."""
        return own

    def _seen_as(self) -> int:
        """The uid that a bus sees in the guest."""
        return os.getuid()

    def _to_bus(self, address: str) -> Bus:
        """A connection to a bus, not yet made."""
        from deskgym.envs.guest.accessibility.bus import Bus

        return Bus(address)

    def _start_launcher(self) -> Service:
        path = next((path for path in _LAUNCHERS if os.path.exists(path)), None)
        if path is None:
            raise StartFailed("at-spi-bus-launcher is missing: install at-spi2-core")
        # without settings of its own it starts no dconf service to store them
        return self._service([path, "--launch-immediately", "--a11y=1"], GSETTINGS_BACKEND="memory")

    async def _read_accessibility(self, session: Bus, size: tuple[int, int]) -> None:
        from deskgym.envs.guest.accessibility.reader import AccessibilityReader

        answer = await session.call("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")
        self._mark("accessibility_bus")
        self.env["AT_SPI_BUS_ADDRESS"] = self._accessibility_address(str(answer[0]))
        self.reader = AccessibilityReader(self._to_bus(str(answer[0])), size)
        await self.reader.connect()
        self._mark("accessibility")
        self.session = session

    def _publish_bus(self) -> None:
        """Write the accessibility bus's address where Qt looks for it.

        Else Qt 5 asks for the address in the background, and then half the time never registers.
        """
        from Xlib import Xatom

        name = self.screen.connection.atom("AT_SPI_BUS")
        self.screen.connection.root.change_property(name, Xatom.STRING, 8, self.env["AT_SPI_BUS_ADDRESS"].encode())
        self.screen.sync()

    async def _set_activation_environment(self) -> None:
        """Tell the session bus what the programs that it starts shall have in their environment."""
        await self.session.call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus",
            "UpdateActivationEnvironment", "a{ss}", self.env,
        )  # fmt: skip


async def owned(session: Bus, name: str, service: Service) -> None:
    """Wait until somebody on the bus has this name."""
    bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
    appeared = asyncio.Event()

    def heard(sender: str, path: str, interface: str, member: str, detail: str) -> None:
        if detail == name:
            appeared.set()

    session.on_signal = heard
    rule = f"type='signal',sender='{bus[0]}',interface='{bus[2]}',member='NameOwnerChanged',arg0='{name}'"
    await session.call(*bus, "AddMatch", "s", rule)
    answer = await session.call(*bus, "NameHasOwner", "s", name)
    if not answer[0]:
        waiting: asyncio.Future[Any] = asyncio.ensure_future(appeared.wait())
        await asyncio.wait({waiting, service.ended}, timeout=DEADLINE, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if not appeared.is_set():
            raise service.failure(f"did not take the name {name}")
