"""A door before a message bus that knows which process each connection is of, where the kernel does not tell the bus.

gVisor answers SO_PEERCRED with the process that asks, so that a bus takes all its connections for its own. What comes
with a message (SCM_CREDENTIALS) is true. Messages go through unread, but for the name that the bus gives at first.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import os
import re
import socket
import struct
from collections.abc import Awaitable, Callable

PIECE = 1 << 16
MOST_FDS = 16
BACKLOG = 64
_CREDENTIALS = struct.Struct("=3i")  # struct ucred: pid, uid, gid
_NAME = re.compile(rb":1\.\d+(?=\0)")
_ROOM = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(MOST_FDS * array.array("i").itemsize)


class BusRelay:
    """Listens at ``path`` and leads what connects to the bus at ``behind``.

    Args:
        path: a Unix socket that is made.
        behind: the bus's own, as ``socket.connect`` takes it.
        owner: uid and gid of ``path``.

    Attributes:
        processes: whose each connection is, by the bus's name for it.
    """

    def __init__(self, path: str, behind: str, owner: tuple[int, int]) -> None:
        self.processes: dict[str, int] = {}
        self._behind = behind
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._listener.bind(path)
        os.chown(path, *owner)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._listener.listen(BACKLOG)
        self._tasks: set[asyncio.Future[None]] = set()
        self._keep(self._accept())

    def _keep(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            client, _ = await loop.sock_accept(self._listener)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._keep(self._lead(loop, client))

    async def _lead(self, loop: asyncio.AbstractEventLoop, client: socket.socket) -> None:
        bus = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        link = _Link()
        with client, bus:
            try:
                await loop.sock_connect(bus, self._behind)
            except OSError:
                return
            ways = [
                asyncio.ensure_future(_pass(loop, client, bus, link.note_sender)),
                asyncio.ensure_future(_pass(loop, bus, client, lambda piece, pid: self._learn(link, piece))),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        self.processes.pop(link.name, None)

    def _learn(self, link: _Link, piece: bytes) -> None:
        """The bus's first message is its answer to Hello: the name that it gives."""
        if not link.name and link.pid and (found := _NAME.search(piece)):
            link.name = found[0].decode()
            self.processes[link.name] = _leader(link.pid)


class _Link:
    """One connection: the thread that speaks, and what the bus calls it."""

    def __init__(self) -> None:
        self.pid, self.name = 0, ""

    def note_sender(self, piece: bytes, pid: int) -> None:
        """Something came from this thread."""
        self.pid = pid or self.pid


def _leader(thread: int) -> int:
    """The process that a thread is of: gVisor names the thread in what comes with a message."""
    for name in os.listdir("/proc"):
        if name.isdigit() and os.path.exists(f"/proc/{name}/task/{thread}"):
            return int(name)
    return thread


async def _pass(
    loop: asyncio.AbstractEventLoop, source: socket.socket, target: socket.socket, seen: Callable[[bytes, int], None]
) -> None:
    """Pass on all that comes, with its descriptors, until one end is gone."""
    with contextlib.suppress(OSError):
        while True:
            try:
                piece, ancillary, *_ = source.recvmsg(PIECE, _ROOM, socket.MSG_CMSG_CLOEXEC)
            except BlockingIOError:
                await _until(loop.add_reader, loop.remove_reader, source)
                continue
            pid, fds = 0, array.array("i")
            for _, kind, data in ancillary:
                if kind == socket.SCM_CREDENTIALS:
                    pid = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
                elif kind == socket.SCM_RIGHTS:
                    fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
            try:
                if not piece:
                    return
                seen(piece, pid)
                await _send(loop, target, piece, list(fds))
            finally:
                for fd in fds:
                    os.close(fd)


async def _send(loop: asyncio.AbstractEventLoop, target: socket.socket, piece: bytes, fds: list[int]) -> None:
    view = memoryview(piece)
    while view:
        try:
            view = view[socket.send_fds(target, [view], fds) if fds else target.send(view) :]
            fds = []
        except BlockingIOError:
            await _until(loop.add_writer, loop.remove_writer, target)


async def _until(add: Callable[..., None], remove: Callable[..., object], sock: socket.socket) -> None:
    """Wait until a socket can be read, or written."""
    ready = asyncio.get_running_loop().create_future()
    add(sock, _set, ready)
    try:
        await ready
    finally:
        remove(sock)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
