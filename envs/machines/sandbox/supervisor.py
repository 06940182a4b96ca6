"""The supervisor: one tiny process per host process that starts sandboxes, and outlives its parent to end them.

A script of its own (standard library only), started as ``python -IS supervisor.py CONFIG``. It is a subreaper, so the
containers' PID 1 become its children: it sees at once when one ends, and leaves no zombies to anybody else. When its
parent dies, however that happens, it kills every container, removes what they left, and exits.

Requests come as JSON over a SOCK_SEQPACKET socket, each with a socket for its answer (SCM_RIGHTS):
``{"op": "start", "name": ...}`` with the guest's end of the control channel and a descriptor for its log →
``{"pid": n}`` with a pidfd, or ``{"error": text}``; ``{"op": "stop", "name": ...}`` → ``{}`` once nothing is left.
"""

import array
import contextlib
import ctypes
import errno
import fcntl
import glob
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWUSER = 0x10000000
GUEST_FD = 3
LOG_TAIL = 2000
WATCH_MS = 200
SHARERS = 4
CGROUPS = "/sys/fs/cgroup"
_SIZES = ("RssAnon", "RssShmem")
NEVER = float("inf")
RUNC_TEMPORARY = "/tmp/runctop"  # how runc begins the names of folders that it makes while it starts a container
FORGOTTEN = 60.0  # seconds after which no start can still use such a folder
STARTING, REMOVING = 2.0, 10.0
"""Seconds that the runtime may still take: to start what is to be stopped, and to remove a container."""
IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)  # it ends with its parent, not before


@dataclass
class Config:
    """What the parent says at the start (JSON on the command line).

    Attributes:
        socket: descriptor of the request socket.
        parent: descriptor of a pidfd of the parent.
        lock: descriptor of the state folder's lock, held as long as this process lives.
        runtime: path of the OCI runtime.
        options: global options of the runtime.
        folder: this process's state folder: one folder per container in it.
        scratch: this process's folder of snapshots and layers, owned by the machines' root.
        remove: command that deletes a folder of files that belong to the machines' users.
        root: the host's id of the machines' root.
        user_limits: what a machine's user namespace may hold, by its name in /proc/sys/user.
    """

    socket: int
    parent: int
    lock: int
    runtime: str
    options: "list[str]"
    folder: str
    scratch: str
    remove: "list[str]"
    root: int
    user_limits: "dict[str, int]"


@dataclass
class Container:
    """One container, from the request to start it until nothing of it is left."""

    name: str
    log: int
    answer: "socket.socket | None"
    memory: int = 0  # bytes that its processes may have, watched from here; 0 where a control group limits them
    starter: int = 0  # pid of the runtime while it starts the container
    pid: int = 0  # its PID 1, as the host sees it
    pidfd: int = -1
    cleaner: int = 0  # pid of the runtime while it removes the container
    deadline: float = NEVER  # when that runtime is killed
    failed: bool = False  # it was never started as it should
    waiting: "list[socket.socket]" = field(default_factory=list)  # for the end
    stopping: bool = False


