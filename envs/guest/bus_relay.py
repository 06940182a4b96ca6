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
CONNECTIONS = 256
"""How many may be open at once: an agent that opens more must not use up the guest's descriptors."""
PAUSE = 0.05  # seconds until it is looked again for room
_CREDENTIALS = struct.Struct("=3i")  # struct ucred: pid, uid, gid
_NAME = re.compile(rb":1\.\d+(?=\0)")
_LONGEST = 1024  # bytes of a login, and of an answer to Hello
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
            if len(self._tasks) > CONNECTIONS:
                await asyncio.sleep(PAUSE)
                continue
            try:
                client, _ = await loop.sock_accept(self._listener)
            except OSError:  # no descriptor is left
                await asyncio.sleep(PAUSE)
                continue
            client.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self._keep(self._lead(loop, client))

    async def _lead(self, loop: asyncio.AbstractEventLoop, client: socket.socket) -> None:
        link = _Link()

        def heard(by: Callable[[bytes, int], None]) -> Callable[[bytes, int], None]:
            def hear(piece: bytes, pid: int) -> None:
                by(piece, pid)
                self._note(link)

            return hear

        with contextlib.ExitStack() as stack:
            stack.enter_context(client)
            try:
                bus = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
            except OSError:
                return
            try:
                await loop.sock_connect(bus, self._behind)
            except OSError:
                return
            ways = [
                asyncio.ensure_future(_pass(loop, client, bus, heard(link.hear_program))),
                asyncio.ensure_future(_pass(loop, bus, client, heard(link.hear_bus))),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        if link.noted:
            self.processes.pop(link.name, None)

    def _note(self, link: _Link) -> None:
        """Both are known, the process and the name: from here on the bus's connection is that process's."""
        if link.pid and link.name and not link.noted and link.name not in self.processes:
            link.noted = True
            self.processes[link.name] = leader(link.pid)


class _Link:
    """One connection: the thread that speaks, and what the bus calls it."""

    def __init__(self) -> None:
        self.pid, self.name, self.noted = 0, "", False
        self._said: bytes | None = b""  # by the bus, until it has answered Hello

    def hear_program(self, piece: bytes, pid: int) -> None:
        """Something came from this thread; 0 where that is not known: it was sent before the relay knew of it."""
        self.pid = self.pid or pid

    def hear_bus(self, piece: bytes, pid: int) -> None:
        """The bus's first message, after the lines of the login, is its answer to Hello: it has the name."""
        if self._said is None:
            return
        self._said += piece
        while self._said[:1].isupper() and b"\r\n" in self._said:
            self._said = self._said.partition(b"\r\n")[2]
        if self._said[:2] == b"l\x02" and (found := _NAME.search(self._said)):
            self.name, self._said = found[0].decode(), None
        elif len(self._said) > _LONGEST:
            self._said = None


def leader(thread: int) -> int:
    """The process that a thread is of: gVisor names the thread in what comes with a message."""
    for name in os.listdir("/proc"):
        if name.isdigit() and os.path.exists(f"/proc/{name}/task/{thread}"):
            return int(name)
    return thread


def receive(source: socket.socket) -> tuple[bytes, int, list[int]]:
    """Some bytes, the thread that sent them or 0, and descriptors that came with them. Raises OSError."""
    piece, ancillary, *_ = source.recvmsg(PIECE, _ROOM, socket.MSG_CMSG_CLOEXEC)
    pid, fds = 0, array.array("i")
    for _, kind, data in ancillary:
        if kind == socket.SCM_CREDENTIALS:
            pid = _CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0]
        elif kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
    return piece, pid, list(fds)


async def _pass(
    loop: asyncio.AbstractEventLoop, source: socket.socket, target: socket.socket, seen: Callable[[bytes, int], None]
) -> None:
    """Pass on all that comes, with its descriptors, until one end is gone."""
    with contextlib.suppress(OSError):
        while True:
            try:
                piece, pid, fds = receive(source)
            except BlockingIOError:
                await until(loop.add_reader, loop.remove_reader, source)
                continue
            try:
                if not piece:
                    return
                seen(piece, pid)
                await _send(loop, target, piece, fds)
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
            await until(loop.add_writer, loop.remove_writer, target)


async def until(add: Callable[..., None], remove: Callable[..., object], sock: socket.socket) -> None:
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
