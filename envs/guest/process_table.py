"""The processes that /proc shows: what each one is, and which of them belong to a job.

A job is found by descent, by session, and by a mark in its environment, so that leaving the process group or becoming
a daemon does not save it.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass


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
