"""Where a VNC server is: vncdotool's and vncviewer's way of writing it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

FORMS = "'host:DISPLAY' (port 5900 + DISPLAY), 'host::PORT', '[IPv6]:DISPLAY', or '/path' of a Unix socket"
FIRST_PORT = 5900
DISPLAYS = 100  # whose ports are hardly anything else's


@dataclass(frozen=True)
class VncAddress:
    """A VNC server's address.

    Attributes:
        host: its name or IP address, or the path of its Unix socket.
        port: its TCP port; None for a Unix socket.
    """

    host: str
    port: int | None = None

    @classmethod
    def parse(cls, text: object) -> VncAddress:
        """From one of ``FORMS``; a host alone is its display 0, and no host is this one.

        >>> VncAddress.parse("desk:1"), VncAddress.parse(":2").port, VncAddress.parse("[::1]::5907").port
        (VncAddress(host='desk', port=5901), 5902, 5907)

        Raises:
            ValueError: it is none of them.
        """
        if not isinstance(text, str) or not text.strip() or "\0" in text:
            raise ValueError(f"VNC address {text!r}; legal are {FORMS}")
        if text.startswith("/"):
            return cls(text)
        host, rest = _host(text)
        if not rest:
            return cls(host, FIRST_PORT)
        is_port = rest.startswith("::")
        number = rest.lstrip(":")
        if rest.count(":") > 2 or not (number.isascii() and number.isdigit()):
            raise ValueError(f"VNC address {text!r} ends in no display or port; legal are {FORMS}")
        if not is_port and int(number) >= FIRST_PORT:
            raise ValueError(f"VNC address {text!r}: display {number} is likely to be a port: write '{host}::{number}'")
        port = int(number) if is_port else FIRST_PORT + int(number)
        if not 0 < port < 65536:
            raise ValueError(f"VNC address {text!r} means port {port}: there are 1 to 65535")
        return cls(host, port)

    def __str__(self) -> str:
        """As it is written: a port that stands for a display as the display.

        >>> str(VncAddress.parse("desk:1")), str(VncAddress.parse("[::1]::80"))
        ('desk:1 (port 5901)', '[::1]::80')
        """
        if self.port is None:
            return self.host
        host = f"[{self.host}]" if ":" in self.host else self.host
        display = self.port - FIRST_PORT
        return f"{host}:{display} (port {self.port})" if 0 <= display < DISPLAYS else f"{host}::{self.port}"


def _host(text: str) -> tuple[str, str]:
    """The host and what is left."""
    if not text.startswith("["):
        host, colon, rest = text.partition(":")
        return host.strip() or "127.0.0.1", colon + rest
    host, bracket, rest = text[1:].partition("]")
    try:
        ipaddress.IPv6Address(host)
    except ValueError as error:
        raise ValueError(f"VNC address {text!r} has no IPv6 address in its brackets; legal are {FORMS}") from error
    if not bracket or (rest and not rest.startswith(":")):
        raise ValueError(f"VNC address {text!r}; legal are {FORMS}")
    return host, rest
