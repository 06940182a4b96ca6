"""A desktop that stays: it is cleared of an episode and compared, in every respect that is known, with how it began.

A new X server, buses, window manager and guest cost more processor time than a task's program. So after an episode
in which the agent's code did not run, all programs are ended, what they have written is taken back, and the desktop
must then be what it was: processes with their limits, files, windows, the root window's properties, selections,
keyboard, pointer, names on both buses, each pixel. What is otherwise is said, and the machine is thrown away, as after
any other episode.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from Xlib import X, error
from Xlib.ext import xtest

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.desktop import Desktop
from deskgym.envs.guest.kernel.cleanup import clear_ipc
from deskgym.envs.guest.process_table import process_table
from deskgym.envs.guest.programs import Programs
from deskgym.envs.guest.recovery import Recovery
from deskgym.envs.guest.x11 import devices

PATIENCE = 1.5
"""Seconds that the window manager and the buses get to notice that all programs have ended."""

SMALL = 1 << 16
"""Bytes of the longest file whose content is kept, to be put back."""

LAYERS = "/.layers"
OTHERS = ("/run", "/dev/shm", "/dev/mqueue")
"""Where anything can be written in a sandbox: the upper folders of its overlays, and these."""

OPEN = ("/tmp", "/var/tmp")
"""Folders of the lower layers that anybody may write to."""

SELECTIONS = (
    "PRIMARY", "SECONDARY", "CLIPBOARD", "CLIPBOARD_MANAGER", "XdndSelection", "_XSETTINGS_S0", "_NET_SYSTEM_TRAY_S0",
    "_NET_WM_CM_S0", "WM_S0", "MANAGER",
)  # fmt: skip
_LOCKS = ((X.LockMask, 0xFFE5), (X.Mod2Mask, 0xFF7F))
"""Modifiers that stay when their key is let go, and the keys: Caps Lock and Num Lock."""

Facts = dict[str, Any]


class Standing:
    """How a desktop was before any program ran in it.

    Args:
        config: of the guest.
        desktop: just started.
        programs: those that will be launched.
        recovery: of the desktop.

    Raises:
        LookupError: the machine is none whose writable places are known.
    """

    def __init__(self, config: GuestConfig, desktop: Desktop, programs: Programs, recovery: Recovery) -> None:
        if config.uid is None or not os.path.isdir(LAYERS) or desktop.manager is None:
            raise LookupError("only a sandbox's desktop can be cleared")
        self._uid, self._desktop, self._programs, self._recovery = config.uid, desktop, programs, recovery
        self._left_out = {os.path.realpath(desktop.server.framebuffer)}
        self._files: Facts = {}
        self._began: Facts = {}

    async def begin(self) -> dict[str, Any]:
        """Take in how it is now."""
        for place in OPEN:
            with suppress(OSError):
                os.utime(place)  # so that its folder is in the upper layer from the beginning
        self._files = self._written()
        self._began = await self._seen()
        return {"files": len(self._files)}

    async def clear(self) -> dict[str, Any]:
        """End all programs and take back what they did; ``why``: how it is not as it was, or "".

        Raises:
            DisplayLost: the X server is gone.
        """
        return {"why": await self._clear()}

    async def _clear(self) -> str:
        desktop = self._desktop
        if desktop.settings is not None and (seen := desktop.settings.seen()):
            return seen
        self._programs.end_others(desktop, [])
        desktop.screen.connection.ensure()
        self._recovery.end_clients()
        await desktop.screen.release()
        if why := self._take_back():
            return why
        if left := await self._clear_ipc():
            return f"{left} is left"
        self._put_back()
        why = await self._until_same()
        if why:
            return why
        self._recovery.forget()
        self._programs.launched.distrust(None)
        desktop.take_report()
        desktop.take_change()
        return ""

    async def _clear_ipc(self) -> str:
        """Remove shared memory, queues and semaphores; says what is left once the X server had time to let go of it."""
        end = time.monotonic() + PATIENCE
        while left := clear_ipc(self._uid):
            if time.monotonic() > end:
                return left[0]
            await asyncio.sleep(0.01)
        return ""

    async def _until_same(self) -> str:
        """Wait until all is as it was; says what is otherwise."""
        end = time.monotonic() + PATIENCE
        while True:
            windows = sorted(window.id for window in self._desktop.screen.connection.root.query_tree().children)
            late = time.monotonic() > end
            if late or windows == self._began["windows"]:  # what takes longest; the rest costs more to look at
                now = await self._seen()
                different = [name for name in self._began if now.get(name) != self._began[name]]
                if not different:
                    return ""
                if late:
                    return f"{different[0]}: {_difference(self._began[different[0]], now[different[0]])}"
                self._put_back()
            await asyncio.sleep(0.01)

    # --- what is compared

    async def _seen(self) -> Facts:
        """All that must be equal, by name."""
        bus = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
        facts = {"processes": self._processes(), **self._x()}
        session = self._desktop.session
        for name, connection in (("session bus", session), ("accessibility bus", self._desktop.reader.bus)):
            facts[name] = sorted((await connection.call(*bus, "ListNames"))[0])
        status = ("org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties", "GetAll", "s", "org.a11y.Status")
        facts["accessibility"] = str(await session.call(*status))
        self._desktop.screen.sync()
        with open(self._desktop.server.framebuffer, "rb") as file:
            facts["pixels"] = hashlib.blake2b(file.read(), digest_size=16).hexdigest()
        return facts

    def _processes(self) -> Facts:
        """Each process: which it is, and what others of its user can set of it."""
        found: Facts = {}
        for seen in process_table():
            if seen.state in "ZX":  # ended; one of the desktop's own is then missing
                continue
            with suppress(OSError):
                with open(f"/proc/{seen.pid}/limits") as file:
                    limits = file.read()
                found[str(seen.pid)] = (
                    seen.started, seen.stack, seen.state in "tT", os.getpriority(os.PRIO_PROCESS, seen.pid),
                    sorted(os.sched_getaffinity(seen.pid)), os.sched_getscheduler(seen.pid), limits,
                )  # fmt: skip
        return found

    def _x(self) -> Facts:
        """The X server's state: what clients share, and what outlives them."""
        connection = self._desktop.screen.connection
        x, root = connection.display, connection.root
        pointer, codes = root.query_pointer(), x.display.info
        first, count = codes.min_keycode, codes.max_keycode - codes.min_keycode + 1
        keyboard = dict(x.get_keyboard_control()._data)
        saver, control = dict(x.get_screen_saver()._data), dict(x.get_pointer_control()._data)
        for data in (keyboard, saver, control):
            data.pop("sequence_number", None)
        geometry, hosts, cursor = root.get_geometry(), x.list_hosts(), x.xfixes_get_cursor_image(root)
        return {
            "screen": (geometry.width, geometry.height, geometry.depth),
            "access": (hosts.mode, [str(host) for host in hosts.hosts], list(x.get_font_path())),
            "cursor": (cursor.width, cursor.height, hashlib.blake2b(str(cursor.cursor_image).encode()).hexdigest()),
            "windows": sorted(window.id for window in root.query_tree().children),
            "clients": sorted(client.resource_base for client in x.res_query_clients().clients),
            "root window": self._properties(),
            "selections": [
                x.get_selection_owner(connection.atom(name)) != X.NONE and name for name in SELECTIONS
            ],
            "pointer": (pointer.root_x, pointer.root_y, pointer.mask),
            "keys": (bytes(x.query_keymap()), keyboard, tuple(x.get_pointer_mapping()), control, saver),
            "key map": (
                [tuple(row) for row in x.get_modifier_mapping()],
                [tuple(row) for row in x.get_keyboard_mapping(first, count)],
            ),
            "devices": devices.settings(x, root),
            "focus": getattr(x.get_input_focus().focus, "id", x.get_input_focus().focus),
        }  # fmt: skip

    def _properties(self) -> Facts:
        connection = self._desktop.screen.connection
        found: Facts = {}
        for atom in connection.root.list_properties():
            with suppress(error.XError):
                value = connection.root.get_full_property(atom, X.AnyPropertyType)
                if value is not None:
                    data = value.value if isinstance(value.value, bytes) else tuple(value.value)
                    found[connection.display.get_atom_name(atom)] = (value.property_type, value.format, data)
        return found

    # --- what is put back

    def _put_back(self) -> None:
        """The root window's properties, the key map, the pointer, and the modifiers that stay."""
        connection = self._desktop.screen.connection
        x, root = connection.display, connection.root
        began: Facts = self._began["root window"]
        now = self._properties()
        for name in now.keys() - began.keys():
            root.delete_property(connection.atom(name))
        for name, (kind, form, data) in began.items():
            if now.get(name) != (kind, form, data) and not name.startswith("_NET_"):  # those are the window manager's
                root.change_property(connection.atom(name), kind, form, list(data) if form != 8 else data)
        first, keys = x.display.info.min_keycode, self._began["key map"][1]
        for code, (now_, then) in enumerate(zip(x.get_keyboard_mapping(first, len(keys)), keys, strict=True), first):
            if tuple(now_) != then:  # characters that no key has are typed by keys that have none
                x.change_keyboard_mapping(code, [then])
        left, top, mask = self._began["pointer"]
        pointer = root.query_pointer()
        for bit, symbol in _LOCKS:
            if (pointer.mask ^ mask) & bit and (code := x.keysym_to_keycode(symbol)):
                xtest.fake_input(x, X.KeyPress, code)
                xtest.fake_input(x, X.KeyRelease, code)
        if (pointer.root_x, pointer.root_y) != (left, top):
            xtest.fake_input(x, X.MotionNotify, x=left, y=top)
        x.sync()

    def _take_back(self) -> str:
        """What was written since it began; says what cannot be taken back."""
        now = self._written()
        if missing := sorted(self._files.keys() - now.keys()):
            return f"{missing[0]} was removed"
        for path in sorted(now.keys() - self._files.keys(), reverse=True):  # a folder after what is in it
            real = _real(path)
            try:
                if now[path][0] == "folder":
                    os.rmdir(real)
                else:
                    os.unlink(real)
            except OSError as problem:
                return f"{real} cannot be removed: {problem.strerror}"
        for path, fact in self._files.items():
            if now[path] != fact and fact[0] == now[path][0] == "text":
                _write(_real(path), fact)
        after = self._written()
        if after == self._files:
            return ""
        return f"files: {_difference(self._files, after)}"

    def _written(self) -> Facts:
        """All that is in the writable places: what each is, by its path."""
        uppers = [f"{LAYERS}/{name}/upper" for name in os.listdir(LAYERS)]
        found: Facts = {}
        for place in (*uppers, *OTHERS):
            for path in _walk(place):
                if path not in self._left_out:
                    with suppress(FileNotFoundError):
                        found[path] = _fact(path)
        return found


