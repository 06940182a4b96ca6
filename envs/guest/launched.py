"""The launched programs: a program is the process that was started and all that come from it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable

from deskgym.envs.guest.process_table import Seen, has_code_of, has_mark, is_traced, process_table
from deskgym.envs.guest.processes import Reaper


class Family:
    """A launched program with its children: a script that starts the real program is one, and so is a browser.

    A process belongs to it by descent or by the session that the program was started in, and stays in it. What the
    agent starts belongs to none: a process can join no other's session, and choose no parent.

    Args:
        pid: the process that was started, which leads its session and has not been reaped.
        name: its file's name.
        mark: what it was started with in its environment, as ``NAME=value``.

    Attributes:
        distrusted: a user whose files must hold none of its code; None until that user can have given it any.
    """

    def __init__(self, pid: int, name: str, mark: str) -> None:
        self.pid, self.name, self._mark = pid, name, mark.encode()
        self._known = {seen.pid: seen.started for seen in process_table() if seen.pid == pid}
        self._started = self._known.get(pid)
        self.distrusted: int | None = None
        self._stacks: dict[int, int] = {}  # of those that there were when it was ready

    def members(self, table: Iterable[Seen] | None = None, reaped: bool = False) -> set[int]:
        """The processes that live; ``reaped``: the first one was reaped just now."""
        table = list(process_table() if table is None else table)
        there = any((s.pid, s.started) == (self.pid, self._started) for s in table)  # as a zombie, maybe
        seen = {s.pid: s for s in table if s.state not in "ZX"}
        found = {pid for pid, started in self._known.items() if pid in seen and seen[pid].started == started}
        if reaped or there or any(seen[pid].session == self.pid for pid in found):  # else the number may be another's
            found |= {s.pid for s in seen.values() if s.session == self.pid}
        found -= {1, os.getpid()}
        while more := {s.pid for s in seen.values() if s.parent in found} - found:
            found |= more
        self._known = {pid: seen[pid].started for pid in found}
        return found

    def adopt(self) -> set[int]:
        """Take in those with its mark, which have left its session: anybody can forge it, so before the agent acts.

        Gives the members that are new, or have become another program, since this was called last.
        """
        table = list(process_table())
        for seen in table:
            if seen.pid not in self._known and has_mark(seen.pid, self._mark):
                self._known[seen.pid] = seen.started
        members, before = self.members(table), self._stacks
        self._stacks = {seen.pid: _stack(seen) for seen in table if seen.pid in members}
        return {pid for pid, stack in self._stacks.items() if before.get(pid) != stack}

    def believed(self) -> set[int]:
        """The members that are the program which they were when it was ready, untraced, without code of the agent's."""
        table = list(process_table())
        known = {seen.pid: _stack(seen) for seen in table if seen.pid in self._stacks}
        replaced = {pid for pid, stack in known.items() if stack and self._stacks[pid] != stack}
        found = {pid for pid in self.members(table) - replaced if not is_traced(pid)}
        return {pid for pid in found if self.distrusted is None or not has_code_of(pid, self.distrusted)}

    def first(self) -> set[int]:
        """The process that was started, where it lives."""
        return {seen.pid for seen in process_table() if (seen.pid, seen.started) == (self.pid, self._started)}

    def is_called(self, name: str) -> bool:
        """Whether it was launched under this name, or one of its processes has it."""
        return self.name == name or any(name_of(pid) == name[:15] for pid in self.members())


class LaunchedPrograms:
    """The families of all that was launched and has not ended."""

    def __init__(self, reaper: Reaper) -> None:
        self._families: list[Family] = []
        self._distrusted: int | None = None
        self._reaped: set[int] = set()  # the first processes of families that live on without them
        reaper.on_reap = self._on_reap

    def add(self, pid: int, name: str, mark: str) -> Family:
        """A program was started just now."""
        self._families.append(Family(pid, name, mark))
        self._families[-1].distrusted = self._distrusted
        return self._families[-1]

    def distrust(self, uid: int | None) -> list[Family]:
        """From now on no code from this user's files is believed in any program; gives those that there are."""
        self._distrusted = uid
        for family in self.all():
            family.distrusted = uid
        return self._families

    def find(self, name: str) -> Family | None:
        """The first program of that name that lives, or None."""
        self._prune()
        named = [family for family in self._families if family.name == name]
        return next(iter(named or [family for family in self._families if family.is_called(name)]), None)

    def all(self) -> list[Family]:
        """Those that live."""
        self._prune()
        return self._families

    def _on_reap(self, pid: int) -> None:
        for family in self._families:
            if family.pid == pid:
                self._reaped.add(pid)
                family.members(reaped=True)
        if self._reaped:
            self._prune()

    def _prune(self) -> None:
        """Drop what has ended, before its process's number can become another's."""
        table = list(process_table())
        self._families = [family for family in self._families if family.members(table)]
        self._reaped &= {family.pid for family in self._families}


def _stack(seen: Seen) -> int:
    """Where a process's stack is, which is drawn anew whenever it becomes another program; 0 if that is not told.

    gVisor does not say where it begins, but where its memory ends.
    """
    if not seen.stack:
        with contextlib.suppress(OSError, ValueError), open(f"/proc/{seen.pid}/maps", "rb") as file:
            ends = (line.split()[0].partition(b"-")[2] for line in file if line.rstrip().endswith(b"[stack]"))
            return int(next(ends, b"0"), 16)
    return seen.stack


def name_of(pid: int) -> str:
    """The name of a process, 15 bytes at most; "" when it is gone."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""
