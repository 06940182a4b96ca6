"""The desktop's relay to its companions: listens on the services' ports, and knows when a page is loading.

Its ``Requests`` live in the guest's process, so that the settling reads them for nothing (``guest.pages``), and the
agent can reach them only by making requests.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import fnmatch
import itertools
import json
import socket
from collections.abc import Callable, Sequence
from typing import Any

from deskgym.envs.guest.http_watch import Allowance, HttpWatch
from deskgym.envs.guest.requests import Requests

PIECE = 1 << 16
CONNECT_TIMEOUT = 10.0
CONNECTIONS = 256
"""How many may be open at once: an agent that opens more must not use up the guest's descriptors."""
BACKLOG = 64

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Relay:
    """Ports of 127.0.0.1 that lead to the services of one companion each."""

    def __init__(self) -> None:
        self.requests = Requests()
        self._connections = 0
        self._allowance = Allowance()

    async def open(self, link: int, ports: Sequence[int], uncounted: Sequence[str] = ()) -> dict[str, Any]:
        """Listen on ``ports`` and lead what connects to the companion at the other end of ``link``.

        Args:
            link: descriptor of the desktop's end; see ``deskgym.envs.guest.companion.link``.
            ports: equal on both sides.
            uncounted: globs of paths whose requests do not count.
        """
        gate = _Gate(socket.socket(fileno=link))

        def counts(path: str) -> bool:
            return not any(fnmatch.fnmatchcase(path.partition("?")[0], glob) for glob in uncounted)

        for port in ports:
            await asyncio.start_server(self._leader(gate, port, counts), "127.0.0.1", port, backlog=BACKLOG)
            with contextlib.suppress(OSError):  # a machine may have no IPv6; browsers try it first for "localhost"
                await asyncio.start_server(self._leader(gate, port, counts), "::1", port, backlog=BACKLOG)
        return {}

    async def forward(self, link: int, port: int) -> int:
        """Listen on a free port of 127.0.0.1, which leads to ``port`` at the other end of ``link``; gives it."""
        gate = _Gate(socket.socket(fileno=link))
        server = await asyncio.start_server(
            self._leader(gate, port, lambda path: False), "127.0.0.1", 0, backlog=BACKLOG
        )
        return int(server.sockets[0].getsockname()[1])

    def _leader(self, gate: _Gate, port: int, counts: Callable[[str], bool]) -> Callable[..., Any]:
        async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.requests.connect()
            if self._connections >= CONNECTIONS:
                writer.transport.abort()
                return
            self._connections += 1
            try:
                there = await asyncio.open_connection(sock=await gate.connect(port), limit=PIECE)
                self.requests.connect()
                await self._join((reader, writer), there, counts)
            except (OSError, TimeoutError):
                writer.transport.abort()  # as a port where nobody listens does
            finally:
                self._connections -= 1

        return lead

    async def _join(self, here: Stream, there: Stream, counts: Callable[[str], bool]) -> None:
        """Carry bytes both ways until both ends are done, or one breaks."""
        watch = HttpWatch(self.requests.begin, self.requests.end, counts, self._allowance)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(here[0], there[1], before=watch.sent))
                group.create_task(_pump(there[0], here[1], after=watch.received))
        except* OSError:
            pass
        finally:
            watch.close()
            for _, end in (here, there):
                end.transport.abort() if end.is_closing() else end.close()


async def _pump(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    before: Callable[[bytes], None] | None = None,
    after: Callable[[bytes], None] | None = None,
) -> None:
    while data := await reader.read(PIECE):
        if before is not None:
            before(data)
        writer.write(data)
        await writer.drain()
        if after is not None:
            after(data)
    if after is not None:
        after(b"")
    if writer.can_write_eof():
        writer.write_eof()


class _Gate:
    """Asks the companion for connections."""

    def __init__(self, link: socket.socket) -> None:
        link.setblocking(False)
        self._link = link
        self._waiting: dict[int, asyncio.Future[socket.socket]] = {}
        self._numbers = itertools.count(1)
        asyncio.get_running_loop().add_reader(link.fileno(), self._read)

    async def connect(self, port: int) -> socket.socket:
        """A socket that is connected to this port of the companion. Raises OSError."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._link.send(json.dumps({"id": number, "port": port}).encode())
            return await asyncio.wait_for(answer, CONNECT_TIMEOUT)
        finally:
            self._waiting.pop(number, None)

    def _read(self) -> None:
        try:
            data, ancillary, _, _ = self._link.recvmsg(4096, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        fds = array.array("i")
        for _, _, rights in ancillary:
            fds.frombytes(rights[: len(rights) - len(rights) % fds.itemsize])
        connection = socket.socket(fileno=fds[0]) if fds else None
        if not data:
            asyncio.get_running_loop().remove_reader(self._link.fileno())
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ConnectionResetError("the companion is gone"))
            return
        message = json.loads(data)
        waiting = self._waiting.get(message["id"])
        if waiting is not None and not waiting.done():
            if connection is not None:
                connection.setblocking(False)
                waiting.set_result(connection)
                return
            waiting.set_exception(ConnectionRefusedError(message.get("error", "")))
        elif connection is not None:
            connection.close()
