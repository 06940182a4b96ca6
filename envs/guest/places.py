"""Where a guest can be reached: ``unix:/path`` or ``tcp:host:port``; for the guest and for its host."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from dataclasses import dataclass

FORMS = "'unix:/path' and 'tcp:HOST:PORT'"


@dataclass(frozen=True)
class Place:
    """An address.

    Attributes:
        host: name or IP address, or the absolute path of a Unix socket.
        port: TCP port; None for a Unix socket.
    """

    host: str
    port: int | None = None

    @classmethod
    def parse(cls, text: object) -> Place:
        """From a text.

        >>> Place.parse("unix:/run/guest"), Place.parse("tcp:[::1]:7100")
        (Place(host='/run/guest', port=None), Place(host='::1', port=7100))

        Raises:
            ValueError: it is no such address.
        """
        kind, _, rest = text.partition(":") if isinstance(text, str) else ("", "", "")
        if kind == "unix" and rest.startswith("/") and "\0" not in rest:
            return cls(rest)
        host, _, port = rest.rpartition(":")
        if kind == "tcp" and host and port.isascii() and port.isdigit() and 0 < int(port) < 65536:
            return cls(host.removeprefix("[").removesuffix("]"), int(port))
        raise ValueError(f"{text!r} is no address of a guest; legal are {FORMS}")

    def __str__(self) -> str:
        return f"unix:{self.host}" if self.port is None else f"tcp:{self.host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether only this host can reach it."""
        if self.port is None or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def connect(self, timeout: float) -> socket.socket:
        """A connected socket. Raises OSError."""
        return connect(self.host, self.port, timeout)

    def listen(self) -> socket.socket:
        """A listening socket; one of the file system is for its owner only. Raises OSError."""
        if self.port is not None:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            return socket.create_server((self.host, self.port), family=family)
        self._remove_dead()
        listening = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listening.bind(self.host)
            listening.listen()
        except BaseException:
            listening.close()
            raise
        finally:
            os.umask(before)
        return listening

    def _remove_dead(self) -> None:
        """Remove the socket of a guest that was killed."""
        try:
            if not stat.S_ISSOCK(os.lstat(self.host).st_mode):
                raise OSError(f"{self.host} exists and is no socket")
        except FileNotFoundError:
            return
        try:
            self.connect(1.0).close()
        except ConnectionRefusedError:
            os.unlink(self.host)
        else:
            raise OSError(f"another guest listens at {self.host}")


def connect(host: str, port: int | None, timeout: float) -> socket.socket:
    """A socket that is connected by TCP, or without a port to the Unix socket at the path ``host``.

    Raises:
        OSError: the host is unknown, the port is refused, or there is no answer in time.
    """
    if port is not None:
        connected = socket.create_connection((host, port), timeout)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connected
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.settimeout(timeout)
        connected.connect(host)
    except BaseException:
        connected.close()
        raise
    return connected
