"""What a Display is: how a screen is seen and driven."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deskgym.envs.guest.settling import SettlePolicy as SettlePolicy

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


@dataclass
class StepReport:
    """What happened to a screen while events were carried out.

    Attributes:
        settled: the screen was quiet before the cap.
        loading: the cap ended the wait for a page that was loading.
        damage: the changed area as (x, y, w, h), or None when nothing changed.
        timing: ms per phase: ``input``, ``settle``, and what else the display measures.
        extra: answers to what else was asked in the same round trip (``"code"``, ``"elements"``).
    """

    settled: bool
    damage: tuple[int, int, int, int] | None = None
    timing: dict[str, float] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
    loading: bool = False


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
