"""Actions: what an agent can do, in one form that every display, adapter and log understands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deskgym.envs.displays.base import Event
from deskgym.envs.errors import ActionError, near
from deskgym.envs.guest.x11.keys import is_key

BUTTONS = {"left": 1, "middle": 2, "right": 3, "back": 8, "forward": 9}
"""Pointer buttons by name, with X's numbers."""

VERBS = {
    "move": ("x", "y"),
    "click": ("x", "y", "button", "clicks", "keys"),
    "mouse_down": ("x", "y", "button"),
    "mouse_up": ("x", "y", "button"),
    "drag": ("x", "y", "to_x", "to_y", "button", "keys"),
    "scroll": ("x", "y", "dx", "dy", "keys"),
    "type": ("text",),
    "press": ("keys",),
    "key_down": ("keys",),
    "key_up": ("keys",),
    "hold": ("keys", "seconds"),
    "wait": ("seconds",),
    "done": (),
    "fail": (),
    "answer": ("text",),
}
"""Every verb and the arguments that it reads. ``x`` and ``y`` may be left out where the pointer shall stay."""

STOPS = ("done", "fail", "answer")
"""The verbs that end an episode."""

BETWEEN_CLICKS = 0.05
"""Seconds between the clicks of a double click; a person takes 0.1 to 0.2."""

MAX_TEXT = 4096
MAX_SECONDS = 60.0
MAX_SCROLL = 100


@dataclass(frozen=True)
class Action:
    """One thing done with mouse or keyboard, a wait, or the end of the episode.

    Attributes:
        verb: one of ``VERBS``.
        x: pointer position in screen pixels, or None for where it is.
        y: the same, downwards.
        to_x: where a drag ends.
        to_y: the same, downwards.
        button: one of ``BUTTONS``.
        clicks: 1 to 3.
        keys: for ``press`` the combination, such as ``("ctrl", "s")``; for clicks, drags and scrolls what is held.
        text: what is typed or answered, any Unicode.
        dx: wheel clicks to the right.
        dy: wheel clicks downwards.
        seconds: how long to wait or to hold.
    """

    verb: str
    x: int | None = None
    y: int | None = None
    to_x: int | None = None
    to_y: int | None = None
    button: str = "left"
    clicks: int = 1
    keys: tuple[str, ...] = ()
    text: str = ""
    dx: int = 0
    dy: int = 0
    seconds: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, with only what the verb reads: ``Action.from_dict`` is its inverse."""
        data: dict[str, Any] = {"action": self.verb}
        for name in VERBS[self.verb]:
            value = getattr(self, name)
            if value is not None:
                data[name] = list(value) if isinstance(value, tuple) else value
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Action:
        """Read the JSON form.

        Raises:
            ActionError: an unknown verb or argument, or an argument of the wrong type.
        """
        verb = data.get("action")
        if verb not in VERBS:
            raise ActionError(f"unknown action {verb!r}; legal are {', '.join(VERBS)}{near(verb, VERBS)}")
        legal = VERBS[verb]
        values: dict[str, Any] = {}
        for name, value in data.items():
            if name == "action":
                continue
            if name not in legal:
                takes = ", ".join(legal) or "no arguments"
                raise ActionError(f"action {verb!r} takes {takes}, but got {name!r}")
            values[name] = _argument(verb, name, value)
        if verb == "type" and "text" not in values:
            raise ActionError("'type' needs text: what is typed")
        return cls(verb, **values)

    def check(self, size: tuple[int, int]) -> Action:
        """Return the action if it can be carried out on a screen of this size (width, height in pixels).

        Raises:
            ActionError: a point off the screen, an unknown key or button, or a missing argument.
        """
        width, height = size
        for px, py in ((self.x, self.y), (self.to_x, self.to_y)):
            if (px is None) != (py is None):
                raise ActionError(f"{self.verb!r} needs x and y together, got x={px!r} and y={py!r}")
            if px is not None and py is not None and not (0 <= px < width and 0 <= py < height):
                raise ActionError(
                    f"{self.verb!r} at ({px}, {py}) is off the screen; legal are x in 0..{width - 1} "
                    f"and y in 0..{height - 1}"
                )
        if self.button not in BUTTONS:
            raise ActionError(f"unknown button {self.button!r}; legal are {', '.join(BUTTONS)}")
        if self.verb == "drag" and (self.to_x is None):
            raise ActionError("'drag' needs to_x and to_y")
        if self.verb in ("press", "key_down", "key_up", "hold") and not self.keys:
            raise ActionError(f"{self.verb!r} needs keys, such as ['ctrl', 's']")
        if "keys" in VERBS[self.verb]:
            for key in self.keys:
                if not is_key(key):
                    raise ActionError(
                        f"unknown key {key!r}; use a character or a name such as 'enter', 'ctrl', 'f5', 'pagedown'"
                    )
        return self

    def events(self) -> list[Event]:
        """The low-level input events, in order; none for the verbs that touch nothing."""
        return _EVENTS[self.verb](self) if self.verb in _EVENTS else []


@dataclass(frozen=True)
class RefusedAction:
    """What a wrapper gives to ``env.step`` in place of an action that it found wrong; other wrappers pass it on.

    The env treats it as it does a wrong action: it raises the error, or does nothing and tells it in the feedback.

    Attributes:
        error: what is wrong, and what is legal.
    """

    error: ActionError


_INTEGERS = {
    "x": None, "y": None, "to_x": None, "to_y": None, "clicks": (1, 3),
    "dx": (-MAX_SCROLL, MAX_SCROLL), "dy": (-MAX_SCROLL, MAX_SCROLL),
}  # fmt: skip


def _argument(verb: str, name: str, value: Any) -> Any:
    """One argument, checked and converted."""
    if name in _INTEGERS:
        return _integer(verb, name, value)
    if name == "seconds":
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ActionError(f"{verb!r} got seconds={value!r}; legal is a number from 0 to {MAX_SECONDS:g}")
        if not 0 <= value <= MAX_SECONDS:
            raise ActionError(f"{verb!r} got seconds={value!r}; legal is a number from 0 to {MAX_SECONDS:g}")
        return float(value)
    if name == "keys":
        if isinstance(value, str):
            return split_keys(value)
        if not isinstance(value, Sequence) or not all(isinstance(key, str) for key in value):
            raise ActionError(f"{verb!r} got keys={value!r}; legal is a list of key names or a text such as 'ctrl+s'")
        return tuple(key if len(key) == 1 else key.lower() for key in value)
    if not isinstance(value, str):
        raise ActionError(f"{verb!r} got {name}={value!r}; legal is a text")
    if name == "text" and len(value) > MAX_TEXT:
        raise ActionError(f"{verb!r} got a text of {len(value)} characters; legal are at most {MAX_TEXT}")
    return value


def _integer(verb: str, name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ActionError(f"{verb!r} got {name}={value!r}; legal is a whole number")
    number = round(value)
    bounds = _INTEGERS[name]
    if bounds and not bounds[0] <= number <= bounds[1]:
        raise ActionError(f"{verb!r} got {name}={value!r}; legal is {bounds[0]} to {bounds[1]}")
    return number


def split_keys(text: str) -> tuple[str, ...]:
    """``"ctrl+shift+s"`` as names; a plus sign itself is written ``"ctrl++"``."""
    parts = re.split(r"\+(?!$)", text) if text != "+" else ["+"]
    return tuple(part if len(part) == 1 else part.strip().lower() for part in parts if part)


def is_combination(text: str) -> bool:
    """Whether this names a key or a combination of keys, such as ``"enter"`` or ``"ctrl+s"``."""
    keys = split_keys(text)
    return bool(keys) and all(map(is_key, keys))


def _at(action: Action) -> list[Event]:
    return [] if action.x is None else [{"t": "move", "x": action.x, "y": action.y}]


def _held(action: Action, inner: list[Event]) -> list[Event]:
    """The events with the action's keys held down around them."""
    down: list[Event] = [{"t": "keydown", "k": key} for key in action.keys]
    up: list[Event] = [{"t": "keyup", "k": key} for key in reversed(action.keys)]
    return down + inner + up