def _walk(place: str) -> Iterator[str]:
    for parent, folders, files in os.walk(place):
        for name in (*folders, *files):
            yield os.path.join(parent, name)


def _real(path: str) -> str:
    """Where the overlay shows a file of its upper folder."""
    if not path.startswith(f"{LAYERS}/"):
        return path
    _, _, name, _, rest = path.split("/", 4)
    return f"/{name}/{rest}"


def _fact(path: str) -> tuple[Any, ...]:
    """What must be equal of a file, a folder, or anything else; the first says which of them it is."""
    seen = os.lstat(path)
    owner = (seen.st_mode, seen.st_uid, seen.st_gid)
    if stat.S_ISDIR(seen.st_mode):
        return ("folder", *owner, tuple(sorted(os.listxattr(path, follow_symlinks=False))))
    if stat.S_ISLNK(seen.st_mode):
        return ("link", *owner, os.readlink(path))
    if stat.S_ISREG(seen.st_mode) and seen.st_size <= SMALL and seen.st_nlink == 1:
        with open(path, "rb") as file:
            return ("text", *owner, file.read())
    return ("other", *owner, seen.st_rdev, seen.st_size, seen.st_mtime_ns, seen.st_ino)


def _write(path: str, fact: tuple[Any, ...]) -> None:
    _, mode, uid, gid, content = fact
    with suppress(OSError):
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW)
        with open(fd, "wb") as file:
            file.write(content)
            os.fchown(fd, uid, gid)
            os.fchmod(fd, stat.S_IMODE(mode))


def _difference(before: Any, now: Any) -> str:
    """The first thing that two facts differ in, shortly."""
    if isinstance(before, dict) and isinstance(now, dict):
        name = min(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
        what = "is new" if name not in before else "is gone" if name not in now else "has changed"
        return f"{name} {what}"
    return f"{str(now)[:150]} where {str(before)[:150]} was"
