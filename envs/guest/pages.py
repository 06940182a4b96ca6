"""When a web page has loaded: no request is in flight, and the browser has nothing left to do.

Pixels do not tell: a click repaints a focus ring, and then the screen is quiet until the answer comes. So after input
the programs of the windows in question must come to rest (their processor time stands still and none of their threads
waits for a processor), which takes as long as the browser needs to send its request; then the requests in flight are
waited for; then the programs must come to rest again, which is when the new page has been laid out and painted.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable

from deskgym.envs.guest.process_table import process_table
from deskgym.envs.guest.requests import Requests
from deskgym.envs.guest.settling import SettlePolicy

POLL = 0.004
"""Seconds between two looks at processor times: one costs 30 µs for a browser."""
AT_REST = 0.04
"""The share of a processor that programs at rest may use: timers fire, and a browser animates its own tabs."""
_LISTING = 0.05  # seconds after which new processes are looked for


class PageWatch:
    """Tells whether a page is loading.

    Args:
        requests: those of the desktop to its companions.
        programs: the processes whose windows the input went to.
        server: the X server's process, where it is ours: a program may wait for it.
    """

    def __init__(self, requests: Requests, programs: Callable[[], Iterable[int]], server: int | None = None) -> None:
        self._requests, self._programs = requests, programs
        self._aides = set() if server is None else {server}
        self._rest = AT_REST
        self._seen: deque[tuple[float, float]] = deque()

    def begin(self, since: float, policy: SettlePolicy) -> None:
        """A wait begins; requests that began before ``since`` were not brought about by what is waited for."""
        self.policy, self._since = policy, since
        self._ready = self._last_request = 0.0
        self._changed = since
        self._found: dict[int, float] = {}
        self._listed = 0.0
        self._seen.clear()
        self._peak = 0.0

    def hold(self, now: float) -> float:
        """Seconds after which to look again, or 0 when the page has loaded."""
        if self._ready == 0.0:
            self._ready = now
        requests, policy = self._requests, self.policy
        if requests.in_flight(self._since, policy.page_cap_ms / 1000, policy.stream_ms / 1000):
            self._last_request = now
            self._rest = AT_REST
            self._seen.clear()
            return POLL
        if requests.last_change > self._changed:  # one so short that it was never seen in flight, or one that will come
            self._changed = requests.last_change
            self._last_request = max(self._last_request, requests.last_end)
            self._seen.clear()
        window = policy.painted_ms if self._last_request else policy.idle_ms
        if self._at_rest(now, window / 1000):
            return 0.0
        if now - max(self._ready, self._last_request) >= policy.busy_ms / 1000:
            if not self._last_request:
                self._rest = 1.2 * self._peak  # an animation: from now on this is what rest looks like
            return 0.0
        return POLL

    def _at_rest(self, now: float, window: float) -> bool:
        seen = self._seen
        seen.append((now, self._processor_time(now)))
        if now - seen[0][0] < window:
            return False
        while len(seen) > 1 and now - seen[1][0] >= window:
            seen.popleft()
        length, used = now - seen[0][0], seen[-1][1] - seen[0][1]
        if now - self._ready > self.policy.busy_ms / 2000:
            self._peak = max(self._peak, used / length)
        return used <= self._rest * length and (self._rest > AT_REST or not _any_runnable((*self._found, *self._aides)))

    def _processor_time(self, now: float) -> float:
        """Seconds that the programs have used in all; one that starts or ends meanwhile adds what it used."""
        if now - self._listed > _LISTING:
            self._listed = now
            for pid in family(self._programs()):
                if pid in self._found or pid in self._aides:
                    continue
                if _draws(pid):
                    self._aides.add(pid)
                else:
                    self._found[pid] = 0.0
        for pid in self._found:
            try:
                self._found[pid] = time.clock_gettime((~pid << 3) | 2)  # the processor clock of a whole process
            except OSError:
                continue  # it has ended
        return sum(self._found.values())


def family(roots: Iterable[int]) -> set[int]:
    """These processes and all that descend from them."""
    found = set(roots) - {0}
    table = [(seen.pid, seen.parent) for seen in process_table()]
    while more := {pid for pid, parent in table if parent in found} - found:
        found |= more
    return found


def _draws(pid: int) -> bool:
    """Whether it is a browser's process that only draws what others have laid out: it also draws each animation."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"--type=gpu-process" in file.read()
    except OSError:
        return False


def _any_runnable(pids: Iterable[int]) -> bool:
    """Whether a thread of these runs, waits for a processor, or for a disk."""
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                    if file.read().rpartition(b")")[2].split(None, 1)[0] in (b"R", b"D"):
                        return True
        except OSError:
            continue
    return False
