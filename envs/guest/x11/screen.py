"""The guest's hands and eyes on its screen: carries out input events and tells when the screen has settled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from Xlib import X, error
from Xlib.ext import xtest

from deskgym.envs.guest.errors import DisplayLost
from deskgym.envs.guest.pages import PageWatch
from deskgym.envs.guest.requests import Requests
from deskgym.envs.guest.settling import Rest, SettlePolicy
from deskgym.envs.guest.x11.connection import XConnection
from deskgym.envs.guest.x11.damage import DamageWatch
from deskgym.envs.guest.x11.framebuffer import Framebuffer
from deskgym.envs.guest.x11.keyboard import Keyboard
from deskgym.envs.guest.x11.windows import Windows

MAX_WAIT = 60.0


class Screen:
    """One X screen, driven by XTEST.

    Args:
        loop: the event loop.
        name: the display, such as ``":0"``.
        pixels: its framebuffer, by which a repaint is told from a change; None takes every repaint for one.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str, pixels: Framebuffer | None = None) -> None:
        self.connection = XConnection(loop, name)
        self.windows = Windows(self.connection)
        self.damage = DamageWatch(self.connection, loop, pixels)
        self.keyboard = Keyboard(self.connection, self._barrier)
        self.pages: PageWatch | None = None  # where a browser's requests can be counted
        self._programs = PageWatch(Requests(), lambda: (self.windows.process(),))

    def follow(self, requests: Requests, server: int | None) -> None:
        """From now on a page counts as settled only when these are answered; ``server`` is the X server's process."""
        self.pages = PageWatch(requests, lambda: (self.windows.process(),), server)

    async def _barrier(self) -> None:
        await self.windows.pong(time.monotonic() + 1.0)

    async def events(self, events: Sequence[dict[str, Any]]) -> None:
        """Carry out input events (``INPUT_EVENTS``).

        Raises:
            DisplayLost: the X server is gone.
            ValueError: an event is none.
        """
        try:
            for event in events:
                await self._event(event)
            self.connection.display.sync()
        except (error.ConnectionClosedError, OSError) as problem:
            self.connection.close()
            raise DisplayLost(f"the X server went away: {problem}") from problem
        self.damage.input()

    async def _event(self, event: dict[str, Any]) -> None:
        display = self.connection.display
        kind = event.get("t")
        if kind == "move":
            xtest.fake_input(display, X.MotionNotify, x=int(event["x"]), y=int(event["y"]))
        elif kind in ("down", "up"):
            number = int(event["b"])
            if not 1 <= number <= 9:
                raise ValueError(f"pointer button {number}: there are 1 to 9")
            xtest.fake_input(display, X.ButtonPress if kind == "down" else X.ButtonRelease, number)
        elif kind == "scroll":
            for amount, buttons in ((int(event.get("dy", 0)), (4, 5)), (int(event.get("dx", 0)), (6, 7))):
                for _ in range(min(abs(amount), 1000)):
                    xtest.fake_input(display, X.ButtonPress, buttons[amount > 0])
                    xtest.fake_input(display, X.ButtonRelease, buttons[amount > 0])
        elif kind in ("keydown", "keyup"):
            await self.keyboard.key(event["k"], kind == "keydown")
        elif kind == "type":
            locked = bool(self.connection.root.query_pointer().mask & X.LockMask)
            if locked:  # programs turn even é into É then
                await self._caps_lock()
            await self.keyboard.type(event["s"])
            if locked:
                await self._caps_lock()
        elif kind == "wait":
            self.connection.flush()
            await asyncio.sleep(max(0.0, min(float(event["s"]), MAX_WAIT)))
        else:
            raise ValueError(f"unknown event {event!r}")

    async def _caps_lock(self) -> None:
        await self.keyboard.key("capslock", True)
        await self.keyboard.key("capslock", False)

    def sync(self) -> None:
        """Have all that the X server has sent so far.

        Raises:
            DisplayLost: the X server is gone.
        """
        try:
            self.connection.display.sync()
        except (DisplayLost, error.ConnectionClosedError, OSError):
            self.connection.close()
            self.connection.ensure()  # the agent's code may have ended our connection only

    async def settle(
        self, since: float | None, policy: SettlePolicy, on_answer: Callable[[], None] = lambda: None
    ) -> Rest:
        """Wait until the screen has settled, or the policy's cap ends the wait.

        Args:
            since: when the action began (``time.monotonic``), or None if nothing was done.
            policy: see ``SettlePolicy``.
            on_answer: called when the programs have processed the input, and what is left is to watch them paint.

        Raises:
            DisplayLost: the X server is gone.
        """
        self.damage.background.part = policy.motion
        try:
            return await self._settle(since, policy, on_answer)
        except (DisplayLost, error.ConnectionClosedError, OSError):
            self.connection.close()
            self.connection.ensure()  # the agent's code may have ended our connection only
            return await self._settle(since, policy, on_answer)

    async def _settle(self, since: float | None, policy: SettlePolicy, on_answer: Callable[[], None]) -> Rest:
        watch, connection = self.damage, self.connection
        pages = (self.pages or (self._programs if policy.rest else None)) if policy.page_cap_ms else None
        start = time.monotonic()
        end = start + policy.cap_ms / 1000
        if pages is not None:
            pages.begin(0.0 if since is None else since, policy)
        watch.watching = True
        watch.rearm()
        try:
            if not await self.windows.pong(end if pages is None else start + policy.page_cap_ms / 1000):
                return Rest(False)
            ready = time.monotonic()
            on_answer()
            while True:
                connection.pump()
                now = time.monotonic()
                changed = since is None or watch.last >= watch.last_input
                until = max(ready, watch.last) + policy.quiet_ms / 1000 if changed else ready + policy.first_ms / 1000
                if pages is not None:
                    wait = pages.hold(now)
                    if wait and now >= start + policy.page_cap_ms / 1000:
                        return Rest(False, loading=True)
                    if wait:
                        end = now + policy.cap_ms / 1000
                        await connection.next_events(now + wait)
                        continue
                if now >= until:
                    return Rest(True)
                if now >= end:
                    return Rest(False)
                await connection.next_events(min(until, end))
        finally:
            watch.watching = False

    async def release(self) -> dict[str, Any]:
        """Let go of every key and button that is held, and switch Caps Lock off."""
        display = self.connection.display
        held = [
            8 * index + bit
            for index, byte in enumerate(display.query_keymap())
            for bit in range(8)
            if byte & (1 << bit)
        ]
        for code in held:
            self.keyboard.press(code, False)
        mask = self.connection.root.query_pointer().mask
        buttons = [n for n in range(1, 6) if mask & (X.Button1Mask << (n - 1))]
        for number in buttons:
            xtest.fake_input(display, X.ButtonRelease, number)
        if mask & X.LockMask:
            await self._caps_lock()
        display.sync()
        return {"keys": len(held), "buttons": len(buttons)}
