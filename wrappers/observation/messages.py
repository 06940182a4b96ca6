"""Chat messages of what an agent has seen and done, in the form that the model APIs share."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Message = dict[str, Any]
"""``{"role": "system" | "user" | "assistant", "content": [part, ...]}``; a part is ``{"type": "text", "text": str}`` or
``{"type": "image", "image": uint8 (height, width, 3) RGB}``."""

NO_ACTION = "No valid action"  # what Spider2-V puts where a response was empty


def message(role: str, texts: Sequence[str], images: Sequence[NDArray[np.uint8]] = ()) -> Message:
    """One message: the texts that are not empty, then the images."""
    content: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts if text]
    return {"role": role, "content": content + [{"type": "image", "image": image} for image in images]}


def observed(observation: Mapping[str, Any], feedback: str = "") -> Message:
    """The user's message for one observation.

    Args:
        observation: its parts to show: texts, and images uint8 (height, width, 3) RGB.
        feedback: what the last action gave, to be put before them.
    """
    texts = [f"feedback:\n{feedback}"] if feedback else []
    texts += [f"{name}:\n{value}" for name, value in observation.items() if isinstance(value, str)]
    images = [value for value in observation.values() if not isinstance(value, str)]
    return message("user", texts, images)


def with_data_urls(messages: Sequence[Message]) -> list[Message]:
    """The messages with each image as a PNG data URL, as JSON for OpenAI's chat completions and what follows them.

    An image part becomes ``{"type": "image_url", "image_url": {"url": "data:image/png;base64,..."}}``.

    Examples:
        >>> image = np.zeros((2, 2, 3), np.uint8)
        >>> with_data_urls([message("user", ["a screen"], [image])])[0]["content"][1]["image_url"]["url"][:22]
        'data:image/png;base64,'
    """
    return [{"role": m["role"], "content": [_part(part) for part in m["content"]]} for m in messages]


def data_url(image: NDArray[np.uint8], form: str = "png") -> str:
    """An image uint8 (height, width, 3) RGB as a data URL.

    Args:
        image: the image.
        form: ``"png"``, which loses nothing, or ``"jpeg"`` (of quality 95), which is made in a fifth of the time.

    Raises:
        ValueError: it is not such an image.
    """
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or not image.size:
        raise ValueError(f"an image is uint8 (height, width, 3) RGB, got {image.dtype} {image.shape}")
    done, data = cv2.imencode(f".{form}", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))
    if not done:
        raise ValueError(f"OpenCV cannot write an image of shape {image.shape} as {form.upper()}")
    return f"data:image/{form};base64,{base64.b64encode(data.tobytes()).decode()}"


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "image":
        return {"type": "image_url", "image_url": {"url": data_url(part["image"])}}
    return dict(part)
