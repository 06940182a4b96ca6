"""Kills processes inside the machine: a job's, or all of a user's."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.process_table import process_table, uid_of
from deskgym.envs.guest.processes import system_user


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
