"""No machine at all: for tasks that are texts and pictures, and are answered in words."""

from __future__ import annotations

from typing import NoReturn

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.options import checked


class NoMachine(Machine):
    """What starts in no time, runs nothing, and has neither guest nor display.

    Args:
        config: is kept, and makes no difference.
    """

    kind = "none"
    isolates = True
    can = frozenset({"fresh"})

    @checked
    def __init__(self, config: MachineConfig | None = None) -> None:
        super().__init__(config)
        self._started = False

    def start(self) -> None:
        """Nothing starts."""
        self._started = True

    def stop(self) -> None:
        """Nothing ends."""
        self._started = False

    @property
    def alive(self) -> bool:
        """Whether it was started."""
        return self._started

    @property
    def untouched(self) -> bool:
        """Nothing can be used in it."""
        return True

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Start. Raises ValueError for a snapshot: it makes none."""
        if snapshot is not None:
            raise ValueError(f"a snapshot of {snapshot.machine!r}: machine='none' makes none")
        self.start()

    def snapshot(self) -> NoReturn:
        """Raise MachineError."""
        raise self._nothing("to take a snapshot of")

    def drop(self, snapshot: Snapshot) -> None:
        """There is nothing to delete."""

    @property
    def guest(self) -> NoReturn:
        """Raise MachineError."""
        raise self._nothing("to run commands in")

    @property
    def display(self) -> NoReturn:
        """Raise MachineError."""
        raise self._nothing("to see")

    def _nothing(self, what: str) -> MachineError:
        return MachineError(f"machine='none' has nothing {what}", "not_supported")
