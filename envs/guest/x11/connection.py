"""Our connection to the X server, inside an asyncio loop: events are dispatched as they come, waits have deadlines."""

from __future__ import annotations

import asyncio
import contextlib
import select
import time
import types
from collections.abc import Callable, Sequence
from typing import Any

import Xlib.protocol.display
from Xlib import X, display, error

from deskgym.envs.guest.errors import DisplayLost

PATIENCE = 2.0
"""Seconds without an answer after which something is done about it."""
DEADLINE = 10.0
"""Seconds without an answer after which the X server counts as lost."""
_helpers: list[Callable[[float], None]] = []


def when_stalled(help_: Callable[[float], None]) -> None:
    """Have ``help_`` called, with the seconds so far, each ``PATIENCE`` seconds that the X server does not answer.

    A client that grabs the server has it for itself, and keeps all others waiting for as long as it likes.
    """
    _helpers[:] = [help_]


def _wait(
    readers: Sequence[Any], writers: Sequence[Any], others: Sequence[Any], timeout: float | None = None
) -> tuple[list[Any], list[Any], list[Any]]:
    """``select`` for python-xlib, which waits for an answer without end. Raises TimeoutError at ``DEADLINE``."""
    if timeout is not None:
        return select.select(readers, writers, others, timeout)
    began = time.monotonic()
    while not any(found := select.select(readers, writers, others, PATIENCE)):
        waited = time.monotonic() - began
        if waited >= DEADLINE:
            raise TimeoutError(f"the X server has not answered for {waited:.0f} s")
        for help_ in _helpers:
            help_(waited)
    return found


def connect(name: str) -> Any:
    """A python-xlib display whose errors can be read.

    python-xlib 0.33 registers RandR's errors under the numbers of BadRequest, BadValue and BadWindow; one such error
    then raises AttributeError while its locks are held, and the connection never answers again.
    """
    connection = display.Display(name)
    connection.display.error_classes = error.xerror_class.copy()
    return connection


class XConnection:
    """A python-xlib connection whose events go to handlers by type.

    Attributes:
        display: python-xlib's display; replaced when the connection had to be made anew.
        root: its root window.
        size: width and height of the screen in pixels.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop, self._name = loop, name
        Xlib.protocol.display.select = types.SimpleNamespace(select=_wait, error=OSError)
        self._handlers: dict[int, list[Callable[[Any], None]]] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._on_connect: list[Callable[[], None]] = []
        self._atoms: dict[str, int] = {}
        self._open()

    def _open(self) -> None:
        try:
            self.display = connect(self._name)
        except (error.DisplayError, error.ConnectionClosedError, OSError) as problem:
            raise DisplayLost(f"the X server {self._name} does not answer: {problem}") from problem
        self.display.set_error_handler(lambda *ignored: None)  # a window can vanish at any time
        screen = self.display.screen()
        self.root = screen.root
        self.size = (screen.width_in_pixels, screen.height_in_pixels)
        self.broken = False
        self._fd = self.display.fileno()
        self._loop.add_reader(self._fd, self.pump)

    def on_connect(self, setup: Callable[[], None]) -> None:
        """Call ``setup`` now, and again whenever the connection was made anew."""
        self._on_connect.append(setup)
        setup()

    def on(self, event_type: int, handler: Callable[[Any], None]) -> None:
        """Send events of this type to ``handler``."""
        self._handlers.setdefault(event_type, []).append(handler)

    def ensure(self) -> None:
        """Connect again if the connection broke (an agent can kill any X client).

        Raises:
            DisplayLost: the server is gone.
        """
        if not self.broken:
            try:
                self.display.sync()
                return
            except (error.ConnectionClosedError, OSError):
                self._break()
        self._open()
        for setup in self._on_connect:
            setup()

    def _break(self) -> None:
        if not self.broken:
            self.broken = True
            self._loop.remove_reader(self._fd)
            try:
                self.display.close()
            except Exception:
                pass
        self._wake()

    def close(self) -> None:
        """Close the connection."""
        self._break()

    def atom(self, name: str) -> int:
        """An atom's number."""
        if name not in self._atoms:
            self._atoms[name] = self.display.intern_atom(name)
        return self._atoms[name]

    def pump(self) -> None:
        """Dispatch what has come."""
        if self.broken:
            return
        try:
            count = self.display.pending_events()
            events = [self.display.next_event() for _ in range(count)]
        except Exception:  # python-xlib raises anything when it meets what it does not know, and is of no use then
            self._break()
            return
        for event in events:
            for handler in self._handlers.get(event.type & 0x7F, ()):
                with contextlib.suppress(AttributeError, TypeError, IndexError):  # any client can send us nonsense
                    handler(event)
        if count:
            self._wake()

    def flush(self) -> None:
        """Send what is queued. That may also read events, which no reader of the descriptor would hear of."""
        try:
            self.display.flush()
        except (error.ConnectionClosedError, OSError):
            self._break()
        if self.display.display.event_queue:
            self._loop.call_soon(self.pump)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def next_events(self, deadline: float) -> None:
        """Return when events were dispatched or at ``deadline`` (``time.monotonic``).

        Raises:
            DisplayLost: the connection broke.
        """
        if self.broken:
            raise DisplayLost("the connection to the X server broke")
        left = deadline - time.monotonic()
        if left <= 0:
            return
        if self.display.display.event_queue:  # read along with a reply, since the last look
            self._loop.call_soon(self.pump)
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        timer = self._loop.call_later(left, _set, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)
        if self.broken:
            raise DisplayLost("the connection to the X server broke")

    async def until(self, check: Callable[[], bool], deadline: float) -> bool:
        """Wait until ``check()`` is true, looking again after each batch of events; False at ``deadline``."""
        while True:
            self.pump()
            if check():
                return True
            if time.monotonic() >= deadline:
                return False
            await self.next_events(deadline)

    def property(self, window: Any, name: str, kind: int = X.AnyPropertyType) -> Any:
        """A window's property value (an array, or bytes), or None when there is none, or no such window."""
        try:
            found = window.get_full_property(self.atom(name), kind)
        except error.XError:
            return None
        return None if found is None else found.value


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
