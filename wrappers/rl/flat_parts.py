"""Observation parts of any kind as parts that Stable-Baselines3 takes: arrays of one dimension, images, numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from deskgym.wrappers.rl.hashing import hashed

_MIN_IMAGE = 36  # pixels; SB3's NatureCNN takes no smaller ones


class Part(NamedTuple):
    """One part of the flat observation: where it is in the inner one, and how it is converted."""

    name: str
    space: spaces.Space[Any]
    path: tuple[Any, ...]
    convert: Callable[[Any], Any]

    def of(self, observation: Any) -> Any:
        """This part of an observation."""
        for key in self.path:
            observation = observation[key]
        return self.convert(observation)


def flattened(name: str, space: spaces.Space[Any], ngrams: int, path: tuple[Any, ...] = ()) -> Iterator[Part]:
    """The flat parts of one part, however nested.

    Raises:
        ValueError: it has no fixed size.
    """
    path = path or (name,)
    inner = _inner(space)
    if inner is not None:
        for key, below in inner.items():
            yield from flattened(f"{name}_{key}", below, ngrams, (*path, key))
    elif isinstance(space, spaces.Text):
        yield Part(name, text_box(ngrams), path, lambda text: hashed(text, ngrams).copy())
    elif isinstance(space, spaces.Box):
        yield _box(name, space, path)
    elif isinstance(space, spaces.Discrete):
        start = int(space.start)
        yield Part(name, spaces.Discrete(int(space.n)), path, lambda number: np.int64(number - start))
    elif isinstance(space, spaces.MultiDiscrete):
        shift = space.start
        kept = spaces.MultiDiscrete(space.nvec.reshape(-1), dtype=space.dtype.type)
        yield Part(name, kept, path, lambda numbers: (numbers - shift).reshape(-1))
    elif isinstance(space, spaces.MultiBinary):
        yield Part(name, spaces.MultiBinary(int(np.prod(space.shape))), path, lambda bits: bits.reshape(-1))
    else:
        raise ValueError(
            f"FlatForSB3 cannot flatten the observation {name!r}: a {type(space).__name__} has no fixed size; legal "
            "are Box, Discrete, MultiDiscrete, MultiBinary, Text, and Dict and Tuple of them"
        )


def _inner(space: spaces.Space[Any]) -> dict[Any, spaces.Space[Any]] | None:
    """The parts of a nested space, or the images of a stack of them, by key; None for a plain space."""
    if isinstance(space, spaces.Dict):
        return dict(space.spaces)
    if isinstance(space, spaces.Tuple):
        return dict(enumerate(space.spaces))
    if isinstance(space, spaces.Box) and len(space.shape) == 4:
        images = [
            spaces.Box(low, high, dtype=space.dtype.type) for low, high in zip(space.low, space.high, strict=True)
        ]
        return dict(enumerate(images)) if all(is_image(image) for image in images) else None
    return None


def _box(name: str, space: spaces.Box, path: tuple[Any, ...]) -> Part:
    if is_image(space) or len(space.shape) == 1:
        return Part(name, space, path, lambda value: value)
    low, high = space.low.astype(np.float32).reshape(-1), space.high.astype(np.float32).reshape(-1)
    flat = spaces.Box(low, high, dtype=np.float32)
    return Part(name, flat, path, lambda value: np.asarray(value, np.float32).reshape(-1))


def is_image(space: spaces.Space[Any]) -> bool:
    """Whether SB3 can take it as an image: uint8 (H, W, 1, 3 or 4) from 0 to 255, not too small."""
    if not isinstance(space, spaces.Box) or len(space.shape) != 3 or space.dtype != np.uint8:
        return False
    height, width, channels = space.shape
    whole = bool((space.low == 0).all() and (space.high == 255).all())
    return whole and min(height, width) >= _MIN_IMAGE and channels in (1, 3, 4)


def text_box(count: int) -> spaces.Box:
    """The space of ``count`` numbers of hashed texts."""
    return spaces.Box(-1.0, 1.0, (count,), np.float32)


def unit_box(count: int) -> spaces.Box:
    """The space of ``count`` numbers from 0 to 1."""
    return spaces.Box(0.0, 1.0, (count,), np.float32)
