"""Top-level windows: who is there, bringing one to the front, closing and waiting for one, a sign of life."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections.abc import Container, Mapping, Sequence
from typing import Any

from Xlib import X, error
from Xlib.protocol import event

from deskgym.envs.guest.x11.connection import XConnection

LONGEST = 1000  # characters of a title: a program can give itself one of megabytes


class Windows:
    """The windows that the window manager manages."""

    def __init__(self, connection: XConnection) -> None:
        self._x = connection
        self._serials = itertools.count(1)
        self._answers: set[int] = set()
        self._followed: set[int] = set()
        self._supports_ping: dict[int, bool] = {}
        self._clients: set[int] | None = None  # None: to be read again
        self._kinds: dict[int, str] = {}  # names of window types by their atoms
        self.generation = 0  # grows whenever a window or a title changed
        connection.on_connect(self._setup)
        connection.on(X.PropertyNotify, self._on_property)
        connection.on(X.ClientMessage, self._on_message)
        connection.on(X.DestroyNotify, self._on_destroy)

    def _setup(self) -> None:
        # Qt sends its answers to _NET_WM_PING with StructureNotify, GTK with SubstructureNotify
        mask = X.PropertyChangeMask | X.SubstructureNotifyMask | X.StructureNotifyMask
        self._x.root.change_attributes(event_mask=mask)
        self._followed.clear()
        self._supports_ping.clear()
        self._clients = None
        self._property_names = {
            self._x.atom(name) for name in ("_NET_CLIENT_LIST", "_NET_WM_NAME", "WM_NAME", "_NET_ACTIVE_WINDOW")
        }
        self._protocols, self._ping = self._x.atom("WM_PROTOCOLS"), self._x.atom("_NET_WM_PING")
        self.generation += 1

    def _on_property(self, notice: Any) -> None:
        if notice.atom in self._property_names:
            self.generation += 1
            self._clients = None
        elif notice.atom == self._protocols:
            self._supports_ping.pop(notice.window.id, None)

    def _on_message(self, notice: Any) -> None:
        if notice.client_type == self._protocols and notice.data[1][0] == self._ping:
            self._answers.add(notice.data[1][1])

    def _on_destroy(self, notice: Any) -> None:
        self._followed.discard(notice.window.id)
        self._supports_ping.pop(notice.window.id, None)
        self.generation += 1

    def managed(self) -> bool:
        """Whether a window manager is at work: it lists the windows once it manages them, some time after its name."""
        names = ("_NET_SUPPORTING_WM_CHECK", "_NET_CLIENT_LIST")
        return all(self._x.property(self._x.root, name) is not None for name in names)

    def forget_manager(self) -> None:
        """The window manager has ended: what it said of itself is not to be taken for its successor's word."""
        for name in ("_NET_SUPPORTING_WM_CHECK", "_NET_CLIENT_LIST"):
            self._x.root.delete_property(self._x.atom(name))
        self._x.display.sync()

    def active(self) -> int:
        """The id of the active window, or 0."""
        value = self._x.property(self._x.root, "_NET_ACTIVE_WINDOW")
        return int(value[0]) if value is not None and len(value) else 0

    def process(self) -> int:
        """The process of the active window, as the window tells it, or 0."""
        number = self.active()
        window = self._x.display.create_resource_object("window", number)
        pid = self._x.property(window, "_NET_WM_PID") if number else None
        return int(pid[0]) if pid is not None and len(pid) else 0

    def all(self) -> list[dict[str, Any]]:
        """All managed windows, topmost last: ``id, title, class, instance, pid, x, y, width, height, active``.

        Titles and classes have at most ``LONGEST`` characters.
        """
        ids = self._x.property(self._x.root, "_NET_CLIENT_LIST_STACKING")
        active = self.active()
        found = []
        for number in ids if ids is not None else ():
            described = self._describe(int(number))
            if described is not None:
                described["active"] = number == active
                found.append(described)
        return found

    def _describe(self, number: int) -> dict[str, Any] | None:
        window = self._x.display.create_resource_object("window", number)
        try:
            if number not in self._followed:
                window.change_attributes(event_mask=X.PropertyChangeMask)
                self._followed.add(number)
            size = window.get_geometry()
            origin = self._x.root.translate_coords(window, 0, 0)
            classes = window.get_wm_class() or ("", "")
            title = self._x.property(window, "_NET_WM_NAME")
            if title is None:
                title = self._x.property(window, "WM_NAME")
        except error.XError:
            return None
        pid = self._x.property(window, "_NET_WM_PID")
        kinds = self._x.property(window, "_NET_WM_WINDOW_TYPE")
        return {
            "id": number,
            "title": title[: 4 * LONGEST].decode("utf-8", "replace")[:LONGEST] if isinstance(title, bytes) else "",
            "class": str(classes[1])[:LONGEST],
            "instance": str(classes[0])[:LONGEST],
            "type": self._kind(int(kinds[0])) if kinds is not None and len(kinds) else "normal",
            "pid": int(pid[0]) if pid is not None and len(pid) else 0,
            "x": origin.x,
            "y": origin.y,
            "width": size.width,
            "height": size.height,
        }

    def _kind(self, atom: int) -> str:
        if atom not in self._kinds:
            name = self._x.display.get_atom_name(atom)
            self._kinds[atom] = name.removeprefix("_NET_WM_WINDOW_TYPE_").lower()
        return self._kinds[atom]

    def find(
        self,
        title: str | None = None,
        wm_class: str | None = None,
        old: Container[tuple[int, int]] = (),
        kind: str | None = None,
        size: Sequence[int] | None = None,
    ) -> dict[str, Any] | None:
        """The topmost window, none of ``old``, whose title and class have these regular expressions in them.

        ``old`` are ids with their processes, since ids come again.

        Without a ``kind`` splash screens do not count; with a ``size``, neither do smaller ones.
        """
        window: dict[str, Any]
        for window in reversed(self.all()):
            if (window["id"], window["pid"]) in old or (
                window["type"] == "splash" if kind is None else window["type"] != kind
            ):
                continue
            if size is not None and (window["width"] < size[0] or window["height"] < size[1]):
                continue
            if title is not None and not re.search(title, window["title"]):
                continue
            if wm_class is not None and not (
                re.search(wm_class, window["class"]) or re.search(wm_class, window["instance"])
            ):
                continue
            return window
        return None

    def activate(self, number: int) -> None:
        """Ask the window manager to bring a window to the front and give it the focus."""
        self._ask(number, "_NET_ACTIVE_WINDOW", [2, X.CurrentTime, 0, 0, 0])

    def show(self, number: int) -> None:
        """Ask the window manager to show a window that is an icon, rolled up, or on another desktop."""
        desktop = self._x.property(self._x.root, "_NET_CURRENT_DESKTOP")
        if desktop is not None and len(desktop):
            self._ask(number, "_NET_WM_DESKTOP", [int(desktop[0]), 2, 0, 0, 0])
        for state in ("SHADED", "BELOW"):
            self._ask(number, "_NET_WM_STATE", [0, self._x.atom(f"_NET_WM_STATE_{state}"), 0, 2, 0])
        self.activate(number)

    def close(self, number: int) -> None:
        """Ask a window to close, as the button in its frame does."""
        self._ask(number, "_NET_CLOSE_WINDOW", [X.CurrentTime, 2, 0, 0, 0])

    def _ask(self, number: int, message: str, data: list[int]) -> None:
        window = self._x.display.create_resource_object("window", number)
        notice = event.ClientMessage(window=window, client_type=self._x.atom(message), data=(32, data))
        self._x.root.send_event(notice, event_mask=X.SubstructureRedirectMask | X.SubstructureNotifyMask)
        self._x.flush()

    def ping(self) -> dict[int, int]:
        """Ask the active window and the one under the pointer for a sign of life; the questions by serial."""
        numbers = {self.active()}
        try:
            under = self._x.root.query_pointer().child
        except error.XError:
            under = 0
        if under:
            numbers.add(self._client_in(under))
        asked = {}
        for number in numbers & self._managed():  # a window that has gone may be called active for ever
            if not self._can_ping(number):
                continue
            serial = next(self._serials) & 0x7FFFFFFF
            window = self._x.display.create_resource_object("window", number)
            notice = event.ClientMessage(
                window=window, client_type=self._protocols, data=(32, [self._ping, serial, number, 0, 0])
            )
            window.send_event(notice, event_mask=0)
            asked[serial] = number
        self._answers.clear()
        self._x.flush()
        return asked

    def answered(self, asked: Mapping[int, int]) -> bool:
        """Whether all these questions have been answered, or their windows are gone."""
        return all(serial in self._answers or number not in self._managed() for serial, number in asked.items())

    async def pong(self, deadline: float) -> bool:
        """Ask, and wait for the answers; False at ``deadline``."""
        asked = self.ping()
        return await self._x.until(lambda: self.answered(asked), deadline)

    def _client_in(self, frame: Any) -> int:
        """The managed window inside a window manager's frame, or 0."""
        managed = self._managed()
        if frame.id in managed:
            return int(frame.id)
        try:
            children = frame.query_tree().children
        except error.XError:
            return 0
        return next((int(child.id) for child in children if child.id in managed), 0)

    def _managed(self) -> set[int]:
        """The windows that the window manager lists; asked for again when its list has changed."""
        if self._clients is None:
            ids = self._x.property(self._x.root, "_NET_CLIENT_LIST")
            self._clients = set() if ids is None else {int(number) for number in ids}
        return self._clients

    def _can_ping(self, number: int) -> bool:
        known = self._supports_ping.get(number)
        if known is None:
            window = self._x.display.create_resource_object("window", number)
            atoms = self._x.property(window, "WM_PROTOCOLS")
            known = atoms is not None and self._ping in atoms
            self._supports_ping[number] = known
        return known

    async def wait_for(
        self,
        title: str | None = None,
        wm_class: str | None = None,
        gone: bool = False,
        timeout: float = 10.0,
        old: Container[tuple[int, int]] = (),
        kind: str | None = None,
        size: Sequence[int] | None = None,
    ) -> dict[str, Any] | None:
        """Wait until there is such a window (see ``find``) or none any more, at most ``timeout`` seconds.

        Raises:
            TimeoutError: names what never came true, and the windows that were there.
        """
        found: dict[str, Any] | None = None
        seen = -1

        def look() -> bool:
            nonlocal found, seen
            if seen == self.generation:
                return False
            seen = self.generation
            found = self.find(title, wm_class, old, kind, size)
            return (found is None) == gone

        if await self._x.until(look, time.monotonic() + timeout):
            return found
        there = "; ".join(f"{w['title']!r} ({w['class']}, {w['type']}, {w['width']}x{w['height']})" for w in self.all())
        what = "still a window" if gone else "no window"
        named = {"title": as_glob(title), "class": as_glob(wm_class), "type": kind, "at least": size}
        looks = " and ".join(f"{name} {value!r}" for name, value in named.items() if value is not None)
        raise TimeoutError(f"{what} with {looks or 'any title'} after {timeout:.3g} s; there: {there or 'none'}")

    async def place(self, number: int, place: Sequence[int] | str, deadline: float) -> dict[str, Any]:
        """Put a window's content at ``[x, y, width, height]``, or make it ``"maximized"``; the window as it is then.

        Raises:
            TimeoutError: it did not go there; says where it is.
        """
        maximized = [self._x.atom(f"_NET_WM_STATE_MAXIMIZED_{way}") for way in ("HORZ", "VERT")]
        window = self._x.display.create_resource_object("window", number)

        def ask() -> None:
            if isinstance(place, str):
                self._ask(number, "_NET_WM_STATE", [1, *maximized, 2, 0])
            else:  # static gravity: the content goes there, not the frame
                self._ask(number, "_NET_MOVERESIZE_WINDOW", [10 | 0xF << 8 | 2 << 12, *map(int, place)])

        def there() -> bool:
            if isinstance(place, str):
                states = self._x.property(window, "_NET_WM_STATE")
                return states is not None and set(maximized) <= {int(state) for state in states}
            now = self._describe(number) or {}
            wanted = zip(("x", "y", "width", "height"), place, (1, 1, 32, 32), strict=True)
            return all(abs(now.get(key, -9999) - value) <= near for key, value, near in wanted)

        while not there():
            if time.monotonic() >= deadline:
                raise TimeoutError(f"the window did not go to {place}; it is {self._describe(number)}")
            ask()
            again = min(time.monotonic() + 0.5, deadline)  # a program that moves itself at its start is asked again
            while not there() and time.monotonic() < again:
                await asyncio.sleep(0.02)
        return self._describe(number) or {}


def as_glob(pattern: str | None) -> str | None:
    r"""The glob that a regular expression for a whole text was made from; any other one as it is.

    Examples:
        >>> as_glob(r"\A.*\ \-\ Mousepad\Z"), as_glob("Never")
        ('* - Mousepad', 'Never')
    """
    whole = re.fullmatch(r"\\A(.*)\\Z", pattern or "", re.DOTALL)
    return re.sub(r"\\(.)", r"\1", whole[1].replace(".*", "*"), flags=re.DOTALL) if whole else pattern