def _click(action: Action) -> list[Event]:
    """With a pause between two clicks: without one JupyterLab's list of files missed three of six."""
    button = BUTTONS[action.button]
    presses: list[Event] = [{"t": "down", "b": button}, {"t": "up", "b": button}]
    again: list[Event] = [{"t": "wait", "s": BETWEEN_CLICKS}, *presses]
    return _at(action) + _held(action, presses + again * (action.clicks - 1))


def _drag(action: Action) -> list[Event]:
    """Press, move in eight steps so that toolkits see a drag and not a jump, release."""
    button = BUTTONS[action.button]
    path: list[Event] = []
    if action.x is not None and action.y is not None:
        assert action.to_x is not None and action.to_y is not None  # check() has seen to it
        for k in range(1, 8):
            path.append(
                {
                    "t": "move",
                    "x": action.x + round((action.to_x - action.x) * k / 8),
                    "y": action.y + round((action.to_y - action.y) * k / 8),
                }
            )
    path.append({"t": "move", "x": action.to_x, "y": action.to_y})
    return _at(action) + _held(action, [{"t": "down", "b": button}, *path, {"t": "up", "b": button}])


_EVENTS: dict[str, Callable[[Action], list[Event]]] = {
    "move": _at,
    "click": _click,
    "mouse_down": lambda a: [*_at(a), {"t": "down", "b": BUTTONS[a.button]}],
    "mouse_up": lambda a: [*_at(a), {"t": "up", "b": BUTTONS[a.button]}],
    "drag": _drag,
    "scroll": lambda a: _at(a) + _held(a, [{"t": "scroll", "dx": a.dx, "dy": a.dy}]),
    "type": lambda a: [{"t": "type", "s": a.text}],
    "press": lambda a: _held(a, []),
    "key_down": lambda a: [{"t": "keydown", "k": key} for key in a.keys],
    "key_up": lambda a: [{"t": "keyup", "k": key} for key in a.keys],
    "hold": lambda a: _held(a, [{"t": "wait", "s": a.seconds}]),
    "wait": lambda a: [{"t": "wait", "s": a.seconds}],
}


