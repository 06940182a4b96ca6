"""A D-Bus connection made for asking one program hundreds of small questions at once.

Reading a tree is thousands of calls with answers of a few bytes, so what a call costs on our side decides. A future,
a validated message object and a system call each per question cost more than the program's answer. Here a call is one
joined byte string from a prepared template, all calls made in one turn of the event loop leave in one ``send``, and an
answer is passed as (buffer, offset) to a plain function that picks out what it knows to be there. Everything that is
not hot goes through dbus_fast's own marshalling (``Bus.call``).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections import deque
from collections.abc import Callable, Mapping
from io import BytesIO
from struct import Struct
from struct import error as StructError
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from dbus_fast import Message, MessageType, Variant
from dbus_fast._private.unmarshaller import Unmarshaller

from deskgym.envs.guest.accessibility.marshal import HEAD, header_fields, marshal, string_at

Answer = Callable[[Any, bytes, int, int], None]
"""Called with (token, buffer, offset of the body, its end) or, when the call failed, (token, b"", -1, -1)."""

_UINT = Struct("<I")
_CHUNK = 1 << 18
_LIMIT = 1 << 27  # D-Bus's own bound of a message
_REPLY_SERIAL_FIRST = b"\x05\x01u\x00"
_RETURN, _ERROR, _SIGNAL = 2, 3, 4
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
_NONE: Mapping[str, int] = MappingProxyType({})


class AccessibilityLost(ConnectionError):
    """The accessibility bus is gone: no more can be read until a new reader is connected."""

    kind = "accessibility_lost"


class CallFailed(Exception):
    """A program answered a call with an error, or with something that is not what was asked for."""


def addresses(address: str) -> list[str]:
    """The Unix socket addresses in a D-Bus address, as ``socket.connect`` takes them.

    Raises:
        AccessibilityLost: none of them is a Unix socket.
    """
    found = []
    for part in address.split(";"):
        transport, _, options = part.partition(":")
        values = dict(item.partition("=")[::2] for item in options.split(","))
        if transport == "unix" and "path" in values:
            found.append(unquote(values["path"]))
        elif transport == "unix" and "abstract" in values:
            found.append("\0" + unquote(values["abstract"]))
    if not found:
        raise AccessibilityLost(f"no Unix socket in the accessibility bus's address {address!r}")
    return found


class Bus:
    """One connection to a message bus.

    ``on_signal(sender, path, interface, member, detail)`` hears every signal that was asked for with a match rule;
    ``detail`` is its first argument if that is a string. ``lost`` says why there is no connection, if there is none.

    Args:
        address: where it listens, as D-Bus writes it.
        uid: whom the bus sees in us; this process's own if None.
        processes: whose a connection is, by its name, where the bus does not know better.
    """

    def __init__(self, address: str, uid: int | None = None, processes: Mapping[str, int] = _NONE) -> None:
        self.address, self._uid = address, os.geteuid() if uid is None else uid
        self._processes = processes
        self.lost: str | None = "not connected"
        self.on_signal: Callable[[str, str, str, str, str], None] | None = None
        self.calls = 0
        self._socket: socket.socket | None = None
        self._serial = 0
        self._pending: dict[int, tuple[Answer | None, Any]] = {}
        self._out: list[bytes] = []
        self._unsent = b""
        self._rest = b""
        self._writing = False

    async def connect(self) -> None:
        """Connect, authenticate and say Hello.

        Raises:
            AccessibilityLost: nobody listens there, or we are not let in.
        """
        self._loop = asyncio.get_running_loop()
        why: Exception | None = None
        for address in addresses(self.address):
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
            try:
                await self._loop.sock_connect(connection, address)
                await self._authenticate(connection)
            except OSError as error:
                connection.close()
                why = error
                continue
            self._socket, self.lost = connection, None
            self._loop.add_reader(connection.fileno(), self._readable)
            await self.call(*BUS, "Hello")
            return
        raise AccessibilityLost(f"cannot connect to the accessibility bus at {self.address!r}: {why}")

    async def _authenticate(self, connection: socket.socket) -> None:
        identity = str(self._uid).encode().hex().encode()
        await self._loop.sock_sendall(connection, b"\0AUTH EXTERNAL " + identity + b"\r\n")
        line = b""
        while not line.endswith(b"\r\n"):
            more = await self._loop.sock_recv(connection, 1024)
            if not more:
                raise ConnectionError("it closed the connection while authenticating")
            line += more
        if not line.startswith(b"OK "):
            raise ConnectionError(f"it refused uid {self._uid}: {line.decode(errors='replace').strip()}")
        await self._loop.sock_sendall(connection, b"BEGIN\r\n")

    async def process_of(self, name: str) -> int:
        """The process that has a connection."""
        if name in self._processes:
            return self._processes[name]
        return int((await self.call(*BUS, "GetConnectionUnixProcessID", "s", name))[0])

    async def close(self) -> None:
        """Close the connection; calls under way fail. Closing twice is fine."""
        self._lose("closed")

    def _lose(self, why: str) -> None:
        if self._socket is None:
            return
        with contextlib.suppress(OSError, ValueError):
            self._loop.remove_reader(self._socket.fileno())
            self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        self._socket, self.lost = None, why
        pending, self._pending = self._pending, {}
        for answer, token in pending.values():
            if answer is not None:
                answer(token, b"", -1, -1)
            elif not token.done():
                token.set_exception(self.error())

    def error(self) -> AccessibilityLost:
        """What to raise now that the bus is lost."""
        return AccessibilityLost(f"the accessibility bus at {self.address!r} is lost: {self.lost}")

    def send(self, prepared: bytes, path: bytes, body: bytes, answer: Answer, token: Any) -> None:
        """Call a method; ``answer`` is called once, when the answer or an error is there.

        The call leaves with the next turn of the event loop, together with all calls made in this one.
        """
        if self._socket is None:
            self._loop.call_soon(answer, token, b"", -1, -1)
            return
        self._serial += 1
        self.calls += 1
        self._pending[self._serial] = (answer, token)
        self._queue(marshal(self._serial, prepared, path, body))

    async def call(
        self, destination: str, path: str, interface: str, member: str, signature: str = "", *body: Any
    ) -> list[Any]:
        """Call a method and wait for its answer: variants are unwrapped.

        Raises:
            CallFailed: the answer is an error.
            AccessibilityLost: the connection broke.
        """
        if self._socket is None:
            raise self.error()
        self._serial += 1
        self.calls += 1
        message = Message(
            destination=destination, path=path, interface=interface, member=member, signature=signature,
            body=list(body), serial=self._serial,
        )  # fmt: skip
        future: asyncio.Future[bytes] = self._loop.create_future()
        self._pending[self._serial] = (None, future)
        self._queue(bytes(message._marshall(False)))
        reply = Unmarshaller(BytesIO(await future)).unmarshall()  # type: ignore[arg-type]
        if reply is None or reply.message_type is MessageType.ERROR:
            name = reply.error_name if reply is not None else "a broken answer"
            text = reply.body[0] if reply is not None and reply.body else ""
            raise CallFailed(f"{interface}.{member} on {destination}{path}: {name}: {text}")
        return [_plain(value) for value in reply.body]

    def _queue(self, message: bytes) -> None:
        if not self._out and not self._writing:
            self._loop.call_soon(self._flush)
        self._out.append(message)

    def _flush(self) -> None:
        if self._socket is None:
            self._out.clear()
            return
        data = self._unsent + b"".join(self._out)
        self._out.clear()
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._lose(str(error))
            return
        self._unsent = data[sent:]
        if self._unsent and not self._writing:
            self._writing = True
            self._loop.add_writer(self._socket.fileno(), self._flush)
        elif not self._unsent and self._writing:
            self._writing = False
            self._loop.remove_writer(self._socket.fileno())

    def _readable(self) -> None:
        if self._socket is None:
            return
        try:
            more = self._socket.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            self._lose(str(error))
            return
        if not more:
            self._lose("the bus closed the connection")
            return
        data = self._rest + more if self._rest else more
        position, end = 0, len(data)
        while end - position >= 16:
            endian, kind, _, _, body_size, _, fields = HEAD.unpack_from(data, position)
            if endian != 108 or body_size + fields > _LIMIT:
                self._lose("a message that is not D-Bus of this machine")
                return
            body = position + 16 + fields + (-fields % 8)
            stop = body + body_size
            if stop > end:
                break
            # An error in what one program sent must not stop the reading of the others.
            with contextlib.suppress(StructError, ValueError, IndexError):
                self._dispatch(data, kind, position, fields, body, stop)
            position = stop
        self._rest = data[position:]

    def _dispatch(self, data: bytes, kind: int, start: int, size: int, body: int, stop: int) -> None:
        if kind == _RETURN or kind == _ERROR:
            if data[start + 16 : start + 20] == _REPLY_SERIAL_FIRST:
                serial = _UINT.unpack_from(data, start + 20)[0]
            else:
                # Offsets in a header count from its own start: cut it out so that alignment holds.
                serial = header_fields(data[start + 16 : start + 16 + size], 0, size).get(5)
            answer, token = self._pending.pop(serial, (None, None))
            if answer is not None:
                if kind == _RETURN:
                    try:
                        answer(token, data, body, stop)
                    except (StructError, ValueError, IndexError, KeyError):
                        answer(token, b"", -1, -1)
                else:
                    answer(token, b"", -1, -1)
            elif token is not None and not token.done():
                token.set_result(data[start:stop])
        elif kind == _SIGNAL and self.on_signal is not None:
            fields = header_fields(data[start + 16 : start + 16 + size], 0, size)
            detail = string_at(data, body) if str(fields.get(8, "")).startswith("s") else ""
            sender, path, interface, member = (str(fields.get(code, "")) for code in (7, 1, 2, 3))
            self.on_signal(sender, path, interface, member, detail)


def _plain(value: Any) -> Any:
    if isinstance(value, Variant):
        return _plain(value.value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


class Window:
    """The calls under way to one program: never more than ``limit``, so that a hung one holds little."""

    def __init__(self, bus: Bus, limit: int = 128) -> None:
        self.bus, self.limit = bus, limit
        self.waiting: deque[tuple[bytes, bytes, bytes, Answer, Any]] = deque()
        self.open = 0
        self.answered = 0
        self.closed = False
        self.on_idle: Callable[[], None] | None = None

    def send(self, prepared: bytes, path: bytes, body: bytes, answer: Answer, token: Any) -> None:
        """As ``Bus.send``, or later when too many are under way; never answered after ``close``."""
        if self.open < self.limit:
            self.open += 1
            self.bus.send(prepared, path, body, self._answer, (answer, token))
        else:
            self.waiting.append((prepared, path, body, answer, token))

    def _answer(self, call: tuple[Answer, Any], data: bytes, at: int, end: int) -> None:
        self.open -= 1
        self.answered += at >= 0
        if self.closed:
            if not self.open and self.on_idle is not None:
                self.on_idle()
            return
        try:
            call[0](call[1], data, at, end)
        except (StructError, ValueError, IndexError, KeyError):
            call[0](call[1], b"", -1, -1)
        if self.waiting and self.open < self.limit:
            prepared, path, body, answer, token = self.waiting.popleft()
            self.open += 1
            self.bus.send(prepared, path, body, self._answer, (answer, token))
        elif not self.open and self.on_idle is not None:
            self.on_idle()

    def close(self) -> None:
        """Forget all that has not been answered; ``on_idle`` is still called once no call is under way."""
        self.closed = True
        self.waiting.clear()
