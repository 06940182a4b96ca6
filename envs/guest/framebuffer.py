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


def read_layout(fd: int) -> Layout:
    """The layout of an XWD file.

    Raises:
        ValueError: it is none of a 24-bit little-endian screen, or too short.
    """
    header = os.pread(fd, _XWD.size, 0)
    if len(header) < _XWD.size:
        raise ValueError("it is too short for a screen dump")
    fields = _XWD.unpack(header)
    header_size, version, pixmap_format, depth, width, height = fields[:6]
    byte_order, bits, line, colors = fields[7], fields[11], fields[12], fields[19]
    if version != 7 or pixmap_format != 2 or depth != 24 or bits != 32 or byte_order != 0:
        raise ValueError(f"it is not a 24-bit little-endian screen dump: {fields[:13]}")
    layout = Layout(width, height, header_size + colors * _COLOR_ENTRY, line)
    if line < width * _PIXEL or layout.end > os.fstat(fd).st_size:
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
            self._map = mmap.mmap(fd, self.layout.end, prot=mmap.PROT_READ)
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
            self._seen = bytearray(self._map[layout.start : layout.end])
            return left, top, right, bottom
        before, after = self._rows(self._seen, 0, top, bottom), self._rows(self._map, layout.start, top, bottom)
        if before == after:
            return None
        self._seen[top * layout.line : bottom * layout.line] = after
        rows = [
            row
            for row in range(bottom - top)
            if before[row * layout.line : (row + 1) * layout.line] != after[row * layout.line : (row + 1) * layout.line]
        ]
        found = (left, top + rows[0], right, top + rows[-1] + 1)
        if len(rows) > _EXACT_ROWS:
            return found
        columns = [_columns(before, after, row * layout.line, layout.line) for row in rows]
        return min(first for first, _ in columns), found[1], max(last for _, last in columns) + 1, found[3]

    def _rows(self, memory: bytearray | mmap.mmap, start: int, top: int, bottom: int) -> bytes:
        line = self.layout.line
        return bytes(memory[start + top * line : start + bottom * line])


def union(a: Box, b: Box) -> Box:
    """The smallest box around both."""
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _columns(before: bytes, after: bytes, start: int, line: int) -> tuple[int, int]:
    """The first and the last pixel in which a row differs."""
    a = int.from_bytes(before[start : start + line], "little")
    difference = a ^ int.from_bytes(after[start : start + line], "little")
    lowest = (difference & -difference).bit_length() - 1
    return lowest // (8 * _PIXEL), (difference.bit_length() - 1) // (8 * _PIXEL)
