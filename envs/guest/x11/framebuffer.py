"""The X server's framebuffer as a file: where its pixels are, and which of them have really changed."""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass

from deskgym.envs.guest.x11.boxes import Box

_XWD = struct.Struct(">25I")
"""The header of X's window dump format, version 7 (X11/XWDFile.h); Xvfb writes it with the high byte first."""

_COLOR_ENTRY = 12
_PIXEL = 4  # bytes
_EXACT_ROWS = 64  # of up to so many changed rows in a band the changed columns are looked for too
_GAP = 8  # unchanged rows that a band may have: those between lines of text


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

    def changed(self, box: Box) -> list[Box]:
        """The parts of ``box`` whose pixels are not what they were at the last call, from top to bottom."""
        layout = self.layout
        left, top = max(box[0], 0), max(box[1], 0)
        right, bottom = min(box[2], layout.width), min(box[3], layout.height)
        if left >= right or top >= bottom:
            return []
        if self._seen is None:
            self._seen = bytearray(self._now)
            return [(left, top, right, bottom)]
        seen, now = self._seen, self._now
        at, size = top * layout.line + left * _PIXEL, (right - left) * _PIXEL
        if seen.startswith(now[at : (bottom - 1) * layout.line + right * _PIXEL], at):  # compares, and copies nothing
            return []
        starts = range(at, bottom * layout.line, layout.line)
        changed = [at for at in starts if not seen.startswith(now[at : at + size], at)]
        return [self._take(seen, band, left, right) for band in _bands(changed, layout.line * (_GAP + 1))]

    def _take(self, seen: bytearray, band: list[int], left: int, right: int) -> Box:
        """Note the pixels of changed rows, which begin at these bytes; where they have changed."""
        size, line, columns = (right - left) * _PIXEL, self.layout.line, []
        for at in band:
            before, after = seen[at : at + size], bytes(self._now[at : at + size])
            seen[at : at + size] = after
            if len(band) <= _EXACT_ROWS and before != after:  # it may have been painted again meanwhile
                columns.append(_columns(before, after))
        first, last = (min(c[0] for c in columns), max(c[1] for c in columns)) if columns else (0, right - left - 1)
        return left + first, band[0] // line, left + last + 1, band[-1] // line + 1


def _bands(starts: list[int], apart: int) -> list[list[int]]:
    """Rows that lie together, as their first bytes."""
    bands: list[list[int]] = []
    for at in starts:
        if bands and at - bands[-1][-1] <= apart:
            bands[-1].append(at)
        else:
            bands.append([at])
    return bands


def _columns(before: bytes | bytearray, after: bytes) -> tuple[int, int]:
    """The first and the last pixel in which a row differs."""
    difference = int.from_bytes(before, "little") ^ int.from_bytes(after, "little")
    lowest = (difference & -difference).bit_length() - 1
    return lowest // (8 * _PIXEL), (difference.bit_length() - 1) // (8 * _PIXEL)
