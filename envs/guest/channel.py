"""The guest's end of the control channel: frames in, answers out, and the end of the world at EOF."""

from __future__ import annotations

import array
import asyncio
import os
import socket
import stat
from collections.abc import Callable
from typing import Any

from deskgym.envs.guest.protocol import HEADER, MAX_FRAME, pack, unpack


class Channel:
    """Frames over a non-blocking descriptor: a Unix socket, or a character device (virtio-serial).

    Args:
        loop: the event loop.
        fd: the descriptor.
        on_frame: called with each message.
        on_end: called once, when the other end is gone or sends garbage.
        parse: makes a message of a frame's body, or raises.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_frame: Callable[[dict[str, Any]], None],
        on_end: Callable[[], None],
        parse: Callable[[bytes], Any] = unpack,
    ) -> None:
        self._loop, self._fd, self._on_frame, self._on_end = loop, fd, on_frame, on_end
        self._parse = parse
        self._buffer = bytearray()
        self.is_socket = stat.S_ISSOCK(os.fstat(fd).st_mode)
        os.set_inheritable(fd, False)
        os.set_blocking(fd, False)
        loop.add_reader(fd, self._read)

    def _read(self) -> None:
        try:
            piece = os.read(self._fd, 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._end()
            return
        buffer = self._buffer
        buffer += piece
        while len(buffer) >= HEADER.size:
            (size,) = HEADER.unpack_from(buffer)
            if size > MAX_FRAME:
                self._end()
                return
            if len(buffer) < HEADER.size + size:
                return
            body = bytes(buffer[HEADER.size : HEADER.size + size])
            del buffer[: HEADER.size + size]
            try:
                message = self._parse(body)
            except Exception:
                self._end()
                return
            self._on_frame(message)

    def _end(self) -> None:
        self.detach()
        self._on_end()

    def detach(self) -> None:
        """Listen no more; the descriptor stays open. Idempotent."""
        self._loop.remove_reader(self._fd)

    async def send(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        """Send one message; ``fds`` go along with its first byte (Unix sockets only)."""
        view = memoryview(pack(message))
        if fds:
            ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            with socket.socket(fileno=os.dup(self._fd)) as sock:
                sock.setblocking(False)
                view = view[sock.sendmsg([view], ancillary) :]
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except BlockingIOError:
                await self._writable()

    async def _writable(self) -> None:
        room = self._loop.create_future()
        self._loop.add_writer(self._fd, _set, room)
        try:
            await room
        finally:
            self._loop.remove_writer(self._fd)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
