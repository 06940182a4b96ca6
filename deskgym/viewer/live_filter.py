"""What a viewer may send to a machine that it only looks at."""

from __future__ import annotations

VERSION, SECURITY, VNC_AUTH, CLIENT_INIT = 12, 1, 16, 1
"""Bytes of a client's part of the handshake (RFC 6143, 7.1 and 7.2.2)."""

_PIXEL_FORMAT, _ENCODINGS, _UPDATE_REQUEST, _KEY, _POINTER, _CUT_TEXT = 0, 2, 3, 4, 5, 6
_CONTINUOUS, _FENCE, _XVP, _DESKTOP_SIZE, _QEMU = 150, 248, 250, 251, 255
_KEPT = {_PIXEL_FORMAT, _ENCODINGS, _UPDATE_REQUEST, _CONTINUOUS, _FENCE}
_FIXED = {_PIXEL_FORMAT: 20, _UPDATE_REQUEST: 10, _KEY: 8, _POINTER: 6, _CONTINUOUS: 10, _XVP: 4}
_EXTENDED_KEY = 0  # the only one of QEMU's messages that a viewer sends without having been offered sound
_SHARED = b"\1"


class NotViewOnly(ValueError):
    """The viewer speaks something of which it cannot be known where its keys and clicks are."""


class ViewOnlyFilter:
    """Passes on what asks for pictures, and drops the rest: keys, pointer, clipboard, screen size, power.

    It reads the viewer's half of an RFB connection, in pieces cut anywhere. What it does not know it refuses, because
    the next message's beginning could not be found: the security types beyond "none" and "VNC password", and messages
    of unknown types.
    """

    def __init__(self) -> None:
        self._waiting = bytearray()
        self._skip = 0  # bytes of a dropped message that are still to come
        self._expect = ["version", "security", "init"]

    def feed(self, data: bytes) -> bytes:
        """Take what the viewer sent; returns what the server may have.

        Raises:
            NotViewOnly: it is nothing that this knows.
        """
        self._waiting += data
        passed = bytearray()
        while self._waiting:
            if self._skip:
                cut = min(self._skip, len(self._waiting))
                self._skip -= cut
                del self._waiting[:cut]
                continue
            size, keep = self._handshake() if self._expect else self._message()
            if not size:
                break
            if not keep:
                self._skip = size
                continue
            if len(self._waiting) < size:
                break
            part = self._waiting[:size]
            del self._waiting[:size]
            passed += self._advance(bytes(part)) if self._expect else part
        return bytes(passed)

    def _handshake(self) -> tuple[int, bool]:
        sizes = {"version": VERSION, "security": SECURITY, "password": VNC_AUTH, "init": CLIENT_INIT}
        return sizes[self._expect[0]], True

    def _advance(self, part: bytes) -> bytes:
        step = self._expect.pop(0)
        if step == "version" and part not in (b"RFB 003.007\n", b"RFB 003.008\n"):
            raise NotViewOnly(f"the viewer wants RFB version {part[4:11]!r}; view-only needs 003.007 or 003.008")
        if step == "security":
            if part[0] not in (1, 2):
                raise NotViewOnly(f"security type {part[0]}: view-only knows 1 (none) and 2 (VNC password)")
            if part[0] == 2:
                self._expect.insert(0, "password")
        return _SHARED if step == "init" else part  # who asks for the screen alone throws all others out

    def _message(self) -> tuple[int, bool]:
        """The size of the next message, 0 while too little of it is known, and whether it is passed on."""
        data, kind = self._waiting, self._waiting[0]
        size = _FIXED.get(kind, 0)
        if kind == _ENCODINGS and len(data) >= 4:
            size = 4 + 4 * int.from_bytes(data[2:4])
        elif kind == _FENCE and len(data) >= 9:
            size = 9 + data[8]
        elif kind == _DESKTOP_SIZE and len(data) >= 8:
            size = 8 + 16 * data[6]
        elif kind == _CUT_TEXT and len(data) >= 8:
            size = 8 + abs(int.from_bytes(data[4:8], signed=True))  # less than 0 for the extended clipboard
        elif kind == _QEMU and len(data) >= 2:
            if data[1] != _EXTENDED_KEY:
                raise NotViewOnly(f"QEMU message {data[1]}")
            size = 12
        elif kind not in {*_FIXED, _ENCODINGS, _FENCE, _DESKTOP_SIZE, _CUT_TEXT, _QEMU}:
            raise NotViewOnly(f"message type {kind}")
        return size, kind in _KEPT