class Supervisor:
    """The event loop: requests, children that end, and the parent's end."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._requests = socket.socket(fileno=config.socket)
        self._containers: dict[str, Container] = {}
        self._ending = False

    def run(self) -> None:
        """Serve until the parent is gone and everything is cleaned up."""
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        for fd in (wake_read, self._config.socket, self._config.parent):
            poll.register(fd, select.POLLIN)
        sweep(self._config)
        remove_temporary(self._config.root)
        while not self._ending or self._containers:
            for fd, _ in poll.poll(soonest(self._watch(), self._hurry())):
                if fd == wake_read:
                    os.read(wake_read, 4096)
                elif fd == self._config.parent or not self._receive():
                    poll.unregister(self._config.socket)
                    poll.unregister(self._config.parent)
                    self._end()
                    break
            self._reap()
        remove_state(self._config, self._config.folder, self._config.scratch)

    def _receive(self) -> bool:
        """Take one request; False when the parent is gone."""
        try:
            data, ancillary, _, _ = self._requests.recvmsg(1 << 16, socket.CMSG_SPACE(4 * 4), socket.MSG_CMSG_CLOEXEC)
        except OSError:
            return False
        fds = array.array("i")
        for _, _, rights in ancillary:
            fds.frombytes(rights[: len(rights) - len(rights) % fds.itemsize])
        if not data:
            return False
        request = json.loads(data)
        answer = socket.socket(fileno=fds[0])
        if request["op"] == "start":
            self._start(Container(request["name"], fds[2], answer, memory=request["memory_mb"] << 20), fds[1])
        else:
            self._stop(request["name"], answer)
        return True

    def _start(self, container: Container, guest: int) -> None:
        name, log = container.name, container.log
        bundle = os.path.join(self._config.folder, name)
        arguments = ("run", "--detach", "--preserve-fds", "1", "--pid-file", f"{bundle}/pid", "--bundle", bundle, name)
        try:
            container.starter = spawn([self._config.runtime, *self._config.options, *arguments], log, guest)
        except OSError as error:
            if container.answer is not None:
                send(container.answer, {"error": f"{self._config.runtime}: {error}"})
            os.close(log)
            return
        finally:
            os.close(guest)
        self._containers[name] = container

    def _watch(self) -> "int | None":
        """Kill the largest process of each container that has too much memory; ms until the next look."""
        watched = [c for c in self._containers.values() if c.memory and c.pid]
        for container in watched:
            sizes = {pid: memory_of(pid) for pid in descendants(container.pid)}
            if in_use(list(sizes.values())) > container.memory:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(max(sizes, key=lambda pid: sum(sizes[pid])), signal.SIGKILL)
        return WATCH_MS if watched else None

    def _hurry(self) -> "int | None":
        """Kill each runtime that is past its deadline; ms until the next one is."""
        now = time.monotonic()
        left = []
        for container in self._containers.values():
            runtime = container.starter or container.cleaner
            if runtime and container.deadline <= now:
                os.kill(runtime, signal.SIGKILL)  # not reaped yet, so that the pid is its own
                container.deadline = NEVER
            elif runtime and container.deadline < NEVER:
                left.append(container.deadline - now)
        return int(min(left) * 1000) + 1 if left else None

    def _stop(self, name: str, answer: socket.socket) -> None:
        container = self._containers.get(name)
        if container is None:
            send(answer, {})
            return
        container.waiting.append(answer)
        self._kill(container)

    def _kill(self, container: Container) -> None:
        container.stopping = True
        if container.starter:
            container.deadline = min(container.deadline, time.monotonic() + STARTING)
        if container.pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(container.pidfd, signal.SIGKILL)

    def _end(self) -> None:
        self._ending = True
        for container in self._containers.values():
            self._kill(container)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for container in list(self._containers.values()):
                if container.starter == pid:
                    self._on_started(container, os.waitstatus_to_exitcode(status))
                elif container.pid == pid:
                    self._clean(container)
                elif container.cleaner == pid:
                    self._on_cleaned(container, os.waitstatus_to_exitcode(status))

    def _on_started(self, container: Container, status: int) -> None:
        container.starter, container.deadline = 0, NEVER
        answer, container.answer = container.answer, None
        problem = f"it ended with status {status}" if status else ""
        try:
            with open(os.path.join(self._config.folder, container.name, "pid")) as file:
                container.pid = int(file.read())
            container.pidfd = os.pidfd_open(container.pid)
            limit_user(container.pidfd, self._config.user_limits)
        except (OSError, ValueError) as error:
            problem = problem or str(error)
        if problem or answer is None:
            container.failed = True
            if answer is not None:
                send(answer, {"error": tail(container.log) or problem})
            self._kill(container)
            if container.pidfd < 0:
                self._clean(container)
            return
        send(answer, {"pid": container.pid}, container.pidfd)
        if container.stopping or self._ending:
            self._kill(container)

    def _clean(self, container: Container) -> None:
        """Its processes are gone: let the runtime remove its records and control groups."""
        container.pid = 0
        runtime = [self._config.runtime, *self._config.options]
        container.deadline = time.monotonic() + REMOVING
        try:
            container.cleaner = spawn([*runtime, "delete", "--force", container.name])
        except OSError:  # the host has no process or no memory to spare
            self._on_cleaned(container, 1)

    def _on_cleaned(self, container: Container, status: int) -> None:
        if container.failed or status != 0:
            remove_groups(f"deskgym-{container.name}")
            shutil.rmtree(os.path.join(self._config.folder, "runtime", container.name), ignore_errors=True)
        shutil.rmtree(os.path.join(self._config.folder, container.name), ignore_errors=True)
        for fd in (container.pidfd, container.log):
            if fd >= 0:
                os.close(fd)
        for waiting in container.waiting:
            send(waiting, {})
        self._containers.pop(container.name, None)


def limit_user(pidfd: int, limits: "dict[str, int]") -> None:
    """Set the limits of a container's user namespace, before anything of the agent's runs in it. Raises OSError."""
    child = os.fork()  # who has joined a user namespace cannot come back
    if child == 0:
        failure = 1
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            failure = ctypes.get_errno() if libc.setns(pidfd, CLONE_NEWUSER) else 0
            for name, value in () if failure else limits.items():
                with open(f"/proc/sys/user/{name}", "w") as file:
                    file.write(str(value))
        except OSError as error:
            failure = error.errno or 1
        finally:
            os._exit(failure)
    failure = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if failure:
        raise OSError(abs(failure), "its limits in /proc/sys/user cannot be set")


def soonest(*times: "int | None") -> "int | None":
    """The least of those that there are."""
    return min((time for time in times if time is not None), default=None)


def spawn(argv: "list[str]", output: int = -1, guest: int = -1) -> int:
    """Start a program and return its pid: ``guest`` as its descriptor 3, its output in ``output``, nothing else."""
    actions: list[tuple[int, *tuple[Any, ...]]] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, 0 if output < 0 else output, fd) for fd in (1, 2)]
    if guest >= 0:
        actions.append((os.POSIX_SPAWN_DUP2, guest, GUEST_FD))
    return os.posix_spawn(argv[0], argv, os.environ, file_actions=actions, setsigdef=IGNORED, setsigmask=())


def descendants(pid: int) -> "list[int]":
    """All processes below a container's PID 1: what loses its parent there becomes that one's child."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        try:
            for task in os.listdir(folder := f"/proc/{waiting.pop()}/task"):
                with open(f"{folder}/{task}/children") as file:
                    waiting += (children := [int(child) for child in file.read().split()])
                    found += children
        except OSError:
            continue
    return found


