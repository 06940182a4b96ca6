"""What a Display is: how a screen is seen and driven."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Event = dict[str, Any]
"""One low-level input event, JSON-able; see ``INPUT_EVENTS``."""

INPUT_EVENTS = {
    "move": "{'t': 'move', 'x': int, 'y': int}: put the pointer there",
    "down": "{'t': 'down', 'b': 1..9}: press a pointer button (1 left, 2 middle, 3 right, 8 back, 9 forward)",
    "up": "{'t': 'up', 'b': 1..9}: release it",
    "scroll": "{'t': 'scroll', 'dx': int, 'dy': int}: wheel clicks, right and down positive",
    "keydown": "{'t': 'keydown', 'k': str}: press a key by name (see deskgym.envs.action.actions.KEYS)",
    "keyup": "{'t': 'keyup', 'k': str}: release it",
    "type": "{'t': 'type', 's': str}: type any Unicode text; newline is Return, tab is Tab",
    "wait": "{'t': 'wait', 's': float}: let time pass between events, in seconds",
}


@dataclass(frozen=True)
class SettlePolicy:
    """When the screen counts as settled after an action.

    After the last input event the active window is asked for a sign of life (``_NET_WM_PING``: answered once it has
    processed what came before), then the screen must be quiet for ``quiet_ms``. What is painted anew and looks as
    before is no change, nor are small areas that change without any input too (a blinking caret, a clock). ``cap_ms``
    ends the wait in any case.

    Attributes:
        quiet_ms: how long nothing may change after the last change, in ms.
        first_ms: how long a first change is waited for, in ms: programs answer before they paint, up to a frame later.
        cap_ms: the longest wait, in ms.
    """

    quiet_ms: float = 10.0
    first_ms: float = 20.0
    cap_ms: float = 500.0

    def times(self, slowness: float) -> SettlePolicy:
        """The same for a machine that is so many times slower, see ``Machine.slowness``.

        What a program does before it answers is waited for in any case, so the rest grows no more than tenfold.
        """
        rest = min(slowness, 10.0)
        return SettlePolicy(self.quiet_ms * rest, self.first_ms * rest, self.cap_ms * slowness)


@dataclass
class StepReport:
    """What happened to a screen while events were carried out.

    Attributes:
        settled: the screen was quiet before the cap.
        damage: the changed area as (x, y, w, h), or None when nothing changed.
        timing: ms per phase: ``input``, ``settle``, and what else the display measures.
        extra: answers to what else was asked in the same round trip (``"code"``, ``"elements"``).
    """

    settled: bool
    damage: tuple[int, int, int, int] | None = None
    timing: dict[str, float] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)


class Display(ABC):
    """A screen that can be seen and driven. It belongs to its Machine, which starts and stops it."""

    size: tuple[int, int]  # width, height in pixels

    @abstractmethod
    def capture(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The screen now, with the mouse pointer: uint8 (height, width, 3) RGB; written into ``out`` if given."""

    @abstractmethod
    def perform(self, events: Sequence[Event], settle: SettlePolicy | None = None, **requests: Any) -> StepReport:
        """Carry out events, wait until the screen has settled, and answer ``requests``, all in one round trip.

        Args:
            events: input events in order.
            settle: None returns without waiting.
            requests: what the guest shall do in the same round trip: ``code={...}`` runs between the events and the
                settling, ``elements={...}`` reads the accessible elements after it.
        """
