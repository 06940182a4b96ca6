"""What one step asks of a desktop, in one round trip, and what comes back. Host and guest share these types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deskgym.envs.guest.settling import SettlePolicy

Event = dict[str, Any]
"""One low-level input event, JSON-able; see ``INPUT_EVENTS``."""

INPUT_EVENTS = {
    "move": "{'t': 'move', 'x': int, 'y': int}: put the pointer there",
    "down": "{'t': 'down', 'b': 1..9}: press a pointer button (1 left, 2 middle, 3 right, 8 back, 9 forward)",
    "up": "{'t': 'up', 'b': 1..9}: release it",
    "scroll": "{'t': 'scroll', 'dx': int, 'dy': int}: wheel clicks, right and down positive",
    "keydown": "{'t': 'keydown', 'k': str}: press a key by name (see deskgym.envs.guest.x11.keys)",
    "keyup": "{'t': 'keyup', 'k': str}: release it",
    "type": "{'t': 'type', 's': str}: type any Unicode text; newline is Return, tab is Tab",
    "wait": "{'t': 'wait', 's': float}: let time pass between events, in seconds",
}


ELEMENT_DEADLINE = 0.5
"""Seconds that a reading of the accessible elements may take where nothing else is said."""


@dataclass(frozen=True)
class CodeRequest:
    """Code to run after the events.

    Attributes:
        text: a Python program.
        timeout: seconds until it is killed.
        output_limit: most bytes of each of its outputs.
    """

    text: str
    timeout: float = 30.0
    output_limit: int = 1 << 16


@dataclass(frozen=True)
class ElementsRequest:
    """A reading of the accessible elements, once the screen has settled.

    Attributes:
        limit: most rows.
        deadline: seconds until what is there is returned; None takes the machine's own.
        fresh: read all again, whatever has changed.
    """

    limit: int = 4096
    deadline: float | None = None
    fresh: bool = False


@dataclass(frozen=True)
class StepRequest:
    """What a display shall do in one round trip, in this order.

    Attributes:
        events: input.
        code: a program to run.
        settle: when the screen counts as settled; None does not wait.
        elements: a reading of the accessible elements.
    """

    events: Sequence[Event] = ()
    settle: SettlePolicy | None = None
    code: CodeRequest | None = None
    elements: ElementsRequest | None = None

    def message(self) -> dict[str, Any]:
        """As a message's parameters: plain values, without what is not asked for."""
        parts = {"settle": self.settle, "code": self.code, "elements": self.elements}
        asked = {name: dict(vars(part)) for name, part in parts.items() if part is not None}
        return {"events": list(self.events), **asked}

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> StepRequest:
        """The inverse of ``message``. Raises TypeError for what is none."""
        kinds = {"settle": SettlePolicy, "code": CodeRequest, "elements": ElementsRequest}
        return cls(**{name: kinds[name](**value) if name in kinds else value for name, value in message.items()})


@dataclass(frozen=True)
class CodeResult:
    """What came of code.

    Attributes:
        stdout: what it printed.
        stderr: what it wrote there, a traceback among it.
        status: its exit status; minus the number of a signal.
        timed_out: it was killed at its time limit.
        truncated: its output was cut.
    """

    stdout: str = ""
    stderr: str = ""
    status: int = 0
    timed_out: bool = False
    truncated: bool = False


@dataclass(frozen=True)
class ElementsReading:
    """The accessible elements as the guest read them.

    Attributes:
        rows: little-endian int32, ``deskgym.envs.guest.protocol.ELEMENT_COLUMNS`` each.
        texts: per row (role, name, text or value, reference).
        complete: nothing was cut.
        cut: why rows may be missing, or None.
    """

    rows: bytes
    texts: Sequence[Sequence[str]]
    complete: bool = True
    cut: str | None = None


@dataclass
class StepReport:
    """What happened to a screen in a step.

    Attributes:
        settled: the screen was quiet before the cap.
        loading: the cap ended the wait for a page that was loading.
        damage: the changed area as (x, y, w, h), or None when nothing changed.
        timing: ms per phase: ``input``, ``settle``, and what else the display measures.
        code: what came of the code, where some was asked for.
        elements: the reading, where one was asked for.
    """

    settled: bool
    damage: tuple[int, int, int, int] | None = None
    timing: dict[str, float] = field(default_factory=dict)
    loading: bool = False
    code: CodeResult | None = None
    elements: ElementsReading | None = None
