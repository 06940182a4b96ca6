"""A screen behind a VNC server: any desktop, with or without our guest in it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from deskgym.envs.displays import by_guest
from deskgym.envs.displays.base import Display, Event, SettlePolicy, StepReport, StepRequest
from deskgym.envs.displays.vnc.address import VncAddress
from deskgym.envs.displays.vnc.connection import VncConnection
from deskgym.envs.displays.vnc.input import VncInput
from deskgym.envs.displays.vnc.protocol import CURSOR, ENCODINGS, whole
from deskgym.envs.errors import MachineError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.guest.x11.background_motion import BackgroundMotion
from deskgym.envs.guest.x11.boxes import inside

POINTERS = ("auto", "server", "client")
FRESH = 0.005
"""Seconds for which what the server was asked for last is good enough to end the settling, and then for one frame."""

POINTER = 40
"""Pixels around a place where the pointer is or was, in which a change may be nothing but the pointer's own picture."""

_GUEST_ONLY = ("code", "elements")


class VncDisplay(Display):
    """A display behind a VNC server.

    Without a guest, input goes over RFB, and the screen has settled when no pixels have changed for ``quiet_ms``. With
    one, the guest does both in one round trip, as it does everywhere. Frames come over RFB either way.

    Args:
        address: ``"host:DISPLAY"``, ``"host::PORT"`` or the path of a Unix socket.
        password: for VNC authentication: up to 8 ASCII characters count.
        size: width and height that the screen must have, in pixels; None takes what there is.
        guest: a guest whose desktop is running, or None.
        pointer: who draws the mouse pointer into frames: ``"server"``, ``"client"`` (this class, where input has put
            it), or ``"auto"``: the client for QEMU's server, which draws none, and the server for all others.
        timeout: seconds for connecting, and for every answer that the server owes.

    Attributes:
        name: what the server calls its desktop.

    Raises:
        ValueError: an argument is not legal.
        MachineError: no such server, or not such a screen; see ``VncConnection``.
    """

    def __init__(
        self,
        address: str,
        password: str | None = None,
        size: tuple[int, int] | None = None,
        *,
        guest: GuestClient | None = None,
        pointer: str = "auto",
        timeout: float = 10.0,
    ) -> None:
        place = VncAddress.parse(address)
        check_password(password)
        if pointer not in POINTERS:
            raise ValueError(f"pointer={pointer!r}; legal are {', '.join(POINTERS)}")
        self._guest = guest
        self._owner = os.getpid()
        self._connection = VncConnection(place, password, size, timeout)
        client = self._client = self._connection.client
        if guest is not None:
            guest.screen = self._connection.socket
        self.size = client.screen_size
        self.name = client.name.decode("utf-8", "replace")
        self._draws = pointer == "client" or (pointer == "auto" and self.name.startswith("QEMU"))
        if self._draws:
            client.take_encodings([*ENCODINGS, CURSOR])
        self._input = VncInput(client, self._idle)
        self._background = BackgroundMotion(self.size)
        self._last_input = self._last_change = self._last_response = 0.0
        self._places = [(0, 0)]  # where the pointer has been since the last input began
        self._connection.ask(incremental=False)
        self._sync()
        self._take()

    # --- seeing

    def capture(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The screen now; see ``Display.capture``.

        Raises:
            ValueError: ``out`` has another shape or dtype.
            MachineError: the connection is lost or closed, or the screen's size has changed.
        """
        width, height = self.size
        if out is not None and (out.shape != (height, width, 3) or out.dtype != np.uint8):
            raise ValueError(f"out is {out.dtype} {out.shape}; it must be uint8 {(height, width, 3)}")
        self._check()
        if time.monotonic() > self._fresh_until:
            self._sync()
        self._fresh_until = 0.0
        if out is None:
            out = np.empty((height, width, 3), np.uint8)
        if out.flags.c_contiguous and out.flags.writeable:
            cv2.cvtColor(self._client.frame, cv2.COLOR_BGRA2RGB, dst=out)
        else:
            out[...] = cv2.cvtColor(self._client.frame, cv2.COLOR_BGRA2RGB)
        if self._draws and self._client.cursor is not None:
            self._client.cursor.draw(out, self._input.x, self._input.y)
        return out

    # --- acting

    def carry_out(self, request: StepRequest) -> StepReport:
        """See ``Display.carry_out``; with a guest the damage is what it saw.

        Raises:
            GuestLost: the guest or its X server is gone.
            MachineError: the connection is lost, or something was asked that takes a guest, and there is none.
            GuestCallError: an event or a request makes no sense; nothing was done.
        """
        self._check()
        if self._guest is not None:
            self._input.follow(request.events)
            self._fresh_until = 0.0
            try:
                return by_guest.carry_out(self._guest, request)
            except MachineError:
                self._connection.drain()  # raises where the screen is what has ended
                raise
        for name in _GUEST_ONLY:
            if getattr(request, name) is not None:
                raise MachineError(
                    f"{name!r} takes a guest in the desktop behind VNC, and there is none: start one there "
                    "(python -m deskgym.envs.guest --attach --listen ...) and give its address as 'guest'",
                    "no_guest",
                )
        return self._perform(request.events, request.settle)

    def _perform(self, events: Sequence[Event], settle: SettlePolicy | None) -> StepReport:
        self._input.check(events)
        began = time.monotonic()
        self._connection.drain()
        self._take()  # what has come before the input
        if events:
            self._places = [(self._input.x, self._input.y)]
            for event in events:
                if event["t"] != "wait":
                    self._last_input = time.monotonic()
                self._input.send(event)
                self._places.append((self._input.x, self._input.y))
            self._connection.sync()  # the server has read the input; the next one tells what it has made of it
            self._fresh_until = 0.0
        acted = time.monotonic()
        timing = {"input": (acted - began) * 1000}
        settled = True
        if settle is not None:
            settled = self._settle(bool(events), settle)
            timing["settle"] = (time.monotonic() - acted) * 1000
        box, self._damage = self._damage, None
        damage = None if box is None else (box[0], box[1], box[2] - box[0], box[3] - box[1])
        return StepReport(settled, damage, timing)

    def _settle(self, acted: bool, policy: SettlePolicy) -> bool:
        """Wait until no pixels have changed for a while; False when the cap ran out before."""
        self._background.part = policy.motion
        end = time.monotonic() + policy.cap_ms / 1000
        self._sync()
        ready = time.monotonic()
        while True:
            now = time.monotonic()
            if acted and self._last_response < self._last_input:
                until = ready + policy.first_ms / 1000
            else:
                until = max(ready, self._last_change) + policy.quiet_ms / 1000
            if now >= until and now - self._synced <= FRESH:
                self._fresh_until = self._synced + FRESH
                return True
            if now >= end:
                return False
            if now >= until:
                self._sync()  # a server that looks at its screen now and then only may hold something back
                continue
            if not self._connection.waiting:
                self._connection.ask()
            self._connection.pump(min(until, end))
            self._take()

    def release(self) -> None:
        """Let go of every key and button that is held."""
        self._check()
        if self._guest is not None:
            by_guest.release(self._guest)
        self._input.release()
        self._connection.flush()

    def recover(self) -> None:
        """See ``Display.recover``."""
        if self._guest is not None:
            by_guest.recover(self._guest)

    def close(self) -> None:
        """Let go of what is held, and disconnect. Idempotent; never raises because the server is gone.

        In a fork of the process that connected, it leaves the connection alone.
        """
        if os.getpid() != self._owner:
            return
        if self._connection.lost is None:
            try:
                self._input.release()
                self._connection.flush()
            except MachineError:
                pass
        self._connection.close()

    @property
    def lost(self) -> str | None:
        """Why the connection is of no use any more, or None; costs no round trip."""
        return self._connection.lost

    # --- internals

    _synced = _fresh_until = 0.0
    _damage: tuple[int, int, int, int] | None = None

    def _check(self) -> None:
        if os.getpid() != self._owner:
            raise MachineError(
                "a VNC connection belongs to the process that made it, and this is a fork of that: connect anew here",
                "display_lost",
            )
        if self._connection.lost is not None:
            raise MachineError(self._connection.lost, "display_lost")

    def _sync(self) -> None:
        self._connection.sync()
        self._synced = time.monotonic()
        self._take()

    def _take(self) -> None:
        """Take in what has changed: what happens by itself is damage too, but does not hold up the settling."""
        changes = self._client.take_changes()
        if not changes:
            return
        for now, box in changes:
            if self._background.counts(box, now, now - self._last_input):
                self._last_change = now
                if not any(inside(box, (x - POINTER, y - POINTER, x + POINTER, y + POINTER)) for x, y in self._places):
                    self._last_response = now
        if self._damage is not None:
            changes.append((0.0, self._damage))
        self._damage = whole(changes)

    def _idle(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self._connection.pump(end):
            pass


def check_password(password: object) -> None:
    """Raises ValueError when it can be no VNC password."""
    if password is None:
        return
    if not isinstance(password, str) or not password or not password.isascii():
        raise ValueError("a VNC password is an ASCII text (of which the protocol uses the first 8 characters)")
