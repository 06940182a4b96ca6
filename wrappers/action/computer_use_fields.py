"""Reading what a model's computer tool was called with: frames, fields, key names, JSON; and pictures the other way."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from deskgym.envs.action.actions import MAX_SECONDS, MAX_TEXT
from deskgym.envs.errors import ActionError, near
from deskgym.envs.guest.x11.keys import KEYS, is_key, keysym
from deskgym.wrappers.action.coordinates import Frame

Point = tuple[int, int]
Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class View:
    """The display that the model is told of, on the real screen.

    Attributes:
        display: its width and height in pixels.
        frames: the frames that a point of it goes through, inwards to the screen.

    Examples:
        >>> view = View((10, 10), [Frame((10, 10), (0, 0, 40, 20))])
        >>> view.to_screen(3, 9), view.to_display(14, 19)
        ((14, 19), (3, 9))
    """

    display: Point
    frames: Sequence[Frame]

    def to_screen(self, x: int, y: int) -> Point:
        """The screen's pixel under the middle of the display's."""
        for frame in self.frames:
            x, y = frame.inward(x, y)
        return x, y

    def to_display(self, x: int, y: int) -> Point:
        """The display's pixel over the screen's, which need not be on the display."""
        for frame in reversed(self.frames):
            x, y = (int(number) for number in frame.outward(x, y))
        return x, y


@dataclass(frozen=True)
class Fields:
    """The fields of one vendor action, read with errors that name verb, field and what is legal.

    Attributes:
        verb: what the action does.
        data: its fields, the verb left out.
        view: what its points are in.
    """

    verb: str
    data: Mapping[str, Any]
    view: View

    @classmethod
    def of(cls, action: Any, key: str, schema: Mapping[str, str], view: View) -> Fields:
        """Check which fields there are.

        Args:
            action: the vendor action.
            key: the field that holds the verb.
            schema: the fields of each verb, such as ``"x y button?"``; the optional ones end in a question mark.
            view: what its points are in.

        Raises:
            ActionError: it is no mapping, the verb is unknown, or a field is unknown or missing.
        """
        if not isinstance(action, Mapping):
            raise ActionError(f"an action is a dict with {key!r}, got {type(action).__name__} {str(action)[:80]!r}")
        verb = action.get(key)
        if not isinstance(verb, str) or verb not in schema:
            raise ActionError(f"unknown {key} {verb!r}; legal are {', '.join(schema)}{near(verb, schema)}")
        legal = {name.rstrip("?"): not name.endswith("?") for name in schema[verb].split()}
        data = {name: value for name, value in action.items() if name != key}
        takes = schema[verb].replace(" ", ", ") or "no fields"
        for name in data:
            if name not in legal:
                raise ActionError(f"{verb!r} takes {takes}; got {name!r}{near(name, legal)}")
        for name, needed in legal.items():
            if needed and name not in data:
                raise ActionError(f"{verb!r} takes {takes}; {name!r} is missing")
        return cls(verb, data, view)

    def wrong(self, name: str, legal: str) -> ActionError:
        """The error of a field whose value is not legal."""
        return ActionError(f"{self.verb!r} got {name}={str(self.data.get(name))[:80]}; legal is {legal}")

    def number(self, name: str, low: float, high: float, default: float = 0.0) -> float:
        """A finite number from ``low`` to ``high``."""
        value = self.data.get(name, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise self.wrong(name, f"a number from {low:g} to {high:g}")
        return float(value)

    def choice(self, name: str, legal: Mapping[str, Any], default: str) -> Any:
        """What ``legal`` has for the field's word."""
        value = self.data.get(name, default)
        if not isinstance(value, str) or value not in legal:
            raise self.wrong(name, " or ".join(legal))
        return legal[value]

    def text(self, name: str = "text") -> str:
        """A text that is not too long."""
        value = self.data.get(name, "")
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise self.wrong(name, f"a text of at most {MAX_TEXT} characters")
        return value

    def seconds(self, name: str) -> float:
        """A time."""
        return self.number(name, 0, MAX_SECONDS)

    def keys(self, name: str) -> tuple[str, ...]:
        """The names of keys that go down together, from a list of names or a text such as ``"ctrl+s"``."""
        value = self.data.get(name, [])
        names = [value] if isinstance(value, str) else value
        if not isinstance(names, list) or not all(isinstance(part, str) for part in names):
            raise self.wrong(name, "key names")
        return self.names(name, names)

    def names(self, name: str, names: Sequence[str]) -> tuple[str, ...]:
        """Checked names of keys, read from the field ``name``."""
        keys = key_names(names)
        for key in keys:
            if not is_key(key):
                raise self.wrong(name, f"key names, and {key!r} is none{near(key.lower(), KEYS)}")
        return keys

    def point(self, name: str, x: Any, y: Any) -> Point:
        """A pixel of the display, as one of the screen."""
        for value, size in zip((x, y), self.view.display, strict=True):
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < size:
                width, height = self.view.display
                raise ActionError(
                    f"{self.verb!r} got {name}=({str(x)[:20]}, {str(y)[:20]}); legal are x from 0 to {width - 1} and "
                    f"y from 0 to {height - 1}"
                )
        return self.view.to_screen(int(x), int(y))

    def pair(self, name: str) -> Point | tuple[None, None]:
        """A point given as ``[x, y]``; (None, None) where it is not given."""
        value = self.data.get(name)
        if value is None:
            return None, None
        if not isinstance(value, list) or len(value) != 2:
            raise self.wrong(name, "[x, y]")
        return self.point(name, *value)


def key_names(names: Sequence[str]) -> tuple[str, ...]:
    """Key names of either vendor, xdotool's and X's own too, as ``Action.keys`` writes them.

    A letter together with other keys is the key itself, in upper case too.

    Examples:
        >>> key_names(["CTRL", "S"]), key_names(["ctrl++"]), key_names(["KP_0"]), key_names(["Super_L+bracketleft"])
        (('ctrl', 's'), ('ctrl', '+'), ('num0',), ('win', '['))
    """
    parts = [part for name in names for part in re.split(r"(?<=.)\+(?=.)", name)]
    return tuple(_key_name(part.lower() if len(parts) > 1 and len(part) == 1 else part) for part in parts)


def _key_name(name: str) -> str:
    if len(name) == 1:
        return "space" if name == " " else name
    symbol = keysym(name)
    if symbol in _names():
        return _names()[symbol]
    return chr(symbol) if 0x20 < symbol <= 0xFF else name


@cache
def _names() -> dict[int, str]:
    return {keysym(name): name for name in reversed(KEYS)}


def read_text(text: str) -> Any:
    """A text as the JSON object or list that it is, or as it is.

    Raises:
        ActionError: it begins as JSON and is none.
    """
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise ActionError(f"the text begins as JSON and is none: {error}; got {text[:80]!r}") from error


def png_base64(picture: Picture) -> str:
    """A picture, uint8 (height, width, 3) RGB, as a PNG file in base64; quick rather than small."""
    _, data = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_PNG_COMPRESSION, 1])
    return base64.b64encode(data.tobytes()).decode("ascii")


def plain(value: Any) -> Any:
    """Dicts and lists instead of an SDK's objects; fields that are None are left out."""
    if isinstance(value, str):
        return value
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, Sequence):
        return [plain(part) for part in value]
    return value


def resized(picture: Picture, size: Point) -> Picture:
    """The picture in this size (width, height), itself where it has it."""
    if (picture.shape[1], picture.shape[0]) == size:
        return picture
    shrinks = picture.shape[1] > size[0]
    scaled = cv2.resize(picture, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    return np.asarray(scaled, np.uint8)
