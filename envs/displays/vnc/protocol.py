"""The RFB protocol (RFC 6143) by vncdotool's parser, with the screen in an array; it does no input or output itself.

vncdotool's own client lives in Twisted's reactor. Its parser needs none: it is fed with what a socket gave, and writes
to what it takes for a transport. So there is no thread, and a fork of this process can connect like any other.
"""

from __future__ import annotations

import struct
import time
import warnings
from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from deskgym.envs.errors import MachineError
from deskgym.envs.extras import needs_extra
from deskgym.envs.guest.x11.boxes import Box, union

with needs_extra("vnc", "VNC needs"):
    from vncdotool.const import AuthTypes, Encoding  # type: ignore[import-untyped]
    from vncdotool.rfb import PixelFormat, RFBClient, RFBFactory  # type: ignore[import-untyped]

BGRX = PixelFormat(32, 24, False, True, 255, 255, 255, 16, 8, 0)
ENCODINGS = (Encoding.COPY_RECTANGLE, Encoding.RAW, Encoding.PSEUDO_DESKTOP_SIZE)
CURSOR = Encoding.PSEUDO_CURSOR
MORE = 16 << 20
"""Bytes that one message may have beyond a whole screen: a long clipboard."""

_COLORS = 0x00FFFFFF  # of a BGRX pixel in little-endian; what is in X has no meaning


class Cursor:
    """The pointer's picture: BGRX uint8 (h, w, 4), a bool mask (h, w), and which pixel of it points."""

    def __init__(self, hot: tuple[int, int], image: NDArray[np.uint8], mask: NDArray[np.bool_]) -> None:
        self.hot, self.image, self.mask = hot, image, mask

    def draw(self, frame: NDArray[np.uint8], x: int, y: int) -> None:
        """Draw it into an RGB frame, pointing at (x, y)."""
        left, top = x - self.hot[0], y - self.hot[1]
        height, width = self.mask.shape
        inner = frame[max(top, 0) : max(top + height, 0), max(left, 0) : max(left + width, 0)]
        down, right = max(-top, 0), max(-left, 0)
        rows, columns = slice(down, down + inner.shape[0]), slice(right, right + inner.shape[1])
        mask = self.mask[rows, columns]
        inner[mask] = self.image[rows, columns, 2::-1][mask]


