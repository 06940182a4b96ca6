"""What on a screen changes by itself: a blinking caret, a clock, a spinner."""

from __future__ import annotations

from dataclasses import dataclass

from deskgym.envs.guest.x11.boxes import Box, area_of, inside, overlap, union

IDLE_AFTER = 0.15
"""Seconds after the last input from which on what changes is taken for a thing that changes by itself."""

GRACE = 0.04
"""Seconds after the last input in which even such a thing counts: a click on it may be what changed it."""

MEMORY = 32
FORGET = 30.0


@dataclass
class _Thing:
    box: Box
    count: int
    last: float


class BackgroundMotion:
    """Learns the places of such things from changes that no input has brought about.

    Args:
        size: width and height of the screen in pixels.

    Attributes:
        part: the part of the screen that such a thing may cover at most.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self.part = 0.01
        self._pixels = size[0] * size[1]
        self._things: list[_Thing] = []

    def counts(self, box: Box, now: float, since_input: float) -> bool:
        """Take in a change; whether it is one that the settling has to wait for.

        Args:
            box: where it was.
            now: when it was, in seconds.
            since_input: seconds after the last input.
        """
        if since_input > IDLE_AFTER:
            self._learn(box, now)
        return since_input < GRACE or not self.knows(box)

    def knows(self, box: Box) -> bool:
        """Whether a change of this box is a thing that changes by itself."""
        return any(known.count >= 2 and inside(box, known.box) for known in self._things)

    def _learn(self, box: Box, now: float) -> None:
        small = self.part * self._pixels
        if area_of(box) > small:
            return
        for known in self._things:
            if overlap(box, known.box) and area_of(whole := union(box, known.box)) <= small:
                if now - known.last > 0.01:
                    known.count += 1
                known.box, known.last = whole, now
                return
        self._things = [known for known in self._things if now - known.last < FORGET][-MEMORY + 1 :]
        self._things.append(_Thing(box, 1, now))
