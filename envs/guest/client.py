"""The host's end: asks a guest, and trusts nothing that it answers."""

from __future__ import annotations

import array
import os
import select
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from deskgym.envs.errors import GuestCallError, GuestLost
from deskgym.envs.guest.protocol import HEADER, MAX_FRAME, VERSION, pack, unpack
from deskgym.envs.guest.step import ELEMENT_DEADLINE
from deskgym.envs.guest.transfer import read_folder, read_host_folder
from deskgym.envs.machines.base import CommandResult

T = TypeVar("T")
PIECE = MAX_FRAME // 2
builtins_list = list  # ``GuestClient.list`` hides it inside the class
GRACE = 10.0
"""Seconds that a guest may take beyond the time that a request itself was given."""


class GuestClient:
    """The connection to one guest. Calls from several threads are carried out one after the other.

    Args:
        sock: a connected stream socket; the client owns it from now on.
        slowness: see ``Machine.slowness``. A request's ``timeout`` or ``deadline``, by which the guest gives up, is
            multiplied by it, and its answer is awaited for so much longer.
        rests: see ``Machine.rests``.

    Attributes:
        lost: why the guest is lost, or None while it is well.
        touched: it was asked for more than kernels, which leave nothing behind.
        ran_code: the agent's code has run, or something was connected from outside.
        screen: a socket to the screen that the guest acts on, or None; no answer is waited for when that has ended.
    """

    element_deadline: float = ELEMENT_DEADLINE
    """Seconds that a reading of the accessible elements may take where the request does not say."""

    def __init__(self, sock: socket.socket, slowness: float = 1.0, rests: bool = False) -> None:
        self.slowness, self.rests = slowness, rests
        self.lost: str | None = None
        self.touched = self.ran_code = False
        self.screen: socket.socket | None = None
        self._sock = sock
        self._lock = threading.RLock()
        self._number = 0
        self._fds: list[int] = []

    def close(self) -> None:
        """End the connection, and with it the guest. Idempotent."""
        self.lost = self.lost or "the connection was closed"
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._sock.close()
        self._drop_fds()

    def lose(self, why: str) -> None:
        """Give the guest up, from any thread: who waits for an answer gets GuestLost with this reason."""
        self.lost = self.lost or why
        try:
            self._sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def call(self, method: str, timeout: float = 30.0, /, **params: Any) -> dict[str, Any]:
        """Ask the guest and wait for its answer.

        Args:
            method: one of the methods in ``deskgym.envs.guest.protocol``.
            timeout: seconds until the guest counts as lost.
            params: the method's parameters.

        Raises:
            GuestLost: it is gone, does not answer in time, or answers garbage; it stays lost from then on.
            GuestCallError: it is well, but what was asked failed.
            ValueError: the request is larger than a frame.
        """
        with self._lock:
            return self._call(method, timeout, params)

    def call_with_fd(self, method: str, timeout: float = 30.0, /, **params: Any) -> tuple[dict[str, Any], int | None]:
        """Like ``call``, for an answer that may carry a file descriptor, which the caller then owns."""
        with self._lock:
            self._drop_fds()
            answer = self._call(method, timeout, params)
            return answer, self._fds.pop(0) if self._fds else None

    def call_giving_fd(self, fd: int, method: str, timeout: float = 30.0, /, **params: Any) -> dict[str, Any]:
        """Like ``call``, with a copy of the file descriptor ``fd`` for the guest.

        Raises:
            GuestLost: also where the channel is none that carries descriptors.
        """
        with self._lock:
            return self._call(method, timeout, params, fd)

    def _call(self, method: str, timeout: float, params: dict[str, Any], fd: int = -1) -> dict[str, Any]:
        if self.lost:
            raise GuestLost(f"the guest is lost: {self.lost}")
        self.touched = self.touched or not (method in ("hello", "wake") or method.startswith("kernel_"))
        self.ran_code |= bool(params.get("code")) or method in ("code", "relay") or method.startswith("kernel_")
        deadline = time.monotonic() + timeout + self._stretch(params)
        self._number += 1
        frame = pack({"id": self._number, "method": method, "params": params})
        try:
            self._send(frame, deadline, fd)
            answer = self._receive(deadline)
            if not isinstance(answer, dict) or answer.get("id") != self._number:
                raise ValueError("its answer is to no request")
            result, error = answer.get("result"), answer.get("error")
            if isinstance(error, dict):
                raise GuestCallError(
                    f"{method}: {str(error.get('message'))[:10_000]}", kind=str(error.get("kind"))[:100]
                )
            if not isinstance(result, dict):
                raise ValueError("its answer has no result")
            return result
        except GuestCallError:
            raise
        except TimeoutError:
            self._lose(f"no answer to {method!r} in time")
        except (OSError, EOFError) as error:
            self._lose(f"the connection broke during {method!r}: {error}")
        except Exception as error:  # whatever a hostile answer makes the parser raise
            self._lose(f"garbage in the answer to {method!r}: {type(error).__name__}: {error}")
        except BaseException:  # an interrupt: the answer would be taken for that of the next call
            self.lost = f"{method!r} was interrupted"
            self.close()
            raise
        raise GuestLost(f"the guest is lost: {self.lost}")

    def _stretch(self, params: dict[str, Any]) -> float:
        """Multiply the request's deadlines by the slowness; gives how many seconds that adds."""
        added = 0.0
        for name in ("timeout", "deadline"):
            given = params.get(name)
            if isinstance(given, int | float):
                params[name] = given * self.slowness
                added += given * (self.slowness - 1)
        return added

    def _lose(self, why: str) -> None:
        self.lost = self.lost or why
        self.close()

    def _send(self, frame: bytes, deadline: float, fd: int = -1) -> None:
        view = memoryview(frame)
        if fd >= 0:
            self._sock.settimeout(_left(deadline))
            view = view[socket.send_fds(self._sock, [view], [fd]) :]
        while view:
            self._sock.settimeout(_left(deadline))
            view = view[self._sock.send(view) :]

    def _receive(self, deadline: float) -> Any:
        (size,) = HEADER.unpack(self._exactly(HEADER.size, deadline))
        if size > MAX_FRAME:
            raise ValueError(f"a frame of {size} bytes")
        return unpack(self._exactly(size, deadline))

    def _exactly(self, size: int, deadline: float) -> bytes:
        buffer = bytearray()
        space = socket.CMSG_SPACE(4)
        while len(buffer) < size:
            self._sock.settimeout(_left(deadline))
            if self.screen is not None and self.screen.fileno() >= 0:
                self._watch(self.screen, deadline)
            piece, ancillary, _, _ = self._sock.recvmsg(
                min(size - len(buffer), 1 << 20), space, socket.MSG_CMSG_CLOEXEC
            )
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    fds = array.array("i")
                    fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
                    self._fds.extend(fds)
            if len(self._fds) > 1:
                raise ValueError("more file descriptors than were asked for")
            if not piece:
                raise EOFError("end of the stream")
            buffer += piece
        return bytes(buffer)

    def _watch(self, screen: socket.socket, deadline: float) -> None:
        """Return when there is something to read."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        poll.register(screen, select.POLLRDHUP)
        ready = [fd for fd, _ in poll.poll(_left(deadline) * 1000)]
        if ready == [screen.fileno()]:
            raise EOFError("its screen has ended")

    def _drop_fds(self) -> None:
        while self._fds:
            os.close(self._fds.pop())

    def hello(self, timeout: float = 10.0) -> dict[str, Any]:
        """Who the guest is. Raises GuestLost when it speaks another version of the protocol."""
        answer = self.call("hello", timeout)
        if answer.get("version") != VERSION:
            self._lose(f"it speaks version {answer.get('version')!r} of the protocol, not {VERSION}")
            raise GuestLost(f"the guest is lost: {self.lost}")
        return answer

    def wake(self, timeout: float = 10.0) -> None:
        """Tell a guest in a virtual machine that was restored what time it is, and make its random numbers its own."""
        self.call("wake", timeout, time_ns=time.time_ns(), entropy=os.urandom(64))

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = 30.0,
        output_limit: int = 1 << 20,
        stdin: bytes = b"",
        user: str = "agent",
    ) -> CommandResult:
        """Run a command to its end; see ``Machine.run``. At most 6 MiB of each stream are kept."""
        answer = self.call(
            "run",
            timeout + GRACE,
            argv=[str(part) for part in argv],
            env=None if env is None else dict(env),
            cwd=cwd,
            timeout=timeout,
            output_limit=output_limit,
            stdin=stdin,
            user=user,
        )
        return CommandResult(
            returncode=self.typed(answer, "returncode", int),
            stdout=self.typed(answer, "stdout", bytes),
            stderr=self.typed(answer, "stderr", bytes),
            timed_out=self.typed(answer, "timed_out", bool),
            truncated=self.typed(answer, "truncated", bool),
        )

    def typed(self, answer: Mapping[str, Any], key: str, kind: type[T]) -> T:
        """A field of an answer, of this type; anything else loses the guest."""
        value = answer.get(key)
        if not isinstance(value, kind):
            self._lose(f"{key!r} in its answer is a {type(value).__name__}, not a {kind.__name__}")
            raise GuestLost(f"the guest is lost: {self.lost}")
        return value

    def put(self, path: str, source: bytes | str | Path, *, mode: int | None = None, owner: str = "agent") -> None:
        """Write a file (bytes), or copy a host file or folder (str or Path); see ``Machine.put``."""
        if isinstance(source, bytes):
            for offset in range(0, max(len(source), 1), PIECE):
                piece = source[offset : offset + PIECE]
                self.call("write", 60.0, path=path, data=piece, offset=offset, mode=mode, owner=owner)
            return
        source = Path(source)
        if source.is_dir():
            for batch in read_host_folder(source, PIECE):
                self.call("write_many", 60.0, path=path, entries=batch.small, owner=owner)
                for name, large, large_mode in batch.large:
                    self._put_file(f"{path.rstrip('/')}/{name}", large, large_mode, owner)
        else:
            self._put_file(path, source, source.stat().st_mode & 0o777 if mode is None else mode, owner)

    def _put_file(self, path: str, source: Path, mode: int | None, owner: str) -> None:
        offset = 0
        with source.open("rb") as file:
            while (data := file.read(PIECE)) or offset == 0:
                self.call("write", 60.0, path=path, data=data, offset=offset, mode=mode, owner=owner)
                offset += len(data)
                if not data:
                    break

    def get(self, path: str, *, limit: int = 64 << 20) -> bytes:
        """Read one file; see ``Machine.get``."""
        data = bytearray()
        while True:
            answer = self.call("read", 60.0, path=path, offset=len(data), size=min(PIECE, limit + 1 - len(data)))
            piece = self.typed(answer, "data", bytes)
            data += piece
            if len(data) > limit or self.typed(answer, "size", int) > limit:
                raise GuestCallError(f"{path} is larger than {limit} bytes", kind="FileTooLarge")
            if not piece or len(data) == answer["size"]:
                return bytes(data)

    def get_folder(self, path: str, destination: Path, *, limit: int = 256 << 20) -> None:
        """Copy a folder to the host; see ``Machine.get_folder``."""
        read_folder(self, path, Path(destination), limit)

    def stat(self, path: str) -> dict[str, Any]:
        """What a path is: ``name, type ("file", "folder", "link", "other"), size, mode, mtime, uid``."""
        return self.call("stat", path=path)

    def exists(self, path: str) -> bool:
        """Whether there is such a path."""
        try:
            self.stat(path)
        except GuestCallError as error:
            if error.kind in ("FileNotFoundError", "NotADirectoryError"):
                return False
            raise
        return True

    def list(self, path: str, *, recursive: bool = False) -> list[dict[str, Any]]:
        """What is in a folder, each as in ``stat``, names relative to it."""
        return self.typed(self.call("list", path=path, recursive=recursive), "entries", list)

    def launch(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        wait: Mapping[str, Any] | None = None,
        place: Sequence[int] | str | None = None,
        timeout: float = 30.0,
        user: str = "agent",
    ) -> dict[str, Any]:
        """Start a program that lives on, and wait until all that ``wait`` names is there.

        Args:
            argv: program and arguments.
            env: variables added to the desktop session's own.
            cwd: working folder; the user's home if None.
            wait: what shows that it is ready; see ``deskgym.envs.guest.readiness.Conditions``. None returns at once.
            place: where its window is put: ``[x, y, width, height]`` of its content, or ``"maximized"``.
            timeout: seconds to wait.
            user: ``"agent"`` or ``"guest"``.

        Returns:
            ``pid``, and ``window`` (as in ``windows``) if one was waited for.

        Raises:
            GuestCallError: with kind ``LaunchFailed`` when it ended with an error or did not get ready in time; the
                message says what never came, what was there instead, and the program's last words.
        """
        return self.call(
            "launch",
            timeout + GRACE,
            argv=[str(part) for part in argv],
            env=None if env is None else dict(env),
            cwd=cwd,
            wait=None if wait is None else dict(wait),
            place=place,
            timeout=timeout,
            user=user,
        )

    def windows(self) -> builtins_list[dict[str, Any]]:
        """The top-level windows, topmost last: ``id, title, class, instance, pid, x, y, width, height, active``."""
        return self.typed(self.call("windows"), "windows", list)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
