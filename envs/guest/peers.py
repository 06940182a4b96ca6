"""Talks to a launched program over a socket or the session bus, and makes sure that nobody else answers.

The agent can bind a program's port, replace its socket or take its name on the bus. So the peer's process is looked up
in what only the kernel and the bus know, and must belong to the program.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deskgym.envs.guest.launched import Family, name_of

if TYPE_CHECKING:
    from deskgym.envs.guest.accessibility.bus import Bus

_LISTEN = "0A"  # TCP_LISTEN (include/net/tcp_states.h)
_BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")


class ForeignPeer(Exception):
    """Somebody else than the program answers; the message says who."""

    kind = "ForeignPeer"


async def ask_socket(
    family: Family,
    data: bytes,
    path: str | None = None,
    port: int | None = None,
    until: bytes | None = None,
    half_close: bool = True,
    first: bool = False,
    limit: int = 1 << 20,
    timeout: float = 5.0,
    told: bool = True,
) -> dict[str, Any]:
    """Send ``data`` to a program's Unix socket or to its port of 127.0.0.1, and give what it answers.

    Args:
        family: the program.
        data: what is sent.
        path: of the Unix socket.
        port: instead of it.
        until: the answer ends with this; None: with the end of the stream.
        half_close: without ``until``, the program is told that no more comes.
        first: at the Unix socket, the process that was started must answer, and none that it started: where the agent
            can have the program start anything.
        limit: most bytes of the answer.
        told: the kernel tells who is at a Unix socket's other end; gVisor does not, but who sent each piece.
        timeout: seconds for everything.

    Raises:
        ForeignPeer: another program answers there.
        ValueError: there is neither a path nor a port, or the answer is too long.
        OSError: nobody answers there.
        TimeoutError: no complete answer came.
    """
    if (path is None) == (port is None):
        raise ValueError("give the path of a Unix socket or a port")
    async with asyncio.timeout(timeout):
        if path is not None and not told:
            ends = until or (b"" if half_close else None)
            return {"answer": await _ask_sender(family, data, path, ends, first, limit)}
        if path is not None:
            reader, writer = await asyncio.open_unix_connection(path, limit=limit)
            peer = writer.get_extra_info("socket").getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            _require(family, {struct.unpack("3i", peer)[0]}, path, first)
        else:
            assert port is not None
            _require_listener(family, port)
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=limit)
        try:
            writer.write(data)
            await writer.drain()
            if until is None and half_close:
                writer.write_eof()
            try:
                answer = await (reader.readuntil(until) if until else reader.read(limit + 1))
                while until is None and (piece := await reader.read(limit + 1)):
                    answer += piece
                    if len(answer) > limit:
                        break
            except (asyncio.LimitOverrunError, asyncio.IncompleteReadError) as error:
                raise ValueError(f"its answer does not end with {until!r}: {error}") from None
            if len(answer) > limit:
                raise ValueError(f"its answer is longer than {limit} bytes")
            if port is not None:
                _require_listener(family, port)  # nobody has taken its place meanwhile
            return {"answer": answer}
        finally:
            writer.close()


async def _ask_sender(family: Family, data: bytes, path: str, ends: bytes | None, first: bool, limit: int) -> bytes:
    """Ask at a Unix socket where every piece says who has sent it.

    It ends with ``ends``; b"": with the stream, and the program is told that no more comes; None: it is not told.
    """
    from deskgym.envs.guest.bus_relay import leader, receive, until  # here, since only gVisor needs it

    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        await loop.sock_connect(sock, path)
        await loop.sock_sendall(sock, data)
        if ends == b"":
            sock.shutdown(socket.SHUT_WR)
        answer = b""
        while not (ends and answer.endswith(ends)):
            try:
                piece, sender, fds = receive(sock)
            except BlockingIOError:
                await until(loop.add_reader, loop.remove_reader, sock)
                continue
            for fd in fds:
                os.close(fd)
            if not piece:
                break
            _require(family, {leader(sender)} if sender else set(), path, first)
            answer += piece
            if len(answer) > limit:
                raise ValueError(f"its answer is longer than {limit} bytes")
        if ends and not answer.endswith(ends):
            raise ValueError(f"its answer does not end with {ends!r}")
        return answer


async def ask_bus(
    family: Family, bus: Bus, name: str, path: str, interface: str, member: str, signature: str = "",
    arguments: Sequence[Any] = (), timeout: float = 5.0,
) -> dict[str, Any]:  # fmt: skip
    """Call a method of a program on the session bus; gives its answer's values.

    Args:
        family: the program.
        bus: the session bus.
        name: the program's name on the bus.
        path: of the object.
        interface: of the method.
        member: the method.
        signature: of its arguments.
        arguments: JSON-able.
        timeout: seconds.

    Raises:
        ForeignPeer: another program has that name.
        TimeoutError: no answer came.
    """
    async with asyncio.timeout(timeout):
        owner = (await bus.call(*_BUS, "GetNameOwner", "s", name))[0]  # a unique name never becomes another's
        _require(family, {await bus.process_of(str(owner))}, name)
        return {"answer": list(await bus.call(owner, path, interface, member, signature, *arguments))}


def _require(family: Family, peers: set[int], where: str, first: bool = False) -> None:
    believed = family.believed()
    if not peers or not peers <= (believed & family.first() if first else believed):
        raise ForeignPeer(
            f"at {where} answers {listed(peers) or 'nobody'}, which is not {family.name} as it was launched"
        )


def listed(pids: set[int]) -> str:
    """Processes, for a message."""
    return ", ".join(f"{name_of(pid) or 'a process that has ended'} ({pid})" for pid in sorted(pids))


def _require_listener(family: Family, port: int) -> None:
    """All that listens at the port must be the program's."""
    inodes = listening(port)
    if not inodes:
        raise ConnectionRefusedError(f"nobody listens at port {port}")
    own = {inode for pid in family.believed() for inode in _sockets(pid)}
    if not inodes <= own:
        holders = {int(pid) for pid in os.listdir("/proc") if pid.isdigit() and inodes & _sockets(int(pid))}
        _require(family, holders - family.believed() or {0}, f"port {port}")


def listening(port: int) -> set[int]:
    """The inodes of the sockets that listen at a TCP port."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        if not os.path.exists(table):
            continue
        with open(table) as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(int(fields[9]))
    return found


def _sockets(pid: int) -> set[int]:
    """The inodes of a process's sockets."""
    found = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:
        pass  # it has ended
    return found
