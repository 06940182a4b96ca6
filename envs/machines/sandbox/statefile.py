"""gVisor's file of a checkpoint, without its compression: a restore is read in two thirds of the time.

A file is ``gVisorSF``, the length of a JSON mapping (8 bytes) and the mapping, a hash of these (32 bytes), the size of
a chunk (4 bytes), and then chunks: a length (4 bytes) and so many bytes of raw deflate each. Numbers are big-endian.
Deflate has blocks that are stored as they are, which any reader reads: so the file stays one of the same format.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import BinaryIO

MAGIC = b"gVisorSF"
COMPRESSION = "compression"
"""A key of the mapping that releases of 2023 and later have: they can write files without compression themselves."""
LARGEST, LARGEST_MAPPING, LARGEST_CHUNK = 1 << 34, 1 << 24, 1 << 24  # bytes, of what is believed
_HASH = 32
_RAW = -15  # deflate without zlib's header
_THREADS = 2


class OtherFormatError(ValueError):
    """A file is not as the format above says."""


def store(path: Path) -> bool:
    """Replace a checkpoint's file by one with stored blocks; False where it is of another format, and stays.

    Raises:
        OSError: there is no room, say; the file stays as it was.
    """
    new = path.with_suffix(".stored")
    try:
        with open(path, "rb", opener=_opened) as source, new.open("wb") as target:
            status = os.fstat(source.fileno())
            os.fchmod(target.fileno(), stat.S_IMODE(status.st_mode))
            if os.geteuid() == 0:
                os.fchown(target.fileno(), status.st_uid, status.st_gid)
            _copy(source, target)
        os.replace(new, path)
    except OtherFormatError:
        return False
    finally:
        new.unlink(missing_ok=True)
    return True


def _copy(source: BinaryIO, target: BinaryIO) -> None:
    target.write(_head(source))
    size = _read(source, 4)
    target.write(size)
    (largest,) = struct.unpack(">I", size)
    if not 0 < largest <= LARGEST_CHUNK:
        raise OtherFormatError(f"chunks of {largest} bytes")
    chunks, written = _chunks(source), 0
    with ThreadPoolExecutor(_THREADS) as threads:
        while some := list(islice(chunks, 4 * _THREADS)):
            for stored in threads.map(_stored, some, [largest] * len(some)):
                target.write(struct.pack(">I", len(stored)))
                target.write(stored)
                written += len(stored)
            if written > LARGEST:
                raise OtherFormatError("larger than any machine")


def _head(source: BinaryIO) -> bytes:
    """What is before the chunks."""
    head = _read(source, len(MAGIC) + 8)
    length = int.from_bytes(head[len(MAGIC) :], "big")
    if not head.startswith(MAGIC) or length > LARGEST_MAPPING:
        raise OtherFormatError("another header")
    mapping = _read(source, length)
    try:
        known = json.loads(mapping)
    except ValueError as error:
        raise OtherFormatError("no mapping") from error
    if not isinstance(known, dict) or COMPRESSION in known:
        raise OtherFormatError("another release's")
    return head + mapping + _read(source, _HASH)


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while length := source.read(4):
        if len(length) < 4 or (count := int.from_bytes(length, "big")) > 2 * LARGEST_CHUNK:
            raise OtherFormatError("a chunk without its length")
        yield _read(source, count)


def _stored(chunk: bytes, largest: int) -> bytes:
    inflating = zlib.decompressobj(_RAW)
    try:
        plain = inflating.decompress(chunk, largest + 1)
    except zlib.error as error:
        raise OtherFormatError("a chunk that is not deflate") from error
    if not inflating.eof or len(plain) > largest or inflating.unused_data:
        raise OtherFormatError("a chunk of another size")
    storing = zlib.compressobj(0, wbits=_RAW)
    return storing.compress(plain) + storing.flush()


def _read(source: BinaryIO, count: int) -> bytes:
    read = source.read(count)
    if len(read) < count:
        raise OtherFormatError("cut off")
    return read


def _opened(path: str, flags: int) -> int:
    """The sandbox's own root wrote the file: a regular one, and no link."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OtherFormatError("no file")
    return descriptor