def to_pyautogui(action: Action) -> str:
    """The action as a line of Python with pyautogui, or as one of the words WAIT, DONE, FAIL, ANS.

    Examples:
        >>> to_pyautogui(Action("press", keys=("ctrl", "s")))
        "pyautogui.hotkey('ctrl', 's')"
        >>> to_pyautogui(Action("answer", text="42"))
        'ANS 42'
    """
    words = {
        "done": "DONE",
        "fail": "FAIL",
        "answer": f"ANS {action.text}",
        "wait": f"WAIT {_decimal(action.seconds)}",
    }
    if action.verb in words:
        return words[action.verb]
    at = "" if action.x is None else f"{action.x}, {action.y}"
    button = "" if action.button == "left" else f"button={action.button!r}"
    keys = ", ".join(repr(key) for key in action.keys)

    def call(name: str, *arguments: str) -> str:
        return f"pyautogui.{name}({', '.join(argument for argument in arguments if argument)})"

    if action.verb == "hold":
        lines = [call("keyDown", repr(key)) for key in action.keys] + [f"time.sleep({_decimal(action.seconds)})"]
        return "; ".join(lines + [call("keyUp", repr(key)) for key in reversed(action.keys)])
    if action.verb in ("key_down", "key_up"):
        name = "keyDown" if action.verb == "key_down" else "keyUp"
        return "; ".join(call(name, repr(key)) for key in action.keys)
    if action.verb == "press":
        return call("press" if len(action.keys) == 1 else "hotkey", keys)
    if action.verb == "type":
        return call("write", repr(action.text))
    if action.verb == "click":
        inner = call("click", at, f"clicks={action.clicks}" if action.clicks > 1 else "", button)
    elif action.verb == "drag":
        start = [call("moveTo", at)] if at else []
        drag = call("dragTo", f"{action.to_x}, {action.to_y}", button or "button='left'")
        inner = "; ".join([*start, drag])
    elif action.verb == "scroll":
        parts = [call("moveTo", at)] if at else []
        parts += [call("scroll", str(-action.dy))] if action.dy or not action.dx else []
        parts += [call("hscroll", str(action.dx))] if action.dx else []
        inner = "; ".join(parts)
    else:
        inner = call({"move": "moveTo", "mouse_down": "mouseDown", "mouse_up": "mouseUp"}[action.verb], at, button)
    down = [call("keyDown", repr(key)) for key in action.keys]
    up = [call("keyUp", repr(key)) for key in reversed(action.keys)]
    return "; ".join([*down, inner, *up])


def _decimal(seconds: float) -> str:
    """Without an exponent, which WAIT does not take."""
    return np.format_float_positional(seconds, trim="-")


def as_code(burst: Sequence[Action]) -> Iterator[str]:
    """A burst as code actions: one program, with the words WAIT, DONE, FAIL and ANS on their own."""
    lines: list[str] = []
    for action in burst:
        if action.verb in (*STOPS, "wait"):
            if lines:
                yield "\n".join(lines)
            yield to_pyautogui(action)
            lines = []
        else:
            lines.append(to_pyautogui(action))
    if lines:
        yield "\n".join(lines)


_FENCE = re.compile(r"\A\s*```(?:python|py)?[ \t]*\n?(.*?)\n?```\s*\Z", re.DOTALL)
_WORD = re.compile(r"\A(?:(DONE|FAIL)|WAIT(?:[ \t]+(\d+(?:\.\d+)?))?|ANS(?:[ \t]+(.*))?)\Z", re.DOTALL)
DEFAULT_WAIT = 5.0  # ScienceBoard's WAIT without a number


def parse_code(text: str) -> Action | str:
    r"""A code action: the words WAIT [n], DONE, FAIL and ANS s become actions, anything else is Python to run.

    One Markdown fence around the whole text is taken off. A word counts only when it stands alone, so that a program
    such as ``FAILED = 1`` stays a program.

    Raises:
        ActionError: it is not a text, or a WAIT is too long.

    Examples:
        >>> parse_code("ANS 3.5")
        Action(verb='answer', x=None, y=None, to_x=None, to_y=None, button='left', clicks=1, keys=(), text='3.5', dx=0, dy=0, seconds=1.0)
        >>> parse_code("```python\nFAILED = 1\n```")
        'FAILED = 1'
    """  # noqa: E501
    if not isinstance(text, str):
        raise ActionError(f"a code action is a text, got {type(text).__name__}")
    if fenced := _FENCE.match(text):
        text = fenced.group(1)
    word = _WORD.match(text.strip())
    if not word:
        return text
    end, wait, answer = word.groups()
    if end:
        return Action(end.lower())
    if text.strip().startswith("WAIT"):
        seconds = _argument("wait", "seconds", float(wait)) if wait else DEFAULT_WAIT
        return Action("wait", seconds=seconds)
    return Action("answer", text=(answer or "").strip())
