"""When a screen counts as settled after an action."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

Ms = Annotated[float, (0, None)]
"""A time in ms, and what is legal: from 0 up."""


@dataclass(frozen=True)
class SettlePolicy:
    """When the screen counts as settled after an action.

    After the last input event the active window is asked for a sign of life (``_NET_WM_PING``: answered once it has
    processed what came before), then the screen must be quiet for ``quiet_ms``. What is painted anew and looks as
    before is no change, nor are small areas that change without any input too (a blinking caret, a clock). ``cap_ms``
    ends the wait in any case.

    Where a service runs beside the desktop, a page that is loading has not settled. After input the programs of the
    windows that it went to must come to rest (they use no processor time): by then a browser has sent its request. The
    requests in flight are waited for, then the programs must come to rest again, which is when they have painted.
    ``page_cap_ms`` ends that wait in any case. See ``docs/settling.md``. With ``rest`` the same holds without a
    service.

    Attributes:
        quiet_ms: how long nothing may change after the last change, in ms.
        first_ms: how long a first change is waited for, in ms: programs answer before they paint, up to a frame later.
        cap_ms: the longest wait, in ms; with a page it counts from when that has loaded.
        motion: the part of the screen that a thing may cover that changes without any input, and so does not count:
            0.01 for a caret or a clock, 1 for a program that never rests, such as a planetarium.
        page_cap_ms: the longest wait for a page, in ms; 0 does not wait for pages.
        rest: programs must come to rest in any case: what they still compute or save is waited for.
        idle_ms: how long the programs must be at rest after input, in ms.
        painted_ms: how long they must be at rest after a request, in ms.
        busy_ms: how long it is waited for that they come to rest, in ms: some pages never do.
        stream_ms: what a page asks for besides documents does not count when it takes longer, in ms (a long poll). Web
            sockets, events from the server, and what was asked for before the action never count.
    """

    quiet_ms: Ms = 10.0
    first_ms: Ms = 20.0
    cap_ms: Ms = 500.0
    motion: Annotated[float, (0, 1)] = 0.01
    page_cap_ms: Ms = 5000.0
    idle_ms: Ms = 20.0
    painted_ms: Ms = 50.0
    busy_ms: Ms = 1000.0
    stream_ms: Ms = 1500.0
    rest: bool = False

    def times(self, slowness: float) -> SettlePolicy:
        """The same for a machine that is so many times slower, see ``Machine.slowness``.

        What a program does before it answers is waited for in any case, so the rest grows no more than tenfold.
        """
        rest = min(slowness, 10.0)
        return replace(
            self,
            quiet_ms=self.quiet_ms * rest,
            first_ms=self.first_ms * rest,
            cap_ms=self.cap_ms * slowness,
            page_cap_ms=self.page_cap_ms * slowness,
            idle_ms=self.idle_ms * rest,
            painted_ms=self.painted_ms * rest,
            busy_ms=self.busy_ms * rest,
            stream_ms=self.stream_ms * rest,
        )


class Rest(NamedTuple):
    """How a wait ended.

    Attributes:
        settled: the screen has settled; else a cap ended the wait.
        loading: what it still waited for was a page.
    """

    settled: bool
    loading: bool = False
