"""A socket to a VNC server: every wait has a deadline, and every failure is one MachineError."""

from __future__ import annotations

import select
import socket
import time
from typing import NoReturn

from deskgym.envs.displays.vnc.address import VncAddress
from deskgym.envs.displays.vnc.protocol import FrameClient
from deskgym.envs.errors import MachineError
from deskgym.envs.guest.places import connect

PIECE = 1 << 18


class VncConnection:
    """One connection to a VNC server, used from one thread at a time.

    Args:
        address: where it is.
        password: for VNC authentication, or None.
        size: width and height that the screen must have, or None to take any.
        timeout: seconds for connecting, and for each answer that the server owes.

    Attributes:
        client: the protocol's state, with the frame.
        lost: why it is of no use any more, or None.

    Raises:
        MachineError: it cannot be had; the kind is ``refused``, ``no_password``, ``wrong_password``, ``display_size``,
            ``display_garbled`` or ``display_lost``.
    """

    def __init__(
        self, address: VncAddress, password: str | None, size: tuple[int, int] | None, timeout: float = 10.0
    ) -> None:
        self.lost: str | None = None
        self._name, self._timeout = str(address), timeout
        self._out = bytearray()
        self._in_flight = False  # an answer to an earlier request may still come
        end = time.monotonic() + timeout
        try:
            self._socket = connect(address.host, address.port, timeout)
        except OSError as error:
            raise MachineError(
                f"no VNC server can be reached at {self._name}: {error}; is it running, and does it listen there?",
                "refused",
            ) from error
        self._socket.setblocking(False)
        self._poll = select.poll()
        self.client = FrameClient(self._name, password, size)
        self.client.makeConnection(self)
        while not self.client.ready:
            self._next(end, "accepted the connection, but is not ready")

    # --- what vncdotool takes for Twisted's transport

    def write(self, data: bytes) -> None:
        """Send later, with what else there is."""
        self._out += data

    def loseConnection(self) -> None:
        """Give up, as vncdotool does."""
        self._fail(f"{self._name} broke off: its answers make no sense")

    # --- moving bytes

    @property
    def socket(self) -> socket.socket:
        """What it goes over."""
        return self._socket

    def flush(self) -> None:
        """Send what is queued; takes in what comes meanwhile, since a server may do one thing at a time only."""
        end = time.monotonic() + self._timeout
        while self._out:
            if time.monotonic() > end or not self._wait(end, sending=True):
                self._fail(f"the VNC server {self._name} takes no more input")

    def drain(self) -> None:
        """Take in what has come so far."""
        end = time.monotonic() + self._timeout
        while self.pump(0.0):
            if time.monotonic() > end:
                self._fail(f"the VNC server {self._name} never stops sending")

    def pump(self, deadline: float) -> bool:
        """Take in what has come, or wait for something; False when nothing came by ``deadline`` (monotonic)."""
        self.flush()
        return self._wait(deadline, sending=False)

    def _wait(self, deadline: float, sending: bool) -> bool:
        if self.lost is not None:
            raise MachineError(self.lost, "display_lost")
        self._poll.register(self._socket, select.POLLIN | (select.POLLOUT if sending else 0))
        left = max(0.0, deadline - time.monotonic())
        ready = self._poll.poll(left * 1000)
        if not ready:
            return False
        try:
            if ready[0][1] & (select.POLLIN | select.POLLHUP | select.POLLERR):
                self._receive()
            if sending and ready[0][1] & select.POLLOUT:
                del self._out[: self._socket.send(self._out)]
        except BlockingIOError:
            pass
        except OSError as error:
            self._fail(f"the connection to the VNC server {self._name} broke: {error}")
        return True

    def _receive(self) -> None:
        data = self._socket.recv(PIECE)
        if not data:
            self._fail(f"the VNC server {self._name} closed the connection")
        updates = self.client.updates
        try:
            self.client.dataReceived(data)
        except MachineError as error:
            self.lost = str(error)
            self.close()
            raise
        except Exception as error:  # whatever a hostile message makes the parser raise
            problem = self.client.garbled(f"{type(error).__name__}: {error}")
            self.lost = str(problem)
            self.close()
            raise problem from error
        if self.client.updates != updates:
            self._in_flight = False

    def _fail(self, why: str) -> NoReturn:
        self.lost = self.lost or why
        self.close()
        raise MachineError(self.lost, "display_lost")

    # --- asking

    @property
    def waiting(self) -> bool:
        """Whether a request for changes is under way."""
        return self._in_flight

    def ask(self, incremental: bool = True) -> None:
        """Ask for what changes, or for the whole screen."""
        self.client.framebufferUpdateRequest(incremental=incremental)
        self._in_flight = True

    def sync(self) -> None:
        """Return when the server has processed what was sent, and the frame has all that it had painted by then.

        RFB has no ping, but a pixel that is asked for without ``incremental`` must be sent, and requests are answered
        in order. Where an older request was under way, an update with that pixel among others may be its answer: then
        it is asked for once more.

        Raises:
            MachineError: there was no answer in time.
        """
        client, (width, height) = self.client, self.client.screen_size
        doubtful = self._in_flight
        end = time.monotonic() + self._timeout
        client.pixel = (width - 1 - client.pixel[0], height - 1)  # not the last one, whose answer may still come
        for _ in range(1 + doubtful):
            seen, exact = client.answers, client.exact
            self.ask()
            client.framebufferUpdateRequest(*client.pixel, 1, 1)
            while client.answers == seen:
                self._next(end, "has stopped sending: no answer")
            if client.exact != exact:
                return

    def _next(self, end: float, otherwise: str) -> None:
        """Take in more before ``end``, or fail: sending without end is no better than silence."""
        if time.monotonic() > end or not self.pump(end):
            self._fail(f"the VNC server {self._name} {otherwise} after {self._timeout:g} s")

    def close(self) -> None:
        """Disconnect. Idempotent."""
        self.lost = self.lost or "the connection to the VNC server was closed"
        try:
            self._socket.shutdown(socket.SHUT_RDWR)  # a fork of this process may have a copy of it
        except OSError:
            pass
        self._socket.close()
