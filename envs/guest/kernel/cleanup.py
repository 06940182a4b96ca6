"""What a kernel's session leaves in its machine, and its removal."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from contextlib import suppress

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import KernelFailed
from deskgym.envs.guest.process_table import process_table, uid_of

PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/var/lock", "/var/crash", "/run/screen")
"""Where anybody may make files; ``tests/envs/guest/kernel/test_kernel_sandbox.py`` looks for others."""

_LEAST = {"fs/mqueue/queues_max": "0", "kernel/keys/maxbytes": "1"}
"""Limits in /proc/sys of what no file names: without /dev/mqueue message queues, and keys in the Linux kernel."""

_UPPER = "/.layers"
"""Where a sandbox keeps what is written to /usr, /etc and /opt, where the host may have folders open to anybody."""

_IPC = {"shm": "shmid", "msg": "msqid", "sem": "semid"}
"""System V's shared memory, message queues and semaphores, and how /proc/sysvipc calls their numbers."""

_RMID = 0

_PROGRAMS = ("/usr/", "/opt/", "/lib/")
"""Where nothing lies but programs and libraries."""

_FONTS = (".ttf", ".otf", ".ttc", ".pfb", ".afm")
"""Matplotlib keeps its fonts open, and reads each from its beginning."""


class SessionCleanup:
    """Removes what the agent's user has made.

    Args:
        config: says who that is. Where it is the guest's own user, only the sessions' folder is cleared.
    """

    def __init__(self, config: GuestConfig) -> None:
        self._config = config
        self._folder, self._held = f"{config.state_dir}/kernels", f"{config.state_dir}/held"
        self._prepared = False
        self._written: set[tuple[str, int]] = set()

    def prepare(self) -> str:
        """Take from the agent's user what it need not own; the folder that sessions live in."""
        if not self._prepared:
            os.makedirs(self._folder, exist_ok=True)
            os.chmod(self._folder, 0o755)
            if self._config.uid is not None:
                for place in (self._config.home, self._config.runtime_dir):
                    _take_over(place)
                for limit, value in _LEAST.items():
                    with suppress(OSError):  # a sandbox's guest may not; it has /dev/mqueue, and no calls for keys
                        _write(f"/proc/sys/{limit}", value)
                self._written = _written()
            self._prepared = True
        return self._folder

    def keep(self, source: str, name: str) -> str:
        """Copy a session's folder to where nobody but the guest's user gets; gives the place.

        Raises:
            KernelFailed: there is no room, or it has what no copy can be made of.
        """
        os.makedirs(self._held, exist_ok=True)
        os.chmod(self._held, 0o700)
        return self._copy(source, f"{self._held}/{name}")

    def put_back(self, source: str, name: str) -> str:
        """Copy what was kept to a session's folder of this name. Raises KernelFailed."""
        return self._copy(source, f"{self._folder}/{name}")

    @staticmethod
    def _copy(source: str, target: str) -> str:
        """Copy a folder: files, links, owners and times; what is there is replaced."""
        _remove(target)
        done = subprocess.run(["cp", "-a", "--", source, target], capture_output=True, text=True)
        if done.returncode:
            _remove(target)
            raise KernelFailed(f"the session's folder could not be copied: {done.stderr.strip()[:300]}")
        return target

    def strays(self) -> list[str]:
        """What the session has made outside of its folder."""
        if self._config.uid is None:
            return []
        found = [path for path, _ in _written() ^ self._written]
        for place in {os.path.realpath(place) for place in (*PLACES, self._config.tmp_dir)}:
            found += _owned(place, self._config.uid)
        return found + ipc_of(self._config.uid)

    def remove(self) -> None:
        """Remove all that sessions left; what is kept stays.

        Raises:
            KernelFailed: something is still there.
        """
        for name in os.listdir(self._folder):
            _remove(f"{self._folder}/{name}")
        left = os.listdir(self._folder)
        if self._config.uid is not None:
            for place in {os.path.realpath(place) for place in (*PLACES, self._config.tmp_dir)}:
                left += _clear(place, self._config.uid)
            left += clear_ipc(self._config.uid)
            left += [path for path, _ in _written() ^ self._written]
        if left:
            raise KernelFailed(f"a session left what cannot be removed: {left[:5]}")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _take_over(place: str) -> None:
    for parent, folders, files in os.walk(place):
        for name in ("", *folders, *files):
            os.chown(os.path.join(parent, name), 0, 0, follow_symlinks=False)


