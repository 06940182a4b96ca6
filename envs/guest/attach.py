"""A guest for a desktop that is there already: waits for hosts, and serves one after the other.

Each host gets a process of its own, which ends with the connection and takes with it what that host had started; the
desktop stays. The first request of a host is ``attach``, with a token where one is wanted.
"""

from __future__ import annotations

import hmac
import os
import secrets
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deskgym.envs.guest.config import GuestConfig, Listening
from deskgym.envs.guest.killing import kill_all
from deskgym.envs.guest.places import Place
from deskgym.envs.guest.process_table import members
from deskgym.envs.guest.processes import PR_SET_PDEATHSIG, prctl
from deskgym.envs.guest.protocol import HEADER, VERSION, pack, unpack

FIRST_FRAME = 4096  # bytes that the first request may have
PATIENCE = 5.0  # seconds for the first request
ENDING = 3.0  # seconds for the last host's session to end
Serve = Callable[[GuestConfig, int], None]


def listen(listening: Listening, config: GuestConfig, serve: Serve) -> int:
    """Serve one host after another until SIGTERM; returns the exit status.

    Args:
        listening: where, and for whom.
        config: the guest's config; each session has its own folders in place of the config's.
        serve: serves one host over a descriptor, in a process of its own.
    """
    try:
        place = Place.parse(listening.place)
        token = _token(place, listening)
        server = place.listen()
    except (OSError, ValueError) as error:
        print(f"the guest cannot listen at {listening.place}: {error}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *ignored: sys.exit(0))
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    session: _Session | None = None
    try:
        print(f"listening at {place}", flush=True)
        while True:
            session = _wait(server, session)
            connection, _ = server.accept()
            with connection:
                if place.port is not None:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if not _admit(connection, token, session):
                    continue
                if session is not None:
                    session.end()
                session = _Session.start(config, server, connection, serve)
    finally:
        if session is not None:
            session.end()
        server.close()
        if place.port is None and os.path.exists(place.host):
            os.unlink(place.host)


def _wait(server: socket.socket, session: _Session | None) -> _Session | None:
    """Wait for the next host, and clean up after the session that ends meanwhile."""
    while True:
        poll = select.poll()
        poll.register(server, select.POLLIN)
        if session is not None:
            poll.register(session.pidfd, select.POLLIN)
        ready = [fd for fd, _ in poll.poll()]
        if session is not None and session.pidfd in ready:
            session.end()
            session = None
        if server.fileno() in ready:
            return session


@dataclass
class _Session:
    """The process that serves one host."""

    pid: int
    pidfd: int
    config: GuestConfig

    @classmethod
    def start(cls, config: GuestConfig, server: socket.socket, connection: socket.socket, serve: Serve) -> _Session:
        folder = tempfile.mkdtemp(prefix="deskgym-")
        config = replace(
            config,
            home=config.home or f"{folder}/home",
            state_dir=f"{folder}/state",
            runtime_dir=f"{folder}/run",
            tmp_dir=f"{folder}/tmp",
            marker=uuid.uuid4().hex,
            remove=folder,
            attached=True,
        )
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
                os.setsid()
                server.close()
                if os.getppid() == parent:
                    serve(config, connection.detach())
            finally:
                os._exit(1)
        return cls(pid, os.pidfd_open(pid), config)

    def over(self, patience: float) -> bool:
        """Whether it has ended, at last after ``patience`` seconds."""
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return bool(poll.poll(patience * 1000))

    def end(self) -> None:
        """End it with all that it has started, and remove its folder."""
        if not self.over(0.0):
            os.kill(self.pid, signal.SIGTERM)
            if not self.over(2 * ENDING):
                os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.pidfd)
        mark = f"DESKGYM_MACHINE={self.config.marker}".encode()
        kill_all(lambda: members(self.pid, mark))
        shutil.rmtree(str(self.config.remove), ignore_errors=True)


def _admit(connection: socket.socket, token: str | None, session: _Session | None) -> bool:
    """Answer a host's first request; whether it may stay."""
    number: Any = None
    end = time.monotonic() + PATIENCE
    try:
        request = _first_frame(connection, end)
        number = request.get("id")
        params = request.get("params") or {}
        if request.get("method") != "attach":
            raise PermissionError("the first request to an attached guest is 'attach', with its token if it wants one")
        given = params.get("token")
        if token is not None and not (isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())):
            raise PermissionError("this guest wants a token, and none was given" if given is None else "wrong token")
        if session is not None and not session.over(ENDING):
            raise ConnectionRefusedError("this guest serves another host, and one at a time")
        connection.sendall(pack({"id": number, "result": {"version": VERSION}}))
        return True
    except (PermissionError, ConnectionRefusedError) as error:
        kind = "refused" if isinstance(error, PermissionError) else "busy"
        answer = pack({"id": number, "error": {"kind": kind, "message": str(error)}})
    except Exception:  # whatever it sent, it is no host of ours
        return False
    try:
        connection.sendall(answer)
    except OSError:
        pass
    return False


def _first_frame(connection: socket.socket, end: float) -> dict[str, Any]:
    (size,) = HEADER.unpack(_exactly(connection, HEADER.size, end))
    if size > FIRST_FRAME:
        raise ValueError("too long for a first request")
    message = unpack(_exactly(connection, size, end))
    if not isinstance(message, dict):
        raise ValueError("no request")
    return message


def _exactly(connection: socket.socket, size: int, end: float) -> bytes:
    data = b""
    while len(data) < size:
        connection.settimeout(max(0.001, end - time.monotonic()))
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def _token(place: Place, listening: Listening) -> str | None:
    """The token of the file; a new one where there is no file yet.

    Raises:
        ValueError: the place must not be listened at, or the file is no secret.
    """
    if not place.is_loopback and not listening.remote:
        raise ValueError("other hosts could reach it, and nothing is encrypted: tunnel it, or say --allow-remote")
    path = listening.token_file
    if path is None:
        if place.port is not None:
            raise ValueError("any user of this host could connect: say --token-file PATH (it is made if it is missing)")
        return None
    if not os.path.exists(path):
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
    if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
        raise ValueError(f"others can read {path}: chmod 600 it")
    with open(path, encoding="utf-8") as file:
        token = file.read().strip()
    if not token:
        raise ValueError(f"{path} is empty: remove it, and one with a new token is made")
    return token
