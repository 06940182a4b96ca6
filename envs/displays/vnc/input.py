"""Input events as RFB's key and pointer messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deskgym.envs.displays.base import INPUT_EVENTS, Event
from deskgym.envs.displays.vnc.protocol import FrameClient
from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.guest.x11.keyboard import typeable
from deskgym.envs.guest.x11.keys import character_keysym, keysym

BUTTONS = 8
"""RFB has a bit for each of so many pointer buttons; 4 to 7 are the wheel."""

MAX_WAIT = 60.0
MAX_CLICKS = 1000
_SHIFT, _CAPS_LOCK = keysym("shift"), keysym("capslock")
_SHIFTED = frozenset('ABCDEFGHIJKLMNOPQRSTUVWXYZ~!@#$%^&*()_+{}|:"<>?')
"""What a viewer's user presses Shift for, on the US keyboard that servers without a keymap take for given."""


class VncInput:
    """Keyboard and pointer of one connection.

    Args:
        client: where the messages go.
        wait: lets seconds pass.

    Attributes:
        x: where the pointer was put last, in pixels from the left.
        y: where it was put last, in pixels from the top.
    """

    def __init__(self, client: FrameClient, wait: Callable[[float], None]) -> None:
        self.x = self.y = 0
        self._client, self._wait = client, wait
        self._buttons = 0
        self._held: dict[int, None] = {}
        self._caps = False  # our own doing: what the lock was before is not told by RFB

    def check(self, events: Sequence[Event]) -> None:
        """See that all of it can be done, before any of it is.

        Raises:
            GuestCallError: an event makes no sense.
            MachineError: RFB has no way to say it.
        """
        for event in events:
            try:
                self._check(event)
            except (KeyError, TypeError, ValueError) as error:
                raise GuestCallError(f"the event {event!r} makes no sense: {error}", type(error).__name__) from error

    def _check(self, event: Event) -> None:
        kind = event.get("t")
        if kind not in INPUT_EVENTS:
            raise ValueError(f"legal are {', '.join(INPUT_EVENTS)}")
        if kind in ("down", "up"):
            number = int(event["b"])
            if not 1 <= number <= 9:
                raise ValueError("there are buttons 1 to 9")
            if number > BUTTONS:
                raise MachineError(
                    f"pointer button {number} cannot be pressed over VNC, which has {BUTTONS}; a guest in the desktop "
                    "can: machine_options={'guest': ...}",
                    "unsupported",
                )
        elif kind in ("keydown", "keyup"):
            if not keysym(event["k"]):
                raise ValueError(f"unknown key {event['k']!r}")
        elif kind == "move":
            int(event["x"]), int(event["y"])
        elif kind == "scroll":
            int(event.get("dx", 0)), int(event.get("dy", 0))
        elif kind == "wait":
            float(event["s"])
        elif not isinstance(event["s"], str):
            raise TypeError("it types a text")

    def send(self, event: Event) -> None:
        """Carry out one event that was checked."""
        kind = event["t"]
        if kind == "move":
            width, height = self._client.screen_size
            self.x, self.y = (min(max(int(event[c]), 0), n - 1) for c, n in (("x", width), ("y", height)))
            self._point()
        elif kind in ("down", "up"):
            self._button(int(event["b"]), kind == "down")
        elif kind == "scroll":
            for amount, buttons in ((int(event.get("dy", 0)), (4, 5)), (int(event.get("dx", 0)), (6, 7))):
                for _ in range(min(abs(amount), MAX_CLICKS)):
                    self._button(buttons[amount > 0], True)
                    self._button(buttons[amount > 0], False)
        elif kind in ("keydown", "keyup"):
            self._named_key(event["k"], kind == "keydown")
        elif kind == "type":
            self._type(event["s"])
        elif kind == "wait":
            self._wait(max(0.0, min(float(event["s"]), MAX_WAIT)))

    def follow(self, events: Sequence[Event]) -> None:
        """Note where the pointer goes when somebody else carries out these events."""
        for event in events:
            if event.get("t") == "move":
                self.x, self.y = int(event["x"]), int(event["y"])

    def release(self) -> None:
        """Let go of every key and button that is held, and of Caps Lock."""
        for symbol in list(self._held):
            self._key(symbol, False)
        if self._buttons:
            self._buttons = 0
            self._point()
        if self._caps:
            self._tap(_CAPS_LOCK)

    def _point(self) -> None:
        self._client.pointerEvent(self.x, self.y, self._buttons)

    def _button(self, number: int, down: bool) -> None:
        bit = 1 << (number - 1)
        self._buttons = self._buttons | bit if down else self._buttons & ~bit
        self._point()

    def _named_key(self, name: str, down: bool) -> None:
        self._key(keysym(name), down, shifted=down and name in _SHIFTED)

    def _type(self, text: str) -> None:
        locked = self._caps
        if locked:
            self._tap(_CAPS_LOCK)
        for character in text.replace("\r\n", "\n"):
            if typeable(character):
                self._tap(character_keysym(character), character in _SHIFTED)
        if locked:
            self._tap(_CAPS_LOCK)

    def _tap(self, symbol: int, shifted: bool = False) -> None:
        if shifted := shifted and _SHIFT not in self._held:
            self._key(_SHIFT, True)
        self._key(symbol, True)
        self._key(symbol, False)
        if shifted:
            self._key(_SHIFT, False)

    def _key(self, symbol: int, down: bool, shifted: bool = False) -> None:
        if shifted := shifted and _SHIFT not in self._held:
            self._client.keyEvent(_SHIFT, True)
        self._client.keyEvent(symbol, down)
        if shifted:
            self._client.keyEvent(_SHIFT, False)
        if down:
            self._held[symbol] = None
            self._caps ^= symbol == _CAPS_LOCK
        else:
            self._held.pop(symbol, None)
