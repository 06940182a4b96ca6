"""The host's end of the supervisor: one per process, made with its first sandbox."""

from __future__ import annotations

import array
import atexit
import fcntl
import json
import os
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deskgym.envs.errors import MachineError
from deskgym.envs.machines import userns
from deskgym.envs.machines.sandbox.host import cache_folder, runtime_folder
from deskgym.envs.machines.sandbox.limits import user_limits
from deskgym.envs.machines.sandbox.supervisor import Config, end_containers, remove_state
from deskgym.envs.machines.userns import IdMap

SCRIPT = str(Path(__file__).with_name("supervisor.py"))
CLOSING, ANSWERING = 10.0, 5.0
"""Seconds that it has to end all containers, and to answer a request that needs nothing to be done."""
LAYERS_SCRIPT = str(Path(__file__).with_name("layers.py"))


@dataclass(frozen=True)
class Started:
    """A container that runs: its PID 1 as the host sees it, and a pidfd of it that the caller owns."""

    pid: int
    pidfd: int


class SupervisorClient:
    """Asks this process's supervisor to start and stop containers. Safe to use from several threads.

    Args:
        runtime: path of the OCI runtime.
        options: its global options.
        ids: whom the files of machines belong to.
    """

    def __init__(self, runtime: str, options: list[str], ids: IdMap) -> None:
        self.owner = os.getpid()
        name = f"{self.owner}-{secrets.token_hex(4)}"
        self.folder = runtime_folder() / name
        self.scratch = cache_folder() / "scratch" / name
        self._lock_fd = self._pidfd = -1
        self._lost = False  # its end shows in the socket before it does in the pidfd
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.pidfd_open(self.owner)
        try:
            self._make_folder()
            self._config = Config(
                socket=theirs.fileno(),
                parent=parent,
                lock=self._lock_fd,
                runtime=runtime,
                options=[f"--root={self.folder / 'runtime'}", *options],
                folder=str(self.folder),
                scratch=str(self.scratch),
                remove=[*userns.command(ids), LAYERS_SCRIPT, "remove"],
                root=ids.root[0],
                user_limits=user_limits(),
            )
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", SCRIPT, json.dumps(asdict(self._config))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), parent, self._lock_fd),
                start_new_session=True,
                cwd="/",
            )
            self._pidfd = os.pidfd_open(self._process.pid)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.forget()
            raise
        finally:
            theirs.close()
            os.close(parent)

    def _make_folder(self) -> None:
        self.folder.mkdir(mode=0o700)
        new = self.folder / "lock.new"  # renamed once it is locked, so that nobody's sweep takes it for a dead one
        self._lock_fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock_fd, fcntl.LOCK_EX)
        new.rename(self.folder / "lock")

    @property
    def alive(self) -> bool:
        """Whether the supervisor lives and is this process's own."""
        pidfd = self._pidfd
        if os.getpid() != self.owner or pidfd < 0 or self._lost:
            return False
        return not has_ended(pidfd)

    def start(self, name: str, guest: socket.socket, log: int, timeout: float, watched_mb: int = 0) -> Started:
        """Start the container whose bundle is in ``folder/name``.

        Args:
            name: its name, and that of its bundle.
            guest: the guest's end of the control channel.
            log: where the runtime and the guest write to.
            timeout: seconds until the supervisor counts as lost.
            watched_mb: memory that the supervisor holds its processes to; 0 leaves that to a control group.

        Raises:
            MachineError: the runtime refused; the message is its own.
        """
        answer, fds = self._ask({"op": "start", "name": name, "memory_mb": watched_mb}, [guest.fileno(), log], timeout)
        if "error" in answer:
            raise MachineError(
                f"the sandbox did not start: {answer['error']} (`deskgym doctor` finds out why)", kind="start_failed"
            )
        if not fds:
            raise MachineError("this process has no descriptor left for another sandbox", kind="start_failed")
        return Started(int(answer["pid"]), fds[0])

    def stop(self, name: str, timeout: float) -> None:
        """Kill a container and wait until nothing of it is left. Idempotent."""
        self._ask({"op": "stop", "name": name}, [], timeout)

    def end(self, name: str, started: Started | None, timeout: float) -> None:
        """Stop a container, also where the supervisor is gone, and remove its bundle. Idempotent.

        Args:
            name: its name.
            started: what ``start`` gave, or None.
            timeout: seconds until the supervisor counts as lost.
        """
        try:
            self.stop(name, timeout)
        except MachineError:  # the supervisor is gone: the next one removes what is left
            if started is not None:
                try:
                    signal.pidfd_send_signal(started.pidfd, signal.SIGKILL)
                    has_ended(started.pidfd, timeout)
                except ProcessLookupError:
                    pass
        shutil.rmtree(self.folder / name, ignore_errors=True)

    def close(self) -> None:
        """End the supervisor with all its containers, and wait until it has cleaned up. Idempotent."""
        if os.getpid() == self.owner and self._socket.fileno() >= 0:
            self._socket.close()
            try:
                self._process.wait(CLOSING)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.returncode != 0:  # it was killed: nobody else removes what it knew of
                end_containers(self._config, str(self.folder))
                remove_state(self._config, str(self.folder), str(self.scratch))
        self.forget()

    def forget(self) -> None:
        """Close our ends only: what a forked child does with its copy."""
        self._socket.close()
        for fd in (self._lock_fd, self._pidfd):
            if fd >= 0:
                os.close(fd)
        self._lock_fd = self._pidfd = -1

    def _ask(self, request: dict[str, Any], fds: list[int], timeout: float) -> tuple[dict[str, Any], list[int]]:
        try:
            return self._exchange(request, fds, timeout)
        except TimeoutError as error:
            self._find_out()
            raise MachineError(
                f"the sandbox's supervisor did not {request['op']} it within {timeout:g} s", kind="supervisor_lost"
            ) from error
        except (OSError, EOFError) as error:
            self._lost = True
            raise MachineError(
                "the sandboxes' supervisor was killed; start the machine again", kind="supervisor_lost"
            ) from error

    def _find_out(self) -> None:
        """Whether it is only slow, or hangs."""
        try:
            self._exchange({"op": "stop", "name": ""}, [], ANSWERING)
        except (OSError, EOFError):
            self._lost = True

    def _exchange(self, request: dict[str, Any], fds: list[int], timeout: float) -> tuple[dict[str, Any], list[int]]:
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError as error:
            raise MachineError(f"the supervisor cannot be asked: {error}", kind="start_failed") from error
        with ours:
            with theirs:
                rights = array.array("i", [theirs.fileno(), *fds])
                self._socket.sendmsg([json.dumps(request).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            ours.settimeout(timeout)
            data, ancillary, _, _ = ours.recvmsg(
                1 << 16, socket.CMSG_SPACE(array.array("i").itemsize), socket.MSG_CMSG_CLOEXEC
            )
        if not data:
            raise EOFError("it ended without an answer")
        received = array.array("i")
        for _, _, rights_data in ancillary:
            received.frombytes(rights_data)
        return json.loads(data), list(received)


def has_ended(pidfd: int, timeout: float = 0.0) -> bool:
    """Whether the process behind a pidfd has ended, or does so within ``timeout`` seconds."""
    poll = select.poll()  # select takes no descriptor from 1024 on
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(timeout * 1000))


_lock = threading.Lock()
_clients: dict[tuple[str, ...], SupervisorClient] = {}


def supervisor(runtime: str, options: list[str], ids: IdMap) -> SupervisorClient:
    """This process's supervisor for a runtime; started if there is none, or none that lives."""
    key = (runtime, *options)
    with _lock:
        client = _clients.get(key)
        if client is not None and not client.alive:
            client.close()
            client = None
        if client is None:
            client = _clients[key] = SupervisorClient(runtime, options, ids)
        return client


def close_supervisors() -> None:
    """End all sandboxes of this process and wait for it; done at its exit too."""
    with _lock:
        for client in _clients.values():
            client.close()
        _clients.clear()


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()
    for client in _clients.values():
        client.forget()
    _clients.clear()


atexit.register(close_supervisors)
os.register_at_fork(after_in_child=_after_fork_in_child)
