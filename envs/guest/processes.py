"""Starts, watches and ends processes inside the machine.

The guest is PID 1 of its machine, or a subreaper on the host, so whatever loses its parent becomes its child: one
place calls ``waitpid`` for all of them. A job that must end is found by descent, by session, and by a mark in its
environment, so that leaving the process group or becoming a daemon does not save it.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import re
import resource
import signal
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Seen:
    """One line of the process table; with its number, ``started`` (clock ticks since boot) names a process for ever.

    ``stack`` is where its stack begins, which is drawn anew whenever it becomes another program; 0 if that is not told.
    """

    pid: int
    parent: int
    group: int
    session: int
    state: str
    started: int
    stack: int


def process_table() -> Iterator[Seen]:
    """All processes that /proc shows."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        parent, group, session, started, stack = (int(fields[place]) for place in (1, 2, 3, 19, 25))
        yield Seen(int(name), parent, group, session, fields[0].decode(), started, stack)


def has_mark(pid: int, mark: bytes) -> bool:
    """Whether a process was started with ``mark`` (``NAME=value``) in its environment."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark in file.read().split(b"\0")
    except OSError:
        return False


def uid_of(pid: int) -> int | None:
    """Whose process it is; None when it is gone. The owner of its folder in /proc is another one as it likes."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return next((int(line.split()[1]) for line in file if line.startswith(b"Uid:")), None)
    except OSError:
        return None


def is_traced(pid: int) -> bool:
    """Whether a debugger holds the process."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            return b"\nTracerPid:\t0\n" not in file.read()
    except OSError:
        return False


def has_code_of(pid: int, uid: int) -> bool:
    """Whether a process has mapped code from a file that a user may change, or that is no more.

    What is compiled while it runs lies in no file, or in one of memory, which has no name to load it by.
    """
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            paths = set(_CODE.findall(file.read()))
        return any(_is_changed_by(path, uid) for path in paths if not path.startswith(b"/memfd:"))
    except OSError:
        return True  # the file is no more, or the process is not


_CODE = re.compile(rb"^\S+ ..x\S* \S+ \S+ \S+ +(/.*)$", re.MULTILINE)


def _is_changed_by(path: bytes, uid: int) -> bool:
    status = os.stat(path)
    return status.st_uid == uid or bool(status.st_mode & stat.S_IWOTH)


def has_job(pid: int) -> bool:
    """Whether a process was started by a command, a launch or a code action."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return any(entry.startswith(b"DESKGYM_JOB=") for entry in file.read().split(b"\0"))
    except OSError:
        return False


def members(root: int, mark: bytes = b"") -> set[int]:
    """The living processes of a job, this process and PID 1 never among them.

    Args:
        root: pid of its first process, which led a session: it, its session and its descendants belong to the job.
        mark: so do all that have this in their environment, and their descendants.
    """
    table = [seen for seen in process_table() if seen.state not in "ZX"]
    safe = {1, os.getpid()}
    found = {
        seen.pid
        for seen in table
        if seen.pid not in safe and (root in (seen.pid, seen.session) or (mark and has_mark(seen.pid, mark)))
    }
    while True:
        more = {
            s.pid for s in table if (s.parent in found or s.parent == root) and s.pid not in found and s.pid not in safe
        }
        if not more:
            return found
        found |= more


def kill_all(find: Callable[[], set[int]], patience: float = 1.0) -> None:
    """SIGKILL whatever ``find`` returns until it finds nothing more: a fork may be faster than one look."""
    end = time.monotonic() + patience
    while (found := find()) and time.monotonic() < end:
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that none forks while others die
            for pid in found:
                try:
                    os.kill(pid, number)
                except (ProcessLookupError, PermissionError):
                    pass


def kill_job(config: GuestConfig, find: Callable[[], set[int]]) -> None:
    """End what ``find`` returns. Where the agent has a user of its own, all that runs as it is frozen meanwhile.

    Signalling a whole user is one step for the kernel, so that not even a fork bomb is faster.
    """
    if config.uid is None:
        kill_all(find)
        return
    signal_agent(config, signal.SIGSTOP)
    try:
        kill_all(find)
    finally:
        signal_agent(config, signal.SIGCONT)


def signal_agent(config: GuestConfig, number: int) -> None:
    """Send a signal to all processes of the agent's user in one step: not even a fork bomb is faster."""
    uid, gid = config.owner
    _signal_all(uid, gid, uid + 1, number)


def kill_user(config: GuestConfig, name: str, patience: float = 5.0) -> None:
    """SIGKILL all processes of a system user, and wait until they are gone.

    Raises:
        LookupError: there is no such user.
        PermissionError: the guest has no users of its own.
    """
    if config.uid is None:
        raise PermissionError(1, f"no other users here, so no {name}")
    uid, gid, _ = system_user(name)
    end = time.monotonic() + patience
    while True:
        _signal_all(uid, gid, config.uid + 1, signal.SIGKILL)
        if not any(uid_of(seen.pid) == uid for seen in process_table() if seen.state not in "ZX"):
            return
        if time.monotonic() > end:
            raise TimeoutError(f"processes of {name} are still there {patience:g} s after they were killed")
        time.sleep(0.005)


def _signal_all(uid: int, gid: int, nobody: int, number: int) -> None:
    """Signal all that a user may signal.

    The process that does it has that user's rights, but is of ``nobody``, so that none of them can stop it.
    """
    pid = os.fork()
    if pid == 0:
        try:
            os.setresgid(gid, gid, gid)
            os.setresuid(nobody, uid, nobody)
            os.kill(-1, number)  # all but the caller
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
