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


class WithDescriptor(dict[str, Any]):
    """A result that carries a file descriptor with it, which is closed once it is sent."""

    fd: int


class Channel:
    """Frames over a non-blocking descriptor: a Unix socket, or a character device (virtio-serial).

    Args:
        loop: the event loop.
        fd: the descriptor.
        on_frame: called with each message.
        on_end: called once, when the other end is gone or sends garbage.
        parse: makes a message of a frame's body, or raises.
        descriptors: a socket carries them.

    Attributes:
        carries_descriptors: whether they can come and go through it.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        fd: int,
        on_frame: Callable[[dict[str, Any]], None],
        on_end: Callable[[], None],
        parse: Callable[[bytes], Any] = unpack,
        descriptors: bool = True,
    ) -> None:
        self._loop, self._fd, self._on_frame, self._on_end = loop, fd, on_frame, on_end
        self._parse = parse
        self._buffer = bytearray()
        self._received: list[int] = []
        self.carries_descriptors = descriptors and stat.S_ISSOCK(os.fstat(fd).st_mode)
        self._socket = socket.socket(fileno=os.dup(fd)) if self.carries_descriptors else None
        os.set_inheritable(fd, False)
        os.set_blocking(fd, False)
        loop.add_reader(fd, self._read)

    def _read(self) -> None:
        try:
            piece = os.read(self._fd, 1 << 18) if self._socket is None else self._receive(self._socket)
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

    def _receive(self, sock: socket.socket) -> bytes:
        """Some bytes of the stream; a descriptor that comes with them is kept until the next one comes."""
        piece, ancillary, _, _ = sock.recvmsg(1 << 18, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        for _, _, rights in ancillary:
            fds = array.array("i")
            fds.frombytes(rights[: len(rights) - len(rights) % fds.itemsize])
            for fd in self._received:
                os.close(fd)
            self._received = list(fds)
        return piece

    def take_descriptor(self) -> int:
        """The descriptor that came with the present message; the caller owns it. Raises LookupError."""
        if not self._received:
            raise LookupError("no descriptor came with the request")
        return self._received.pop(0)

    def _end(self) -> None:
        self.detach()
        self._on_end()

    def detach(self) -> None:
        """Listen no more; the descriptor stays open. Idempotent."""
        self._loop.remove_reader(self._fd)
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    async def send(self, message: dict[str, Any], fds: tuple[int, ...] = ()) -> None:
        """Send one message; ``fds`` go along with its first byte (Unix sockets only)."""
        view = memoryview(pack(message))
        if fds and self._socket is not None:
            view = view[socket.send_fds(self._socket, [view], list(fds)) :]
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
