"""Readings between steps: once trees have followed their pixels, a step need not read again what changed before it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from deskgym.envs.guest.accessibility.recent import FOLLOWS, HEARD

TIMES = (FOLLOWS + 0.05, 2.0, HEARD + 0.1)
"""Seconds after a step's reading at which another one may follow: while no step comes, and something is unread."""


class Following:
    """Reads what is left to read while nobody asks.

    Args:
        read: one reading.
        behind: whether something is left to read.
        times: seconds after a step's reading.
    """

    def __init__(
        self, read: Callable[[], Coroutine[Any, Any, None]], behind: Callable[[], bool], times: Sequence[float] = TIMES
    ) -> None:
        self._read, self._behind, self._times = read, behind, times
        self._timers: list[asyncio.TimerHandle] = []
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """A step's reading has ended."""
        self.stop()
        if self._behind():
            loop = asyncio.get_running_loop()
            self._timers = [loop.call_later(seconds, self._follow) for seconds in self._times]

    def stop(self) -> None:
        """Another one begins, or the last one is over; what is being read is left to end."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _follow(self) -> None:
        if self._behind() and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._read())