def _clear(place: str, uid: int) -> list[str]:
    """Remove what a user owns in a place; gives what could not be."""
    for path in _owned(place, uid):
        _remove(path)
    return _owned(place, uid)


def _owned(place: str, uid: int) -> list[str]:
    """What a user owns in a place."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(place):
            with suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    found.append(entry.path)
    return found


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        try:
            shutil.rmtree(path)
        except (OSError, RecursionError):  # thousands of folders in each other, say
            subprocess.run(["rm", "-rf", "--", path], stderr=subprocess.DEVNULL)
    else:
        try:
            os.unlink(path)
        except OSError:
            pass


def _written() -> set[tuple[str, int]]:
    """What has been written to the host's folders, with the time of its last change."""
    found = set()
    for layer in ("usr", "etc", "opt"):
        for parent, folders, files in os.walk(f"{_UPPER}/{layer}/upper"):
            for name in (*folders, *files):
                path = os.path.join(parent, name)
                found.add((path, os.lstat(path).st_ctime_ns))
    return found


def clear_ipc(uid: int) -> list[str]:
    """Remove a user's System V objects; gives those that could not be."""
    libc: ctypes.CDLL | None = None
    left = []
    for kind in _IPC:
        for number in _ipc(kind, uid):
            libc = libc or ctypes.CDLL(None, use_errno=True)
            os.seteuid(uid)  # its owner may; root may not, without rights over all of the machine
            if kind == "shm":
                libc.shmctl(number, _RMID, None)
            elif kind == "msg":
                libc.msgctl(number, _RMID, None)
            else:
                libc.semctl(number, 0, _RMID)
            os.seteuid(0)
        left += [f"{kind} {number}" for number in _ipc(kind, uid)]
    return left


def ipc_of(uid: int) -> list[str]:
    """A user's System V objects."""
    return [f"{kind} {number}" for kind in _IPC for number in _ipc(kind, uid)]


def _ipc(kind: str, uid: int) -> list[int]:
    try:
        with open(f"/proc/sysvipc/{kind}") as file:
            names = file.readline().split()
            rows = [line.split() for line in file]
    except OSError:
        return []
    number, owner = names.index(_IPC[kind]), names.index("uid")
    return [int(row[number]) for row in rows if int(row[owner]) == uid]


def processes_of(uid: int) -> set[int]:
    """The living processes of a user, this one and PID 1 never among them."""
    living = {seen.pid for seen in process_table() if seen.state not in "ZX"} - {1, os.getpid()}
    return {pid for pid in living if uid_of(pid) == uid}


def strangers(pid: int, session: set[int], libraries: str | None) -> list[str]:
    """What a kernel's process has that its fork would not have, or would have in common with it.

    Args:
        pid: of the process.
        session: all processes of its session.
        libraries: the folder of the kernels' libraries.
    """
    programs = (*_PROGRAMS, f"{sys.prefix}/", f"{libraries or sys.prefix}/")
    found = [f"process {other}" for other in session - {pid}]
    try:
        if (threads := len(os.listdir(f"/proc/{pid}/task"))) > 1:
            found.append(f"{threads} threads")
        sockets = 0
        for number in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{number}")
            sockets += target.startswith("socket:")
            font = target.startswith(programs) and target.endswith(_FONTS)
            if not (font or target == os.devnull or target.startswith("socket:")):
                found.append(f"open {target}")
        found += ["sockets"] * (sockets > 1)  # one is the guest's
        with open(f"/proc/{pid}/maps") as maps:
            found += [f"shared memory {line.split()[-1]}" for line in maps if line.split()[1] == "rw-s"]
    except OSError as error:
        found.append(f"a process that cannot be looked at: {error.strerror}")
    return found
