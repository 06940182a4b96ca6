"""Desktops made ready ahead of time, so that a reset is a swap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, Any, TypeVar

from deskgym.envs.episode import TaskLike
from deskgym.envs.errors import MachineError, SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.memory import available_memory
from deskgym.envs.options import CheckedFields, from_options

TRIES = 3  # so many machines may break in a reset
SETUP_TRIES = 2  # on so many a setup may fail: what fails twice is mostly the task's mistake, after a long deadline
T = TypeVar("T")
Count = Annotated[int, (0, None)]


@dataclass(frozen=True)
class PoolConfig(CheckedFields):
    """How much is prepared while an episode runs.

    Attributes:
        depth: episodes ahead whose desktops are prepared; 0 prepares none.
        reserve_mb: memory in MiB that must be available, on the host and in this process's control group, before
            another desktop is started ahead of time. Where there is less, the reset prepares it itself, when the last
            one is gone.
        snapshots: how many desktops are kept as they are after their setup, on the disk, for later tasks with the same
            setup, where the machine's snapshots keep running programs; 0 keeps none.
    """

    depth: Count = 1
    reserve_mb: Count = 1024
    snapshots: Count = 8

    @classmethod
    def from_dict(cls, values: Mapping[str, Any] | None) -> PoolConfig:
        """From what ``gym.make(..., pool=...)`` was given; None is no pool. Raises ValueError."""
        return from_options(cls, {"depth": 0} if values is None else values, "pool")


@dataclass
class Ready:
    """A desktop on which a task's setup is done, and that nobody has touched since.

    Attributes:
        task: the task instance.
        machine: it runs; the first observation can be taken, at once if it is ``settled``.
        timing: ms per phase.
        setup_key: what a snapshot of it is kept by, if one is.
        settled: its screen has settled, and was read.
    """

    task: TaskLike
    machine: Machine
    timing: Mapping[str, float]
    setup_key: str = ""
    settled: bool = True


@dataclass
class _Made:
    """What came of a preparation: ``ready``, an ``error``, or neither where there was no memory for it."""

    stats: Counter[str] = field(default_factory=Counter)
    ready: Ready | None = None
    error: Exception | None = None


@dataclass
class _Entry:
    """A preparation: of which task, and what comes of it."""

    task_id: str
    made: Future[_Made]


class WarmPool:
    """Prepares the tasks that are needed next, in the background, in their order.

    One owner uses it from one thread; the machines are made in another, and handed over. It starts nothing before it
    is told what is needed.

    Args:
        prepare: makes a desktop ready for a task, and leaves nothing behind where it raises; counts what it does in
            what it is given.
        config: how much to prepare.
        stats: counts ``swaps`` (resets that were served), ``waits`` (preparations that were waited for), ``misses``
            (resets for which nothing was prepared), ``discarded`` (prepared, and not needed), ``lost`` (dead when it
            was needed), and what the preparations took: ``starts``, ``faults``, ``fault_*``, ``repairs``, and what
            ``prepare`` counts.
    """

    def __init__(
        self, prepare: Callable[[TaskLike, Counter[str]], Ready], config: PoolConfig, stats: Counter[str]
    ) -> None:
        self.config, self.stats = config, stats
        self._prepare = prepare
        self._worker: ThreadPoolExecutor | None = None
        self._entries: list[_Entry] = []
        self._given_up: list[Future[_Made]] = []

    def want(self, tasks: Sequence[TaskLike]) -> None:
        """Say what is needed next, in order: what is not among it is given up, what is new is started."""
        kept = [self._pop(task.id) or _Entry(task.id, self._submit(self._make, task)) for task in tasks]
        given_up, self._entries = self._entries, kept
        for entry in given_up:
            self._give_up(entry)
        self._count_given_up()

    def take(self, task: TaskLike) -> Ready | None:
        """The desktop that was prepared for a task, waiting for one in the making; None if there is none.

        Raises:
            SetupError: the setup failed, on two fresh machines.
            MachineError: no machine could be had.
        """
        entry = self._pop(task.id)
        if entry is None:
            if self.config.depth:
                self.stats["misses"] += 1
            return None
        self.stats["waits"] += not entry.made.done()
        try:
            made = entry.made.result()
        except BaseException:  # Ctrl-C while it is waited for
            self._give_up(entry)
            raise
        self.stats.update(made.stats)
        if made.error is not None:
            raise made.error
        if made.ready is None:
            self.stats["misses"] += 1
        elif made.ready.machine.alive:
            self.stats["swaps"] += 1
            return made.ready
        else:
            self.stats["lost"] += 1
            made.ready.machine.stop()
        return None

    def retire(self, machine: Machine) -> None:
        """Stop a machine in the background."""
        self._submit(machine.stop)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing is in the making, or being stopped.

        Raises:
            TimeoutError: it takes longer than ``timeout`` seconds.
        """
        self._submit(lambda: None).result(timeout)  # the worker does one thing after the other

    def close(self) -> None:
        """Stop all that was prepared, and wait for what is in the making. Idempotent; ``want`` starts it anew."""
        self.want(())
        if self._worker is not None:
            self._worker.shutdown(wait=True)
            self._worker = None
        self._count_given_up()

    def _submit(self, work: Callable[..., T], *arguments: Any) -> Future[T]:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="deskgym-pool")
        return self._worker.submit(work, *arguments)

    def _give_up(self, entry: _Entry) -> None:
        if not entry.made.cancel():
            self._given_up.append(self._submit(_stop, entry.made))

    def _pop(self, task_id: str) -> _Entry | None:
        for k, entry in enumerate(self._entries):
            if entry.task_id == task_id:
                return self._entries.pop(k)
        return None

    def _make(self, task: TaskLike) -> _Made:
        made = _Made()
        if available_memory() < self.config.reserve_mb << 20:
            return made
        for attempt in count(1):
            made.stats["starts"] += 1
            made.stats["repairs"] += attempt > 1
            try:
                made.ready, made.error = self._prepare(task, made.stats), None
                break
            except (MachineError, SetupError) as error:
                count_fault(made.stats, error)
                made.error = error
                if gives_up(error, attempt):
                    break
        return made

    def _count_given_up(self) -> None:
        """Count what it took to prepare what was not needed; the owner's thread alone counts."""
        done = [future for future in self._given_up if future.done()]
        self._given_up = [future for future in self._given_up if future not in done]
        for future in done:
            if future.exception() is None:
                self.stats.update(future.result().stats)


def count_fault(stats: Counter[str], error: MachineError | SetupError, cause: str = "infrastructure") -> None:
    """Count a machine that broke, or on which a setup failed: ``faults``, ``fault_<kind>``, ``faults_by_<cause>``."""
    stats[f"faults_by_{cause}"] += 1
    stats["faults"] += 1
    stats[f"fault_{error.kind if isinstance(error, MachineError) else 'setup'}"] += 1


def gives_up(error: MachineError | SetupError, failures: int) -> bool:
    """Whether no other machine is tried after so many failures: it would end the same."""
    if isinstance(error, SetupError):
        return failures >= SETUP_TRIES
    return error.lasting or failures >= TRIES


def _stop(future: Future[_Made]) -> _Made:
    """Stop what was prepared; runs after the preparation, since there is one worker."""
    made = future.result()
    if made.ready is not None:
        made.ready.machine.stop()
        made.stats["discarded"] += 1
    return made
