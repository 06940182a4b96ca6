"""The X server's framebuffer as a file: where its pixels are, and which of them have really changed."""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass

Box = tuple[int, int, int, int]  # left, top, right, bottom

_XWD = struct.Struct(">25I")
"""The header of X's window dump format, version 7 (X11/XWDFile.h); Xvfb writes it with the high byte first."""

_COLOR_ENTRY = 12
_PIXEL = 4  # bytes
_EXACT_ROWS = 64  # of up to so many changed rows the changed columns are looked for too


@dataclass(frozen=True)
class Layout:
    """Where the pixels are in the file.

    Attributes:
        width: in pixels.
        height: in pixels.
        start: bytes before the first pixel.
        line: bytes of a row; a pixel is four bytes, BGRX.
    """

    width: int
    height: int
    start: int
    line: int

    @property
    def end(self) -> int:
        """Bytes up to the end of the last row."""
        return self.start + self.height * self.line


def read_layout(fd: int, offset: int = 0) -> Layout:
    """The layout of an XWD file that begins at ``offset`` bytes.

    Raises:
        ValueError: it is none of a 24-bit little-endian screen, or too short.
    """
    header = os.pread(fd, _XWD.size, offset)
    if len(header) < _XWD.size:
        raise ValueError("it is too short for a screen dump")
    fields = _XWD.unpack(header)
    header_size, version, pixmap_format, depth, width, height = fields[:6]
    byte_order, bits, line, colors = fields[7], fields[11], fields[12], fields[19]
    if version != 7 or pixmap_format != 2 or depth != 24 or bits != 32 or byte_order != 0:
        raise ValueError(f"it is not a 24-bit little-endian screen dump: {fields[:13]}")
    layout = Layout(width, height, header_size + colors * _COLOR_ENTRY, line)
    if line < width * _PIXEL or offset + layout.end > os.fstat(fd).st_size:
        raise ValueError("its header does not fit its size")
    return layout


class Framebuffer:
    """The screen's pixels, with a copy of what they were.

    Programs that draw with OpenGL repaint their whole window for a blinking caret: damage says that it was painted,
    only a comparison says what changed.

    Args:
        path: the XWD file.
    """

    def __init__(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.layout = read_layout(fd)
            whole = memoryview(mmap.mmap(fd, self.layout.end, prot=mmap.PROT_READ))
            self._now = whole[self.layout.start : self.layout.end]
        finally:
            os.close(fd)
        self._seen: bytearray | None = None

    def changed(self, box: Box) -> Box | None:
        """The part of ``box`` whose pixels are not what they were at the last call; None if all are."""
        layout = self.layout
        left, top = max(box[0], 0), max(box[1], 0)
        right, bottom = min(box[2], layout.width), min(box[3], layout.height)
        if left >= right or top >= bottom:
            return None
        if self._seen is None:
            self._seen = bytearray(self._now)
            return left, top, right, bottom
        seen, now = self._seen, self._now
        at, size = top * layout.line + left * _PIXEL, (right - left) * _PIXEL
        if seen.startswith(now[at : (bottom - 1) * layout.line + right * _PIXEL], at):  # compares, and copies nothing
            return None
        starts = range(at, bottom * layout.line, layout.line)
        changed = [at for at in starts if not seen.startswith(now[at : at + size], at)]
        if not changed:
            return None
        columns = []
        for at in changed:
            before, after = seen[at : at + size], bytes(now[at : at + size])
            seen[at : at + size] = after
            if len(changed) <= _EXACT_ROWS and before != after:  # it may have been painted again meanwhile
                columns.append(_columns(before, after))
        first, last = (min(c[0] for c in columns), max(c[1] for c in columns)) if columns else (0, right - left - 1)
        return left + first, changed[0] // layout.line, left + last + 1, changed[-1] // layout.line + 1


def union(a: Box, b: Box) -> Box:
    """The smallest box around both."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _columns(before: bytes | bytearray, after: bytes) -> tuple[int, int]:
    """The first and the last pixel in which a row differs."""
    difference = int.from_bytes(before, "little") ^ int.from_bytes(after, "little")
    lowest = (difference & -difference).bit_length() - 1
    return lowest // (8 * _PIXEL), (difference.bit_length() - 1) // (8 * _PIXEL)