with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # its hooks may change: setup.cfg says which versions have these

    class FrameClient(RFBClient):  # type: ignore[misc]
        """One connection's state. What a server must not do raises MachineError out of ``dataReceived``.

        Args:
            name: the server, for messages.
            password: for VNC authentication, or None.
            size: width and height that the screen must have, or None to take any.

        Attributes:
            ready: the handshake is done.
            frame: the screen as the server has told it so far, BGRX uint8 (height, width, 4).
            changes: (time, box) of each change since it was last taken.
            cursor: the pointer's picture, where the server leaves it to its clients to draw it.
            updates: how many updates have come.
            pixel: the one that a question is about, as (x, y).
            answers: how many updates told that pixel.
            exact: how many rectangles were that pixel and nothing else.
        """

        SUPPORTED_AUTHS = {AuthTypes.NONE, AuthTypes.VNC_AUTHENTICATION}

        def __init__(self, name: str, password: str | None, size: tuple[int, int] | None) -> None:
            super().__init__()
            self.factory = RFBFactory(password, shared=True)
            self.server, self._wanted = name, size
            self.ready = False
            self.screen_size = (0, 0)
            self.frame = np.zeros((0, 0, 4), np.uint8)
            self.changes: list[tuple[float, Box]] = []
            self.cursor: Cursor | None = None
            self.updates = self.answers = self.exact = 0
            self.pixel = (0, 0)
            self._told = False
            self._limit = MORE
            self._allowed: set[int] = set()

        # --- what the server says, in vncdotool's hooks

        def expect(self, handler: Any, size: int, *args: Any, **kwargs: Any) -> None:
            """Wait for so many bytes: refuses more than any honest message has."""
            if size > self._limit:
                raise self.garbled(f"a message of {size} bytes")
            super().expect(handler, size, *args, **kwargs)

        def vncConnectionMade(self) -> None:
            """The handshake is done: check the size, ask for a format and the encodings."""
            size = self.screen_size = (self.width, self.height)
            if self._wanted is not None and size != self._wanted:
                raise self._wrong_size("is")
            if not (0 < size[0] <= 16384 and 0 < size[1] <= 16384):
                raise self.garbled(f"a screen of {size[0]}x{size[1]}")
            self.frame = np.zeros((size[1], size[0], 4), np.uint8)
            self._limit = 4 * size[0] * size[1] + MORE
            self.setPixelFormat(BGRX)
            self.take_encodings(ENCODINGS)
            self.ready = True

        def take_encodings(self, encodings: Sequence[Encoding]) -> None:
            """Say which encodings may come, the best first; with ``CURSOR`` the frame has no pointer, if need be."""
            self._allowed |= set(encodings)  # what is under way may still be in the others
            self.setEncodings(encodings)

        def _handleRectangle(self, block: bytes) -> None:
            x, y, width, height, encoding = struct.unpack("!HHHHi", block)
            if encoding not in self._allowed:
                raise self.garbled(f"encoding {encoding}, which was not asked for")
            if encoding in (Encoding.RAW, Encoding.COPY_RECTANGLE):
                self._view(x, y, width, height)
            super()._handleRectangle(block)

        def beginUpdate(self) -> None:
            """An update begins."""
            self._told = False

        def commitUpdate(self, rectangles: Any = None) -> None:
            """An update has ended."""
            self.updates += 1
            self.answers += self._told

        def updateRectangle(self, x: int, y: int, width: int, height: int, data: bytes) -> None:
            """Pixels: take them over, and note which are new."""
            if not width or not height:
                return
            new = np.frombuffer(data, np.uint8).reshape(height, width, 4)
            self._put(x, y, new)
            self.exact += (x, y, width, height) == (*self.pixel, 1, 1)
            self._told |= x <= self.pixel[0] < x + width and y <= self.pixel[1] < y + height

        def copyRectangle(self, srcx: int, srcy: int, x: int, y: int, width: int, height: int) -> None:
            """What is elsewhere on the screen is here too."""
            if width and height:
                self._put(x, y, self._view(srcx, srcy, width, height).copy())

        def updateCursor(self, x: int, y: int, width: int, height: int, image: bytes, mask: bytes) -> None:
            """The pointer looks so; (x, y) in it is where it points. One without a size is not to be seen."""
            if not width or not height:
                self.cursor = None
                return
            pixels = np.frombuffer(image, np.uint8).reshape(height, width, 4)
            bits = np.unpackbits(np.frombuffer(mask, np.uint8).reshape(height, -1), axis=1)[:, :width]
            self.cursor = Cursor((x, y), pixels, bits.astype(bool))

        def updateDesktopSize(self, width: int, height: int) -> None:
            """The screen's size has changed: the frames would no longer fit."""
            self.width, self.height = width, height
            if (width, height) != self.screen_size:
                raise self._wrong_size("has become")

        def vncRequestPassword(self) -> None:
            """The server wants a password."""
            if self.factory.password is None:
                raise MachineError(f"the VNC server {self.server} wants a password: give one", "no_password")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # DES is weak: known, and what the protocol has
                self.sendPassword(self.factory.password)

        def vncAuthFailed(self, reason: Any) -> None:
            """The password was wrong."""
            raise MachineError(
                f"the VNC server {self.server} refuses the password: {_text(reason) or 'it gives no reason'}",
                "wrong_password",
            )

        def vncProtocolError(self, reason: str) -> None:
            """The server sent what vncdotool has no use for."""
            if reason.startswith("Connection refused"):
                raise MachineError(f"the VNC server {self.server} refuses us: {reason}", "refused")
            if reason.startswith("unknown security types"):
                raise MachineError(
                    f"the VNC server {self.server} offers {reason[8:]}; let it offer None (1) or VncAuth (2) and "
                    "tunnel the connection",
                    "refused",
                )
            raise self.garbled(reason)

        # --- what follows from it

        def take_changes(self) -> list[tuple[float, Box]]:
            """When and where pixels have really changed since the last call."""
            changes, self.changes = self.changes, []
            return changes

        def garbled(self, what: str) -> MachineError:
            """The error for what no VNC server says."""
            return MachineError(f"{self.server} does not speak VNC as it should: {what[:300]}", "display_garbled")

        def _wrong_size(self, verb: str) -> MachineError:
            wanted = self._wanted or self.screen_size
            return MachineError(
                f"the screen of the VNC server {self.server} {verb} {self.width}x{self.height}, and {wanted[0]}x"
                f"{wanted[1]} was asked for: change the one or the other (screen_size)",
                "display_changed" if self.ready else "display_size",
            )

        def _view(self, x: int, y: int, width: int, height: int) -> NDArray[np.uint8]:
            if x + width > self.screen_size[0] or y + height > self.screen_size[1]:
                raise self.garbled(f"a rectangle {width}x{height}+{x}+{y} outside its screen")
            return self.frame[y : y + height, x : x + width]

        def _put(self, x: int, y: int, new: NDArray[np.uint8]) -> None:
            height, width = new.shape[:2]
            old = self._view(x, y, width, height)
            difference = (new.view(np.uint32) ^ old.view(np.uint32))[:, :, 0] & _COLORS
            left, top, across, down = cv2.boundingRect((difference != 0).view(np.uint8))
            if not across:
                return
            old[...] = new
            self.changes.append((time.monotonic(), (x + left, y + top, x + left + across, y + top + down)))


def whole(changes: list[tuple[float, Box]]) -> Box | None:
    """The box around all these changes."""
    box: Box | None = None
    for _, part in changes:
        box = part if box is None else union(box, part)
    return box


def _text(reason: Any) -> str:
    text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    return "".join(c if c.isprintable() else " " for c in text)[:300].strip()
