"""Gymnasium spaces in Minari's metadata, and values of a space as its arrays and texts.

Minari writes a ``Text`` space as the list of its legal characters, which a space of any Unicode text does not have.
Here it is written as a ``Text`` with one more key, which Minari alone ignores and this module reads, so that a dataset
loads without deskgym, and with it has the very spaces of the env.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from minari.serialization import deserialize_space, serialize_space  # type: ignore[import-untyped]

from deskgym.envs.text_space import UnicodeText

_UNICODE = "any_unicode"
_minaris_text = deserialize_space.registry["Text"]


@serialize_space.register(UnicodeText)  # type: ignore[untyped-decorator]
def _serialize(space: UnicodeText, to_string: bool = True) -> dict[str, Any] | str:
    data = {
        "type": "Text",
        "max_length": space.max_length,
        "min_length": 0,
        "charset": space.characters,
        _UNICODE: True,
    }
    return json.dumps(data) if to_string else data


@deserialize_space.register("Text")  # type: ignore[untyped-decorator]
def _deserialize(data: Mapping[str, Any]) -> spaces.Text:
    if data.get(_UNICODE):
        return UnicodeText(data["max_length"])
    return _minaris_text(data)  # type: ignore[no-any-return]


_MARK = "\x1a"
_UNSTORABLE = re.compile(f"[\x00{_MARK}\ud800-\udfff]")
_STORED = re.compile(f"{_MARK}([0-9a-f]{{4}})")


def storable_text(text: str) -> str:
    r"""The text without what HDF5 cannot hold: NUL and lone surrogates become U+001A and four hex digits, as it does.

    Any other text stays what it is.

    Examples:
        >>> storable_text("naïve 😀"), storable_text("a\x00b")
        ('naïve 😀', 'a\x1a0000b')
    """
    return _UNSTORABLE.sub(lambda match: f"{_MARK}{ord(match[0]):04x}", text)


def stored_text(text: str) -> str:
    """The inverse of ``storable_text``."""
    return _STORED.sub(lambda match: chr(int(match[1], 16)), text)


def cast(space: spaces.Space[Any], value: Any) -> Any:
    """A copy of a value as what the space is made of: dicts, tuples, texts, ints, arrays of its dtype.

    Raises:
        ValueError: it does not have the space's structure or shape.
    """
    if isinstance(space, spaces.Dict):
        if not isinstance(value, Mapping) or set(value) != set(space.spaces):
            raise ValueError(f"not of {', '.join(space.spaces)}: {_short(value)}")
        return {name: cast(part, value[name]) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        if not isinstance(value, Sequence) or len(value) != len(space.spaces):
            raise ValueError(f"not a tuple of {len(space.spaces)}: {_short(value)}")
        return tuple(cast(part, item) for part, item in zip(space.spaces, value, strict=True))
    if isinstance(space, spaces.Text):
        if not isinstance(value, str):
            raise ValueError(f"not a text: {_short(value)}")
        return value
    try:
        array = np.array(value, dtype=space.dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"not of {space}: {_short(value)}") from error
    if array.shape != space.shape:
        raise ValueError(f"not of {space}, its shape is {array.shape}: {_short(value)}")
    return np.int64(array) if isinstance(space, spaces.Discrete) else array


def to_columns(space: spaces.Space[Any], values: Sequence[Any]) -> Any:
    """Values of a space as Minari keeps them: the space's dicts and tuples, with a list of all steps in each leaf."""
    if isinstance(space, spaces.Dict):
        return {name: to_columns(part, [value[name] for value in values]) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(to_columns(part, [value[k] for value in values]) for k, part in enumerate(space.spaces))
    return [storable_text(value) for value in values] if isinstance(space, spaces.Text) else list(values)


def from_columns(space: spaces.Space[Any], columns: Any, count: int) -> list[Any]:
    """The inverse of ``to_columns``, from what Minari gives back, for ``count`` steps."""
    if isinstance(space, spaces.Dict):
        parts = {name: from_columns(part, columns[name], count) for name, part in space.spaces.items()}
        return [{name: part[k] for name, part in parts.items()} for k in range(count)]
    if isinstance(space, spaces.Tuple):
        items = [from_columns(part, columns[k], count) for k, part in enumerate(space.spaces)]
        return [tuple(item[k] for item in items) for k in range(count)]
    if isinstance(space, spaces.Text):
        return [stored_text(text) for text in columns]
    return [cast(space, value) for value in columns]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"
