"""Starts processes inside the machine, and collects them and what they write.

The guest is PID 1 of its machine, or a subreaper on the host, so whatever loses its parent becomes its child: one
place calls ``waitpid`` for all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.landlock import enter_own_domain

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 4, 36, 38

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """The system call of this name; raises OSError."""
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class Reaper:
    """Collects every child that ends, and tells those who wait for one.

    Attributes:
        on_reap: called with the number of each, which may be another's from then on.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.on_reap: Callable[[int], None] = lambda pid: None
        self._loop = loop
        self._waiting: dict[int, asyncio.Future[int]] = {}
        loop.add_signal_handler(signal.SIGCHLD, self.reap)

    def watch(self, pid: int) -> asyncio.Future[int]:
        """A future of the return code (minus the signal's number) of a child that was started just now."""
        future = self._loop.create_future()
        self._waiting[pid] = future
        return future

    def reap(self) -> None:
        """Collect the children that have ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.on_reap(pid)
            future = self._waiting.pop(pid, None)
            if future is not None and not future.done():
                future.set_result(os.waitstatus_to_exitcode(status))


def become(config: GuestConfig, user: str) -> None:
    """Turn this (forked) process into one of ``user``: "agent", "guest", or a system user by name; for ever.

    Raises:
        LookupError: there is no such user.
        PermissionError: it is a system user, and the guest has no users of its own.
    """
    if user != "guest":
        if config.processes is not None:
            resource.setrlimit(resource.RLIMIT_NPROC, (config.processes, config.processes))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")  # out of memory, the kernel takes one of these and not the guest
        if config.uid is not None:
            uid, gid = config.owner if user == "agent" else system_user(user)[:2]
            os.setgroups([])
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            prctl(PR_SET_DUMPABLE, 1)  # else its own /proc/self belongs to root
        elif user != "agent":
            raise PermissionError(1, f"no other users here, so no {user}")
        if not config.sudo:
            prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def system_user(name: str) -> tuple[int, int, str]:
    """Uid, gid and home of a user. Raises LookupError."""
    with open("/etc/passwd", encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.rstrip("\n").split(":")
            if fields[0] == name and len(fields) >= 6:
                return int(fields[2]), int(fields[3]), fields[5]
    raise LookupError(f"there is no user {name!r}: legal are 'agent', 'guest' and the users of /etc/passwd")


def reset_signals() -> None:
    """Give a forked child the signal handling of a fresh process."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def spawn(
    config: GuestConfig,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    user: str,
    stdio: tuple[int, int, int],
    pass_fds: Sequence[int] = (),
) -> int:
    """Start a program in a session of its own and return its pid.

    Args:
        config: whom the agent's programs run as, and under which limits.
        argv: program (looked up in ``env["PATH"]``) and arguments.
        env: its whole environment.
        cwd: its working folder.
        user: "agent", "guest" or a system user.
        stdio: descriptors of its stdin, stdout and stderr.
        pass_fds: more descriptors that it keeps.

    Raises:
        OSError: it could not be started; says whether the folder or the program was missing.
    """
    if not argv:
        raise ValueError("argv is empty: give a program and its arguments")
    error_read, error_write = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _exec(config, argv, env, cwd, user, stdio, pass_fds, error_write, parent)
    os.close(error_write)
    with open(error_read, "rb") as pipe:
        problem = pipe.read(512)  # ends when exec closes the other end
    if problem:
        number, _, what = problem.decode("utf-8", "replace").partition(" ")
        os.waitpid(pid, 0)
        raise OSError(int(number), os.strerror(int(number)), what)
    return pid


def _exec(
    config: GuestConfig,
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    user: str,
    stdio: tuple[int, int, int],
    pass_fds: Sequence[int],
    error_write: int,
    parent: int,
) -> None:
    """The child's part of ``spawn``; never returns."""
    what = argv[0]
    try:
        reset_signals()
        os.setsid()
        become(config, user)
        if user != "guest" and not config.sudo:
            enter_own_domain()
        if os.getppid() != parent:
            os._exit(127)
        for target, source in enumerate(os.dup(fd) for fd in stdio):
            os.dup2(source, target)
        for fd in pass_fds:
            os.set_inheritable(fd, True)
        what = cwd
        os.chdir(cwd)
        what = argv[0]
        os.execvpe(argv[0], list(argv), dict(env))
    except OSError as error:
        os.write(error_write, f"{error.errno} {what}".encode())
    except BaseException as error:
        os.write(error_write, f"22 {what}: {error}".encode()[:500])
    finally:
        os._exit(127)


class Collector:
    """Reads a pipe as it fills, keeps the first ``limit`` bytes (or the last), and drops the rest."""

    def __init__(self, loop: asyncio.AbstractEventLoop, fd: int, limit: int, *, keep_tail: bool = False) -> None:
        self.data = bytearray()
        self.truncated = False
        self.closed = False
        self._loop, self._fd, self._limit, self._tail = loop, fd, limit, keep_tail
        os.set_blocking(fd, False)
        loop.add_reader(fd, self.read)

    def read(self) -> bool:
        """Take one piece; False when there is none at the moment."""
        if self.closed:
            return False
        try:
            piece = os.read(self._fd, 1 << 16)
        except BlockingIOError:
            return False
        except OSError:
            piece = b""
        if not piece:
            self.close()
            return False
        if self._tail:
            self.data += piece
            if len(self.data) > self._limit:
                self.truncated = True
                del self.data[: -self._limit]
            return True
        room = self._limit - len(self.data)
        self.truncated = self.truncated or len(piece) > room
        self.data += piece[:room]
        return True

    def finish(self) -> bytes:
        """What came until now. The pipe is read on into nothing, so that nobody who still has it gets SIGPIPE."""
        for _ in range(64):  # a pipe holds 64 KiB by default, 1 MiB at most; a writer may go on for ever
            if not self.read():
                break
        data = bytes(self.data)
        self._limit = 0
        self.data = bytearray()
        return data

    def close(self) -> None:
        """Stop reading. Idempotent."""
        if not self.closed:
            self.closed = True
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
