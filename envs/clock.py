"""A stopwatch for the phases of a reset or a step."""

from __future__ import annotations

import time


class Clock:
    """Adds up the time of phases, in ms.

    Attributes:
        timing: ms by phase.
    """

    def __init__(self) -> None:
        self.timing: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Count the time since the last lap, or since the start, to a phase."""
        now = time.perf_counter()
        self.timing[name] = self.timing.get(name, 0.0) + (now - self._last) * 1000
        self._last = now
