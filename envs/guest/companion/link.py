"""The companion's end of the link to its desktop: gives it connections to the service's ports, and to nothing else."""

from __future__ import annotations

import array
import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Sequence

MESSAGE = 4096
"""Most bytes of a message on the link: JSON, one per packet."""


class Link:
    """A socket pair of packets: ``{"id", "port"}`` comes in, ``{"id"}`` with a connected socket goes out, or ``error``.

    The connection is made here, so that it is one of the companion's own network, and handed over as a descriptor.
    There is one desktop at a time: opening the link ends the one before.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._ports: frozenset[int] = frozenset()
        self._given: set[int] = set()  # the other ends' ports of the connections that were handed over
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, ports: Sequence[int]) -> int:
        """A descriptor of the desktop's end, which the caller owns."""
        self.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._socket, self._ports = ours, frozenset(ports)
        asyncio.get_running_loop().add_reader(ours.fileno(), self._read, ours)
        return theirs.detach()

    def close(self) -> None:
        """End the link; connections that were handed over live on. Idempotent."""
        link, self._socket = self._socket, None
        if link is not None:
            asyncio.get_running_loop().remove_reader(link.fileno())
            link.close()

    async def quiet(self, timeout: float) -> bool:
        """Close the link, and wait until the service has closed all that was handed over; False when it has not.

        What the desktop asked for last may still be worked on when it is gone, and would change data that has been
        rolled back. A server closes a connection whose client is gone once it has answered.
        """
        self.close()
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while self._given & open_peers():
            if loop.time() > end:
                return False
            await asyncio.sleep(0.005)
        self._given.clear()
        return True

    def _read(self, link: socket.socket) -> None:
        try:
            packet = link.recv(MESSAGE)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet or link is not self._socket:
            self.close()
            return
        task = asyncio.get_running_loop().create_task(self._connect(link, json.loads(packet)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, link: socket.socket, request: dict[str, int]) -> None:
        answer: dict[str, object] = {"id": request["id"]}
        fds: list[int] = []
        with socket.socket() as connection:
            connection.setblocking(False)
            try:
                if request["port"] not in self._ports:
                    raise PermissionError(f"port {request['port']} is not the desktop's")
                await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", request["port"]))
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                fds.append(connection.fileno())
                self._given.add(connection.getsockname()[1])
            except OSError as error:
                answer["error"] = str(error)
            with contextlib.suppress(OSError):  # the desktop is gone
                link.sendmsg(
                    [json.dumps(answer).encode()],
                    [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [],
                )


def open_peers() -> set[int]:
    """The ports of those who are connected to a server that has not closed the connection."""
    found = set()
    for name in ("tcp", "tcp6"):
        if not os.path.exists(f"/proc/net/{name}"):
            continue
        with open(f"/proc/net/{name}") as table:
            for line in table.readlines()[1:]:
                _, _, remote, state = line.split()[:4]
                if state in _OPEN:
                    found.add(int(remote.rpartition(":")[2], 16))
    return found


_OPEN = ("01", "08")  # TCP_ESTABLISHED, TCP_CLOSE_WAIT (include/net/tcp_states.h)
