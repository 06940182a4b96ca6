"""How an environment gets a desktop that is ready for a task: from the pool, from a kept snapshot, or by its setup."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from deskgym.envs.clock import Clock
from deskgym.envs.episode import TaskLike, needs_of, setup_key, take_baselines
from deskgym.envs.errors import MachineError, SetupError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.companion_keeper import CompanionKeeper
from deskgym.envs.provision.pool import PoolConfig, Ready, WarmPool, count_fault, gives_up
from deskgym.envs.provision.snapshot_cache import KeptSnapshots

T = TypeVar("T")


class MachineManager:
    """An environment's present machine, and those that are prepared for its next episodes.

    On a machine whose snapshots keep running programs, a snapshot is taken when a task is set up. The next task with
    the same setup is restored to it, and no program starts again. A machine in which nothing but
    kernels was used is made ready again in place of a new one.

    Args:
        builder: builds machines by what tasks need.
        settle: waits until a machine's screen has settled and reads it once: after that, only changes need reading.
        config: how much is prepared and kept.

    Attributes:
        machine: the present one.
        pool: prepares the next ones.
        stats: how often what has happened; see ``docs/vector.md``.
        kept: snapshots of desktops that were set up, by ``setup_key`` and the task's needs.
    """

    def __init__(
        self,
        builder: MachineBuilder,
        settle: Callable[[Machine], object],
        config: PoolConfig,
    ) -> None:
        self.builder, self._settle = builder, settle
        self.stats: Counter[str] = Counter()
        self.machine = builder.build(builder.least)
        self.pool = WarmPool(self._prepare_ahead, config, self.stats)
        keeps_programs = "programs" in self.machine.can
        self.kept = KeptSnapshots(
            config.snapshots if keeps_programs else 0, lambda snapshot: builder.build(builder.least).drop(snapshot)
        )
        self._broken = self._warned = False
        self._spares: list[Machine] = []
        self._companions = CompanionKeeper(builder)
        self._second: Machine | None = None

    def clean_machine(self, plugins: tuple[str, ...] = (), libraries: tuple[str, ...] = ()) -> Machine:
        """A second machine like the present one, as new: for what an evaluation has to run.

        It is the same one each time, restored, as long as plugins and the tasks' needs stay the same.

        Args:
            plugins: of its guest, in place of those that the agent's machine has.
            libraries: that its kernels can import beside those of the agent's machine.

        Raises:
            MachineError: it could not be had.
        """
        own = self.machine.config
        config = replace(own, plugins=plugins, libraries=tuple(dict.fromkeys((*own.libraries, *libraries))))
        if self._second is not None and self._second.config != config:
            self._second.stop()
            self._second = None
        if self._second is None:
            self._second = self.builder.build(config)
        try:
            self._second.restore(None)
        except MachineError:
            self._second.stop()
            raise
        return self._second

    def open(self, task: TaskLike, look: Callable[[bool], T]) -> tuple[Ready, T, dict[str, float]]:
        """Make ``machine`` one that is ready for a task.

        Args:
            task: the next one.
            look: takes the first observation of ``machine``; is told whether its screen has settled already.

        Returns:
            What was made ready, the first observation, and ms per phase.

        Raises:
            SetupError: the setup failed, on two fresh machines.
            MachineError: no machine could be had, after three tries; after one where ``MachineError.lasting``.
        """
        clock = Clock()
        self.builder.check_installed(needs_of(task))
        ready = self._swap(task, clock)
        failures = 0
        while True:
            try:
                if ready is None:
                    ready = self._start(task, clock)
                seen = look(ready.settled)
                clock.lap("observe")
                return ready, seen, clock.timing
            except (MachineError, SetupError) as error:
                if ready is not None:
                    self._discard(ready.setup_key, self.stats)
                self.fail(error)
                failures += 1
                if gives_up(error, failures):
                    raise
                ready, clock = None, Clock()
            except BaseException:
                self.machine.stop()
                raise

    def resume(self, task: TaskLike, snapshot: Snapshot, baselines: Mapping[str, Any]) -> None:
        """Make ``machine`` one that stands where the snapshot was taken, with this task set up.

        Raises:
            MachineError: it could not be had.
            ValueError: the snapshot is of another kind of machine, or is gone.
        """
        config = self.builder.config(needs_of(task))
        if self.machine.config != config:
            self.machine.stop()
            self.machine = self.builder.build(config)
        with self.machine.start_slot():
            self.machine.restore(snapshot)
            self.machine.guest.element_deadline = needs_of(task).element_deadline or GuestClient.element_deadline
        self.machine.baselines = dict(baselines)
        self.stats["repairs"] += self._broken
        self._broken = False

    def fail(self, error: MachineError | SetupError, cause: str = "infrastructure") -> None:
        """The present machine broke, or the setup failed on it: stop it; the next one counts as a repair."""
        count_fault(self.stats, error, cause)
        self.machine.stop()
        self._companions.distrust(self.machine)
        self._broken = True

    def close(self) -> None:
        """Stop all machines and delete what is kept. Idempotent; ``open`` starts anew."""
        try:
            self.pool.close()
        finally:
            try:
                second, self._second = self._second, None
                for machine in (self.machine, *self._spares, *([second] if second else [])):
                    machine.stop()
                self._spares.clear()
            finally:
                self._companions.close()
                self.kept.close()

    def _swap(self, task: TaskLike, clock: Clock) -> Ready | None:
        """Take over the desktop that the pool has made ready, if it has."""
        try:
            ready = self.pool.take(task)
        except BaseException:
            self.machine.stop()
            raise
        if ready is not None:
            if self.machine.untouched or self.machine.reusable:
                self._spares.append(self.machine)  # the next one to be prepared
            else:
                self.pool.retire(self.machine)
            self.machine = ready.machine
            self.stats["repairs"] += self._broken
            self._broken = False
            clock.lap("swap")
        return ready

    def _start(self, task: TaskLike, clock: Clock) -> Ready:
        """Make the present machine ready."""
        self.stats["starts"] += 1
        self.stats["repairs"] += self._broken
        self._broken = False
        config = self.builder.config(needs_of(task))
        if self.machine.config != config:
            self.machine.stop()
            self.machine = self.builder.build(config)
        return self._prepare(task, self.machine, clock, self.stats, ahead=False)

    def _prepare_ahead(self, task: TaskLike, stats: Counter[str]) -> Ready:
        machine = self._spare(self.builder.config(needs_of(task)))
        try:
            return self._prepare(task, machine, Clock(), stats, ahead=True)
        except BaseException:
            machine.stop()
            self._companions.distrust(machine)
            raise

    def _spare(self, config: MachineConfig) -> Machine:
        """An idle machine of this configuration, or a new one; idle ones of others are stopped."""
        fitting: list[Machine] = []
        while self._spares:
            machine = self._spares.pop()
            if machine.config == config:
                fitting.append(machine)
            else:
                machine.stop()
        self._spares += fitting[1:]
        return fitting[0] if fitting else self.builder.build(config)

    def _prepare(self, task: TaskLike, machine: Machine, clock: Clock, stats: Counter[str], ahead: bool) -> Ready:
        """A desktop with the task's setup done, settled and read once, if that does not come with the first look."""
        key = _snapshot_key(task, machine.config) if self.kept.limit else ""
        with machine.start_slot():
            clock.lap("start_slot")
            try:
                resumed = self._restore(machine, key, stats)
                if "commands" in machine.can:
                    machine.guest.element_deadline = needs_of(task).element_deadline or GuestClient.element_deadline
                clock.lap("restore")
                self._companions.give(machine, needs_of(task).services, stats)
                if machine.companions:
                    clock.lap("companions")
                if resumed:
                    take_baselines(task, machine)
                else:
                    task.prepare(machine)
                    clock.lap("setup")
                if ahead or not resumed:
                    self._settle(machine)
                    clock.lap("settle")
            except (MachineError, SetupError):
                self._discard(key, stats)
                raise
            if not resumed and self._keep(machine, key, stats):
                clock.lap("snapshot")
        return Ready(task, machine, clock.timing, key, settled=ahead or not resumed)

    def _restore(self, machine: Machine, key: str, stats: Counter[str]) -> bool:
        """Restore to what is kept of this setup, or to a fresh start; whether it was the first."""
        with self.kept.lent(key) as snapshot:
            try:
                machine.restore(snapshot)
            except ValueError as error:
                if snapshot is None:
                    raise
                raise MachineError(f"a snapshot that was kept cannot be used: {error}", "snapshot_lost") from error
        if snapshot is None:
            return False
        stats["snapshots_used"] += 1
        return True

    def _keep(self, machine: Machine, key: str, stats: Counter[str]) -> bool:
        """Take a snapshot for later; one that cannot be taken costs nothing but its time."""
        try:
            taken = self.kept.keep(key, machine.snapshot)
        except (MachineError, OSError) as error:
            self._complain(error, stats)
            if not machine.alive:
                raise MachineError(f"the machine broke when its snapshot was taken: {error}", "snapshot") from error
            return False
        if taken:
            stats["snapshots_taken"] += 1
        return taken

    def _discard(self, key: str, stats: Counter[str]) -> None:
        """Delete what is kept of a setup: it may be what does not work."""
        try:
            self.kept.discard(key)
        except (MachineError, OSError) as error:
            self._complain(error, stats)

    def _complain(self, error: MachineError | OSError, stats: Counter[str]) -> None:
        stats["snapshots_failed"] += 1
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"a snapshot of a desktop that was set up could not be kept: {error}; fewer are kept from now on, and "
                "what is not kept is set up anew. Room helps if the disk is full; pool={'snapshots': 0} keeps none",
                RuntimeWarning,
                stacklevel=2,
            )


def _snapshot_key(task: TaskLike, config: MachineConfig) -> str:
    """What a snapshot is kept by; "" keeps none."""
    key = setup_key(task)
    return key and f"{key} {config} {needs_of(task)}"
