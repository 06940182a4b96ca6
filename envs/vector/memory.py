"""Observations of several environments in memory that their processes share."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from multiprocessing.reduction import DupFd
from types import SimpleNamespace
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import create_shared_memory, read_from_shared_memory, write_to_shared_memory


class SharedArray:
    """What ``multiprocessing.Array`` is to Gymnasium, in a nameless file and without a lock: it leaves nothing behind.

    Args:
        kind: an array's type code, or a ctypes type.
        length: how many of them.
        fd: the file, where there is one already; it belongs to this from now on.
    """

    def __init__(self, kind: Any, length: int, fd: int = -1) -> None:
        self._kind, self._length, self._fd = kind, length, fd
        size = max(length * np.dtype(kind).itemsize, 1)
        if fd < 0:
            self._fd = os.memfd_create("deskgym-observations", os.MFD_CLOEXEC)
            os.ftruncate(self._fd, size)
        self._map = mmap.mmap(self._fd, size)

    def get_obj(self) -> mmap.mmap:
        """The bytes."""
        return self._map

    def close(self) -> None:
        """Give the file back; what was read from it stays. Idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __reduce__(self) -> tuple[Any, ...]:
        return _open, (self._kind, self._length, DupFd(self._fd))


def _open(kind: Any, length: int, fd: Any) -> SharedArray:
    return SharedArray(kind, length, fd.detach())


class Observations:
    """A row for each environment. It travels to a process that is being started, and means the same memory there.

    Args:
        space: of one environment.
        count: how many.
        parts: its memory, where there is one already.
    """

    def __init__(self, space: spaces.Space[Any], count: int, parts: Any = None) -> None:
        self.space, self.count = space, count
        self._parts = parts or create_shared_memory(space, count, SimpleNamespace(Array=SharedArray))  # type: ignore[arg-type]

    def batch(self, copy: bool) -> Any:
        """All rows, as a member of the batched space; without ``copy`` its arrays change with the memory."""
        return _rows(self.space, self._views(), None if copy else slice(None))

    def rows(self, ids: Sequence[int]) -> Any:
        """Some rows, copied."""
        return _rows(self.space, self._views(), list(ids))

    def write(self, index: int, observation: Any) -> None:
        """Set a row; what lies there already is not copied onto itself."""
        _write(self.space, index, observation, self._parts, self._views())

    def row(self, index: int, name: str) -> Any:
        """One row of one part of a Dict, to write into."""
        return self._views()[name][index]

    def close(self) -> None:
        """Give the memory back, but for what is still looked at. Idempotent."""
        for part in _leaves(self._parts):
            part.close()

    def _views(self) -> Any:
        return read_from_shared_memory(self.space, self._parts, self.count)

    def __reduce__(self) -> tuple[Any, ...]:
        return Observations, (self.space, self.count, self._parts)


def blank(space: spaces.Space[Any]) -> Any:
    """An observation of nothing: zeros and empty texts."""
    if isinstance(space, spaces.Dict):
        return {name: blank(part) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(blank(part) for part in space.spaces)
    return "" if isinstance(space, spaces.Text) else np.zeros(space.shape or (), space.dtype)


def _rows(space: spaces.Space[Any], views: Any, ids: list[int] | slice | None) -> Any:
    """Some rows; all of them if None, copied too."""
    if isinstance(space, spaces.Dict):
        return {name: _rows(part, views[name], ids) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_rows(part, rows, ids) for part, rows in zip(space.spaces, views, strict=True))
    if isinstance(views, np.ndarray):
        return views.copy() if ids is None else views[ids]
    return tuple(views[k] for k in ids) if isinstance(ids, list) else tuple(views)


def _write(space: spaces.Space[Any], index: int, value: Any, memory: Any, batch: Any) -> None:
    if isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            _write(part, index, value[name], memory[name], batch[name])
    elif not isinstance(batch, np.ndarray):
        write_to_shared_memory(space, index, value, memory)
    elif not (isinstance(value, np.ndarray) and np.may_share_memory(value, batch[index])):
        batch[index] = value  # Gymnasium's own makes a second copy on the way


def _leaves(parts: Any) -> list[SharedArray]:
    if isinstance(parts, dict):
        return [leaf for part in parts.values() for leaf in _leaves(part)]
    if isinstance(parts, tuple):
        return [leaf for part in parts for leaf in _leaves(part)]
    return [parts]
