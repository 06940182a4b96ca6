"""The spaces of observations, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from deskgym.envs.errors import near
from deskgym.envs.guest.protocol import ELEMENT_COLUMNS
from deskgym.envs.observation.texts import TEXT_LENGTHS, cut_text
from deskgym.envs.text_space import UnicodeText

OBSERVATIONS = ("screenshot", "elements", *TEXT_LENGTHS)
"""What ``observation=`` may name."""


def desktop_spaces(size: tuple[int, int], max_elements: int) -> dict[str, spaces.Space[Any]]:
    """The space of each observation that a desktop has, by name.

    Args:
        size: width and height of the screen in pixels.
        max_elements: rows of ``elements``.
    """
    limits = np.iinfo(np.int32)
    return {
        "screenshot": spaces.Box(0, 255, (size[1], size[0], 3), np.uint8),
        "elements": spaces.Box(limits.min, limits.max, (max_elements, len(ELEMENT_COLUMNS)), np.int32),
        **{name: UnicodeText(length) for name, length in TEXT_LENGTHS.items()},
    }


def observation_space(names: Sequence[str], legal: Mapping[str, spaces.Space[Any]]) -> spaces.Dict:
    """The Dict space of the chosen observations.

    Args:
        names: what ``gym.make(..., observation=names)`` was given.
        legal: the space of each that there is.

    Raises:
        ValueError: an unknown or repeated name, or none.
    """
    if isinstance(names, str) or not names:
        raise ValueError(f"observation={names!r}; legal is a list of one or more of {', '.join(legal)}")
    for k, name in enumerate(names):
        if name not in legal:
            raise ValueError(f"unknown observation {name!r}; legal are {', '.join(legal)}{near(name, legal)}")
        if name in names[:k]:
            raise ValueError(f"observation {name!r} is named twice")
    return spaces.Dict({name: legal[name] for name in names})


def empty_observation(space: spaces.Space[Any], instruction: str = "") -> dict[str, Any]:
    """What is seen of a machine that is lost: zeros and empty texts, but for the instruction."""
    assert isinstance(space, spaces.Dict)
    empty = {name: np.zeros(part.shape, part.dtype) if part.shape else "" for name, part in space.spaces.items()}
    return empty | (
        {"instruction": cut_text(instruction, TEXT_LENGTHS["instruction"])} if "instruction" in empty else {}
    )


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