def memory_of(pid: int) -> "tuple[int, int]":
    """Bytes that a process has in memory for itself, and in memory that it may share and that is no file's."""
    sizes = {}
    with contextlib.suppress(OSError, ValueError):
        with open(f"/proc/{pid}/status") as file:
            sizes = {
                name: int(rest.split()[0]) << 10
                for name, _, rest in (line.partition(":") for line in file)
                if name in _SIZES
            }
    return sizes.get("RssAnon", 0), sizes.get("RssShmem", 0)


def in_use(sizes: "list[tuple[int, int]]") -> int:
    """Bytes that processes have together. Of shared memory nobody says who shares it, so that it counts for a quarter.

    But not for less than the process has that has most.
    """
    shared = [size for _, size in sizes]
    return sum(own for own, _ in sizes) + max(max(shared, default=0), sum(shared) // SHARERS)


def send(answer: socket.socket, message: "dict[str, Any]", fd: int = -1) -> None:
    """Answer a request and close its socket; whoever asked may be gone."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd >= 0 else []
    with answer, contextlib.suppress(OSError):
        answer.sendmsg([json.dumps(message).encode()], rights)


def tail(log: int) -> str:
    """The end of what was written to a container's log (a memory file with zeros after the text)."""
    return os.pread(log, 1 << 16, 0).rstrip(b"\0").decode(errors="replace").strip()[-LOG_TAIL:]


def sweep(config: Config) -> None:
    """Remove what other host processes left whose supervisor was killed together with them."""
    base, own = os.path.split(config.folder)
    for name in os.listdir(base):
        folder = os.path.join(base, name)
        try:
            lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if name != own and os.path.exists(os.path.join(folder, "lock")):
                end_containers(config, folder)
                remove_state(config, folder, os.path.join(os.path.dirname(config.scratch), name))
        except OSError as error:
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
        finally:
            os.close(lock)


def end_containers(config: Config, folder: str) -> None:
    """Kill and delete all containers that a state folder knows, and those that a runtime was about to start."""
    records = os.path.join(folder, "runtime")
    root = f"--root={records}"
    kill_runtimes(root)
    options = [root if option.startswith("--root=") else option for option in config.options]
    for name in os.listdir(records) if os.path.isdir(records) else ():
        subprocess.run(
            [config.runtime, *options, "delete", "--force", name],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def kill_runtimes(root: str) -> None:
    """Kill the runtimes that have lost the supervisor that started them; ``root`` is among their arguments."""
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(name)
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if root.encode() in file.read().split(b"\0"):
                    os.kill(pid, signal.SIGKILL)


def remove_groups(prefix: str) -> None:
    """Remove the control groups whose names begin so, left by a runtime that was killed, with what is in them."""
    end = time.monotonic() + 1.0
    for base, names, _ in os.walk(CGROUPS):
        found = [name for name in names if name.startswith(prefix)]
        names[:] = [name for name in names if name not in found]
        for group in (os.path.join(base, name) for name in found):
            while not remove_group(group) and time.monotonic() < end:
                time.sleep(0.01)


def remove_group(group: str) -> bool:
    """Kill what is in a control group and remove it; False while it is not empty yet."""
    with contextlib.suppress(OSError):
        with open(os.path.join(group, "cgroup.procs")) as file:
            for pid in file.read().split():
                os.kill(int(pid), signal.SIGKILL)
    try:
        os.rmdir(group)
    except OSError as error:
        return error.errno != errno.EBUSY
    return True


def remove_temporary(root: int) -> None:
    """Remove what killed runtimes have left in /tmp: folders of the machines' root, each with an empty one in it."""
    for folder in glob.glob(f"{RUNC_TEMPORARY}*"):
        with contextlib.suppress(OSError):
            status = os.lstat(folder)
            if status.st_uid == root and time.time() - status.st_mtime > FORGOTTEN:
                for inner in os.listdir(folder):
                    os.rmdir(os.path.join(folder, inner))
                os.rmdir(folder)


def remove_state(config: Config, folder: str, scratch: str) -> None:
    """Delete a state folder, its scratch folder, and the control groups that are left of its containers."""
    remove_groups(f"deskgym-{os.path.basename(folder)}-")
    remove_temporary(config.root)
    if os.path.isdir(scratch):
        subprocess.run([*config.remove, scratch], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(scratch, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def main(argv: "list[str]") -> int:
    """Run the supervisor."""
    config = Config(**json.loads(argv[0]))
    for fd in (config.socket, config.parent, config.lock):
        os.set_inheritable(fd, False)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.chdir("/")
    Supervisor(config).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
