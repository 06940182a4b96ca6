"""What changes on the screen, and when it is quiet.

What is painted anew and looks as before is no change. Small areas that also change while nobody does anything (a
blinking caret, a clock, a spinner) are learned, and do not hold up the settling.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from Xlib.ext import damage

from deskgym.envs.guest.x11.background_motion import BackgroundMotion
from deskgym.envs.guest.x11.boxes import Box, added, around
from deskgym.envs.guest.x11.connection import XConnection
from deskgym.envs.guest.x11.framebuffer import Framebuffer


class DamageWatch:
    """Follows XDamage on the root window.

    Attributes:
        last: when the last change that counts happened (``time.monotonic``).
        changed: the box of all that changed since it was last taken, or None.
        background: what changes by itself.
    """

    def __init__(
        self, connection: XConnection, loop: asyncio.AbstractEventLoop, pixels: Framebuffer | None = None
    ) -> None:
        self.last = 0.0
        self.changed: tuple[Box, ...] = ()
        self.watching = False
        self._x, self._loop, self._pixels = connection, loop, pixels
        self._last_input = 0.0
        self.background = BackgroundMotion(connection.size)
        self._rearming = False
        connection.on_connect(self._setup)
        connection.on(connection.display.extension_event.DamageNotify, self._on_damage)

    def _setup(self) -> None:
        self._x.display.damage_query_version()
        self._damage = self._x.root.damage_create(damage.DamageReportDeltaRectangles)
        self._rearming = False

    def input(self) -> None:
        """Note that input happens now."""
        self._last_input = time.monotonic()

    @property
    def last_input(self) -> float:
        """When the last input happened."""
        return self._last_input

    def take(self) -> tuple[Box, ...]:
        """The boxes of what changed since the last call."""
        boxes, self.changed = self.changed, ()
        return boxes

    def _on_damage(self, event: Any) -> None:
        if not self._rearming:  # only what is new is reported until the reported area is subtracted
            self._rearming = True
            self._loop.call_later(0.0 if self.watching else 0.02, self.rearm)
        area = event.area
        painted = (area.x, area.y, area.x + area.width, area.y + area.height)
        boxes = [painted] if self._pixels is None else self._pixels.changed(painted)
        box = around(boxes)
        if box is None:
            return
        now = time.monotonic()
        self.changed = added(self.changed, boxes)
        if self.background.counts(box, now, now - self._last_input):
            self.last = now

    def rearm(self) -> None:
        """Let what was reported be reported again when it changes again."""
        self._rearming = False
        if not self._x.broken:
            self._x.display.damage_subtract(self._damage)
            self._x.flush()
