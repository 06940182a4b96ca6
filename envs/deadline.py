"""Deadlines of what programs in a machine do: a slow machine's come later."""

from __future__ import annotations

import time


class Deadline:
    """A moment by which something is to have happened in a machine.

    Args:
        seconds: how long it may take in a machine as fast as its host.
        slowness: how many times slower this one is, see ``Machine.slowness``.
    """

    def __init__(self, seconds: float, slowness: float = 1.0) -> None:
        self._slowness = slowness
        self._end = time.monotonic() + seconds * slowness

    @property
    def left(self) -> float:
        """What is left, in the seconds of a machine as fast as its host; at least 0."""
        return max(0.0, self._end - time.monotonic()) / self._slowness

    @property
    def over(self) -> bool:
        """Whether the moment has passed."""
        return time.monotonic() > self._end
