"""Copies the memory of a machine and its files, leaving out what is empty."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PAGE = os.sysconf("SC_PAGE_SIZE")
_PIECE = 4 << 20
_SWAPPED, _PRESENT, _OF_FILE = np.uint64(1 << 62), np.uint64(1 << 63), np.uint64(1 << 61)


def copy_memory(pid: int, size: int, base: Path | None, target: Path) -> int:
    """Copy a stopped process's one mapping of ``size`` bytes into a sparse file.

    Only what the process has written is read from it: the rest is ``base``'s, which it has mapped privately.

    Args:
        pid: a process of our own user.
        size: of the mapping, in bytes; it has one of this size.
        base: the file that is mapped there, or None for anonymous memory.
        target: the new file.

    Returns:
        How many bytes the file takes.

    Raises:
        OSError: it cannot be read, or the disk is full.
        ValueError: there is not exactly one such mapping.
    """
    start = find_mapping(pid, size)
    with target.open("w+b") as out, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        out.truncate(size)
        if base is not None:
            with base.open("rb") as source:
                copy_extents(source.fileno(), out.fileno(), size)
        for first, count in _written(pid, start, size, private=base is not None):
            for offset in range(first, first + count, _PIECE):
                length = min(_PIECE, first + count - offset)
                data = os.pread(memory.fileno(), length, start + offset)
                if len(data) != length:
                    raise OSError(f"process {pid} cannot be read at {start + offset:#x}")
                _write_pages(out.fileno(), data, offset, keep_zeros=base is not None)
        return os.fstat(out.fileno()).st_blocks * 512


def copy_file(source: int, target: int, size: int) -> None:
    """Copy a file of ``size`` bytes from one descriptor to another that is empty, without its empty pages."""
    os.ftruncate(target, size)
    for offset in range(0, size, _PIECE):
        _write_pages(target, os.pread(source, min(_PIECE, size - offset), offset), offset)


def find_mapping(pid: int, size: int) -> int:
    """Where a process has its only mapping of this size.

    Raises:
        ValueError: there is not exactly one.
        OSError: it is not ours to look at.
    """
    found = []
    for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
        begin, end = (int(number, 16) for number in line.split()[0].split("-"))
        if end - begin == size:
            found.append(begin)
    if len(found) != 1:
        raise ValueError(f"process {pid} has {len(found)} mappings of {size} bytes, not one")
    return found[0]


def _written(pid: int, start: int, size: int, private: bool) -> list[tuple[int, int]]:
    """Offset and length of what the process has written itself, in bytes."""
    with open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pagemap:
        entries = np.frombuffer(os.pread(pagemap.fileno(), size // PAGE * 8, start // PAGE * 8), np.uint64)
    own = (entries & (_PRESENT | _SWAPPED)).astype(bool)
    if private:
        own &= ~(entries & _OF_FILE).astype(bool)
    return _runs(own, PAGE)


def _runs(flags: NDArray[np.bool_], unit: int) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).view(np.int8)))
    return [(int(a) * unit, int(b - a) * unit) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _write_pages(target: int, data: bytes, offset: int, keep_zeros: bool = False) -> None:
    view = memoryview(data)
    if keep_zeros or len(data) % PAGE:
        pieces = [(0, len(data))]
    else:
        words = np.frombuffer(data, np.uint64).reshape(-1, PAGE // 8)
        pieces = _runs(words.max(axis=1) != 0, PAGE)
    for first, length in pieces:
        _write(target, view[first : first + length], offset + first)


def _write(target: int, view: memoryview, offset: int) -> None:
    while view:
        count = os.pwrite(target, view, offset)
        view, offset = view[count:], offset + count


def copy_extents(source: int, target: int, size: int) -> None:
    """Copy the data of a sparse file; the kernel does it, without the pages' passing through us."""
    offset = 0
    while True:
        try:
            begin = os.lseek(source, offset, os.SEEK_DATA)
        except OSError:  # no more data
            return
        offset = os.lseek(source, begin, os.SEEK_HOLE)
        while begin < offset:
            try:
                count = os.copy_file_range(source, target, offset - begin, begin, begin)
            except OSError as error:
                if error.errno not in (errno.EXDEV, errno.EINVAL, errno.EOPNOTSUPP):
                    raise
                count = os.pwrite(target, os.pread(source, min(_PIECE, offset - begin), begin), begin)
            if not count:
                raise OSError(f"a memory file ends at {begin} of {size} bytes")
            begin += count
