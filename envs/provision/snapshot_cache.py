"""Snapshots that are kept for later: a bounded number, found by what was set up when they were taken."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Lock

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import UNSAVABLE, Snapshot


@dataclass
class _Kept:
    """A snapshot, how often it was lent, and to how many it is lent now."""

    snapshot: Snapshot
    uses: int = 0
    borrowers: int = 0


class KeptSnapshots:
    """Snapshots of one kind of machine, by key. Several threads may use it.

    Where there are too many, those that were never lent go first, then the least recently used; so setups of which each
    is seen once do not drive out those that come again and again. Where one cannot be taken (the disk is full, say),
    no more than there were then are kept from now on. What the machine cannot save (kind ``UNSAVABLE``) is not tried
    again.

    Args:
        limit: most snapshots; 0 keeps none.
        drop: deletes one.
    """

    def __init__(self, limit: int, drop: Callable[[Snapshot], None]) -> None:
        self.limit = self._room = limit
        self._drop = drop
        self._lock = Lock()
        self._kept: dict[str, _Kept] = {}  # the most recently used one is last
        self._taking: set[str] = set()
        self._refused: set[str] = set()  # what has no snapshot, whatever room there is
        self._owner = os.getpid()

    def __len__(self) -> int:
        return len(self._kept)

    @contextmanager
    def lent(self, key: str) -> Iterator[Snapshot | None]:
        """The snapshot of a key, or None; it is not deleted before the end of the ``with`` block."""
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is not None:
                self._kept[key] = kept
                kept.uses += 1
                kept.borrowers += 1
        try:
            yield None if kept is None else kept.snapshot
        finally:
            if kept is not None:
                with self._lock:
                    kept.borrowers -= 1
                    unwanted = self._kept.get(key) is not kept and not kept.borrowers
                if unwanted:
                    self._drop(kept.snapshot)

    def keep(self, key: str, take: Callable[[], Snapshot]) -> bool:
        """Take a snapshot and keep it, unless there is one of the key, or one is being taken.

        Args:
            key: what to find it by; "" keeps none.
            take: takes it.

        Returns:
            Whether it was taken.

        Raises:
            MachineError, OSError: it could not be taken, or another could not be deleted for it.
        """
        with self._lock:
            if not key or key in self._kept or key in self._taking or key in self._refused:
                return False
            if len(self._taking) >= self._room:
                return False
            self._taking.add(key)
            going = [self._choose() for _ in range(len(self._kept) + len(self._taking) - self._room)]
        try:
            self._delete(going)
            snapshot = take()
            with self._lock:
                self._kept[key] = _Kept(snapshot)
            return True
        except (MachineError, OSError) as error:
            with self._lock:
                if getattr(error, "kind", "") == UNSAVABLE:
                    self._refused.add(key)
                else:
                    self._room = min(self._room, len(self._kept))
            raise
        finally:
            with self._lock:
                self._taking.discard(key)

    def discard(self, key: str) -> None:
        """Delete the snapshot of a key, if there is one: what was restored to it did not work.

        Raises:
            MachineError, OSError: it cannot be deleted.
        """
        with self._lock:
            kept = self._kept.pop(key, None)
        if kept is not None:
            self._delete([kept])

    def close(self) -> None:
        """Delete all; in a fork of the process that they belong to, forget them. Idempotent; it can be used again."""
        with self._lock:
            kept, self._room = list(self._kept.values()), self.limit
            self._kept.clear()
        if self._owner == os.getpid():
            self._delete(kept)

    def _choose(self) -> _Kept:
        """Take out the one that is needed least."""
        return self._kept.pop(min(self._kept, key=lambda key: self._kept[key].uses > 0))  # the first of equal ones

    def _delete(self, going: list[_Kept]) -> None:
        """Delete these; those that are lent are deleted when they are given back."""
        with self._lock:
            idle = [kept.snapshot for kept in going if not kept.borrowers]
        with ExitStack() as stack:  # each is deleted, whatever the others raise
            for snapshot in idle:
                stack.callback(self._drop, snapshot)
