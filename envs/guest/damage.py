"""What changes on the screen, and when it is quiet.

What is painted anew and looks as before is no change. Small areas that also change while nobody does anything (a
blinking caret, a clock, a spinner) are learned, and do not hold up the settling.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any

from Xlib.ext import damage

from .framebuffer import Box, Framebuffer, union
from .xconnection import XConnection

IDLE_AFTER = 0.15
"""Seconds after the last input from which on what changes is taken for a thing that changes by itself."""

GRACE = 0.04
"""Seconds after the last input in which even such a thing counts: a click on it may be what changed it."""

SMALL = 0.01
"""The part of the screen that such a thing may cover at most."""

MEMORY = 32
FORGET = 30.0


@dataclass
class _Ambient:
    box: Box
    count: int
    last: float


class DamageWatch:
    """Follows XDamage on the root window.

    Attributes:
        last: when the last change that counts happened (``time.monotonic``).
        changed: the box of all that changed since it was last taken, or None.
    """

    def __init__(
        self, connection: XConnection, loop: asyncio.AbstractEventLoop, pixels: Framebuffer | None = None
    ) -> None:
        self.last = 0.0
        self.changed: Box | None = None
        self.watching = False
        self._x, self._loop, self._pixels = connection, loop, pixels
        self._last_input = 0.0
        self._ambient: list[_Ambient] = []
        self._small = SMALL * connection.size[0] * connection.size[1]
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

    def take(self) -> Box | None:
        """The box of what changed since the last call."""
        box, self.changed = self.changed, None
        return box

    def _on_damage(self, event: Any) -> None:
        if not self._rearming:  # only what is new is reported until the reported area is subtracted
            self._rearming = True
            self._loop.call_later(0.0 if self.watching else 0.02, self.rearm)
        area = event.area
        painted = (area.x, area.y, area.x + area.width, area.y + area.height)
        box = painted if self._pixels is None else self._pixels.changed(painted)
        if box is None:
            return
        now = time.monotonic()
        self.changed = box if self.changed is None else union(self.changed, box)
        since_input = now - self._last_input
        if since_input > IDLE_AFTER:
            self._learn(box, now)
        if since_input < GRACE or not self.is_ambient(box):
            self.last = now

    def rearm(self) -> None:
        """Let what was reported be reported again when it changes again."""
        self._rearming = False
        if not self._x.broken:
            self._x.display.damage_subtract(self._damage)
            self._x.flush()

    def is_ambient(self, box: Box) -> bool:
        """Whether a change of this box is a thing that changes by itself."""
        return any(known.count >= 2 and inside(box, known.box) for known in self._ambient)

    def _learn(self, box: Box, now: float) -> None:
        if area_of(box) > self._small:
            return
        for known in self._ambient:
            if overlap(box, known.box) and area_of(whole := union(box, known.box)) <= self._small:
                if now - known.last > 0.01:
                    known.count += 1
                known.box, known.last = whole, now
                return
        self._ambient = [known for known in self._ambient if now - known.last < FORGET][-MEMORY + 1 :]
        self._ambient.append(_Ambient(box, 1, now))


def overlap(a: Box, b: Box) -> bool:
    """Whether they have a pixel in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def inside(a: Box, b: Box) -> bool:
    """Whether ``a`` lies in ``b``, give or take a pixel."""
    return a[0] >= b[0] - 1 and a[1] >= b[1] - 1 and a[2] <= b[2] + 1 and a[3] <= b[3] + 1


def area_of(box: Box) -> int:
    """Its size in pixels."""
    return (box[2] - box[0]) * (box[3] - box[1])
