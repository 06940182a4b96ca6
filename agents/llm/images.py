"""Images as requests have them. An image is sent with each step that shows it, and encoded once."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deskgym.agents.llm.settings import IMAGE_FORMATS
from deskgym.wrappers.observation import messages

_URL = re.compile(rf"data:image/({'|'.join(IMAGE_FORMATS)});base64,")
_known: dict[tuple[int, str], tuple[weakref.ref[Any], str]] = {}
_lock = threading.Lock()


class Encoded(NamedTuple):
    """An image in a request.

    Attributes:
        form: one of ``IMAGE_FORMATS``.
        data: base64.
    """

    form: str
    data: str


def image_of(part: Mapping[str, Any]) -> Encoded | None:
    """The image that a part of a request is; None for any other part.

    It is an ``image_url`` (chat completions), an ``input_image``, a ``computer_screenshot`` (responses) or an ``image``
    (messages): never a text, whatever stands in it.
    """
    found: Any = None
    if part.get("type") == "image_url" and isinstance(part.get("image_url"), Mapping):
        found = part["image_url"].get("url")
    elif part.get("type") in ("input_image", "computer_screenshot"):
        found = part.get("image_url")
    elif part.get("type") == "image" and isinstance(part.get("source"), Mapping):
        source = part["source"]
        found = f"data:{source.get('media_type')};base64,{source.get('data')}"
    match = _URL.match(found) if isinstance(found, str) else None
    return Encoded(match[1], match.string[match.end() :]) if match else None


def with_image(part: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A part for which ``image_of`` gives something, with another text in the place of its data."""
    if part["type"] == "image_url":
        return {**part, "image_url": {**part["image_url"], "url": text}}
    if part["type"] == "image":
        return {**part, "source": {**part["source"], "data": text}}
    return {**part, "image_url": text}


def data_url(image: NDArray[np.uint8], form: str = "png") -> str:
    """An image uint8 (height, width, 3) RGB as a data URL.

    The same array gives the same text without being encoded again: it must not change.

    Args:
        image: the image.
        form: one of ``IMAGE_FORMATS``.

    Raises:
        ValueError: it is not such an image.
    """
    key = id(image), form
    with _lock:
        kept = _known.get(key)
    if kept is not None and kept[0]() is image:
        return kept[1]
    url = messages.data_url(image, form)
    with _lock:
        _known[key] = weakref.ref(image, lambda _: _known.pop(key, None)), url
    return url
