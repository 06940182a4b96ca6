"""The spaces of observations: names, shapes and the longest texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from deskgym.envs.errors import near
from deskgym.envs.guest.protocol import ELEMENT_COLUMNS
from deskgym.envs.text_space import UnicodeText

TEXT_LENGTHS = {"a11y": 65536, "instruction": 16384, "feedback": 16384, "terminal": 16384, "vocabulary": 8192}
"""The longest text of each text observation, in characters; longer ones are cut and end in a line that says so."""

OBSERVATIONS = ("screenshot", "elements", *TEXT_LENGTHS)
"""What ``observation=`` may name."""


def observation_space(parts: Sequence[str], size: tuple[int, int] | None, max_elements: int) -> spaces.Dict:
    """The Dict space of the chosen observation parts.

    Raises:
        ValueError: an unknown, repeated or missing part, or one that needs a screen where there is none.
    """
    if isinstance(parts, str) or not parts:
        raise ValueError(f"observation={parts!r}; legal is a list of one or more of {', '.join(OBSERVATIONS)}")
    result: dict[str, spaces.Space[Any]] = {}
    for part in parts:
        if part not in OBSERVATIONS:
            legal = ", ".join(OBSERVATIONS)
            raise ValueError(f"unknown observation {part!r}; legal are {legal}{near(part, OBSERVATIONS)}")
        if part in result:
            raise ValueError(f"observation {part!r} is named twice")
        if size is None and part in ("screenshot", "elements", "a11y", "terminal"):
            raise ValueError(f"observation {part!r} needs a screen, and this suite has none")
        if part == "screenshot":
            assert size is not None
            result[part] = spaces.Box(0, 255, (size[1], size[0], 3), np.uint8)
        elif part == "elements":
            limits = np.iinfo(np.int32)
            result[part] = spaces.Box(limits.min, limits.max, (max_elements, len(ELEMENT_COLUMNS)), np.int32)
        else:
            result[part] = UnicodeText(TEXT_LENGTHS[part])
    return spaces.Dict(result)


def empty_observation(space: spaces.Space[Any]) -> dict[str, Any]:
    """What is seen of a machine that is lost: zeros, and empty texts."""
    assert isinstance(space, spaces.Dict)
    return {name: np.zeros(part.shape, part.dtype) if part.shape else "" for name, part in space.spaces.items()}


def legal_screen_size(size: Sequence[int]) -> tuple[int, int]:
    """Width and height in pixels.

    Raises:
        ValueError: it is something else, or too small or too large.
    """
    try:
        width, height = (int(number) for number in size)
    except (TypeError, ValueError) as error:
        raise ValueError(f"screen_size={size!r}; legal is (width, height) in pixels") from error
    if not (64 <= width <= 7680 and 64 <= height <= 4320):
        raise ValueError(f"screen_size={size!r}; legal are 64 to 7680 by 64 to 4320 pixels")
    return width, height
