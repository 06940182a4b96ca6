"""Where a file lies on its block device: how a host that holds the device finds the framebuffer in it."""

from __future__ import annotations

import fcntl
import os
import struct

_FIEMAP = 0xC020660B  # FS_IOC_FIEMAP of linux/fs.h
_HEADER = struct.Struct("=QQIIII")  # struct fiemap of linux/fiemap.h: start, length, flags, mapped, room, reserved
_EXTENT = struct.Struct("=QQQ2QI3I")  # struct fiemap_extent: logical, physical, length, reserved, flags, reserved
_SYNC = 1
_ROOM = 64


def find_extent(path: str) -> tuple[int, int]:
    """The one piece of the device that a file lies in.

    Returns:
        Offset and length on the device, in bytes.

    Raises:
        OSError: the file system does not tell, or the file lies in several pieces.
    """
    buffer = bytearray(_HEADER.size + _ROOM * _EXTENT.size)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        _HEADER.pack_into(buffer, 0, 0, size, _SYNC, 0, _ROOM, 0)
        fcntl.ioctl(file.fileno(), _FIEMAP, buffer)
    count = _HEADER.unpack_from(buffer)[3]
    pieces = [_EXTENT.unpack_from(buffer, _HEADER.size + k * _EXTENT.size)[:3] for k in range(count)]
    begin = pieces[0][1] if pieces else 0
    if sum(piece[2] for piece in pieces) < size or any(at - logical != begin for logical, at, _ in pieces):
        raise OSError(f"{path} does not lie in one piece: {pieces}")
    return begin, size
