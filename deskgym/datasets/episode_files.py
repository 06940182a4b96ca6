"""Episodes as files, one each: what demonstrations are kept in until they are a dataset.

A file is zstandard-compressed msgpack. It is there whole or not at all, whenever the writer is killed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import zstandard

from deskgym.datasets.episode import Episode
from deskgym.envs.errors import DeskgymError

SUFFIX = ".episode"
_ARRAY, _TUPLE = "\x00array", "\x00tuple"
_BIGGEST = 2**32 - 1  # bytes, msgpack's own limit


class EpisodeFileError(DeskgymError):
    """A file is not an episode of ours; the message names it."""


class EpisodeFiles(Sequence[Episode]):
    """Episodes in files, each read when it is asked for."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: Any) -> Any:
        return EpisodeFiles(self.paths[index]) if isinstance(index, slice) else read_episode(self.paths[index])


def write_episode(path: Path, episode: Episode) -> None:
    """Write an episode's file; the folder must be there."""
    data = {field.name: _plain(getattr(episode, field.name)) for field in fields(Episode)}
    packed = zstandard.compress(msgpack.packb(data, unicode_errors="surrogatepass"), 3)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_bytes(packed)
    os.replace(partial, path)


def read_episode(path: Path) -> Episode:
    """Read an episode's file.

    Raises:
        EpisodeFileError: it is none.
    """
    try:
        raw = zstandard.decompress(path.read_bytes(), max_output_size=_BIGGEST)
        data = msgpack.unpackb(raw, unicode_errors="surrogatepass", object_hook=_arrays, strict_map_key=False)
        return Episode(**data)
    except (ValueError, TypeError, KeyError, zstandard.ZstdError, msgpack.UnpackException) as error:
        raise EpisodeFileError(f"{path} is not an episode: {type(error).__name__}: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return {_TUPLE: [_plain(item) for item in value]}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value, order="C")
        return {_ARRAY: [array.dtype.str, list(array.shape), array.tobytes()]}
    return value


def _arrays(value: dict[Any, Any]) -> Any:
    if _ARRAY in value:
        dtype, shape, data = value[_ARRAY]
        array = np.frombuffer(data, np.dtype(dtype)).reshape(shape).copy()
        return array if shape else array[()]
    return tuple(value[_TUPLE]) if _TUPLE in value else value
