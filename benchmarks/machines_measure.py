"""Measures kinds of machines side by side: each sample of one kind is followed by the same of the next."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from deskgym.agents.base import run_episode
from deskgym.agents.scripted import OracleAgent
from deskgym.benchmarks.desks import kalgebra_desk
from deskgym.benchmarks.machines_kinds import Kind
from deskgym.benchmarks.machines_use import Leftovers, disk_mb, memory_mb
from deskgym.benchmarks.measure import Part
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import DeskgymError, MachineError
from deskgym.envs.machines import Machine
from deskgym.task_suites import load_suite

VIEWS = {"screenshot": ("screenshot", "instruction"), "elements": ("screenshot", "elements", "instruction")}
WHAT = {
    "boot": "cold start: until the desktop is there",
    "start": "start, booted before: until the desktop is there",
    "first/screenshot": "first reset: KAlgebra started, screenshot",
    "reset/screenshot": "later resets: KAlgebra open, screenshot",
    "first/elements": "first reset: KAlgebra started, elements too",
    "reset/elements": "later resets: KAlgebra open, elements too",
    "click/screenshot": "settled click, screenshot",
    "click/elements": "settled click, elements too",
    "snapshot": "taking a snapshot, KAlgebra open",
    "snapshot/disk": "a snapshot on the disk",
    "memory/one": "memory (PSS) of one machine with KAlgebra",
    "memory/second": "memory that the second one adds",
    "disk/second": "disk that the second one takes at its start",
    "episodes": "oracle's episodes a minute, a reset each",
}
"""Key of a row, after the kind's name → what it is."""


@dataclass
class Bench:
    """A run over several kinds.

    Args:
        part: where the numbers go.
        kinds: what is measured; one that fails is noted in ``part.skipped`` and left out from then on.
    """

    part: Part
    kinds: list[Kind]

    def each(self, work: Callable[[Kind], None]) -> None:
        """Do something with each kind."""
        for kind in list(self.kinds):
            try:
                work(kind)
            except (DeskgymError, OSError, RuntimeError) as error:
                self.part.skipped[kind.name] = f"failed in {work.__name__}: {type(error).__name__}: {error}"
                self.kinds.remove(kind)

    def add(self, kind: Kind, key: str, value: float, unit: str = "ms") -> None:
        """One more sample."""
        self.part.rows.add(f"{kind.name}/{key}", f"{kind.name}: {WHAT[key]}", value, unit)

    # --- starts

    def boots(self, rounds: int) -> None:
        """Start machines that were never started before."""
        for k in range(rounds):
            self.part.tell(f"cold start {k + 1} of {rounds}")
            self.each(self._boot)

    def _boot(self, kind: Kind) -> None:
        with kind.unbooted() as machine:
            self.add(kind, "boot", _timed(lambda: _start(machine)))

    def starts(self, rounds: int) -> None:
        """Start machines that were."""
        self.each(lambda kind: _stop(kind.build()))  # what all share is made
        for k in range(rounds):
            self.part.tell(f"start {k + 1} of {rounds}")
            self.each(self._start)

    def _start(self, kind: Kind) -> None:
        machine = kind.build()
        try:
            self.add(kind, "start", _timed(lambda: _start(machine)))
        finally:
            machine.stop()

    # --- resets and steps

    def resets(self, view: str, rounds: int, clicks: int) -> None:
        """Reset an env of each kind again and again, and then click in each."""
        with ExitStack() as stack:
            envs: dict[Kind, DesktopEnv] = {}

            def first_reset(kind: Kind) -> None:
                envs[kind] = kind.make(VIEWS[view])
                stack.callback(envs[kind].close)
                self.add(kind, f"first/{view}", _timed(lambda: envs[kind].reset(seed=0)))

            def reset(kind: Kind) -> None:
                self.add(kind, f"reset/{view}", _timed(lambda: envs[kind].reset()))

            def click(kind: Kind) -> None:
                action = desks[kind].action("click", k)
                self.add(kind, f"click/{view}", _timed(lambda: _step(envs[kind], action)))

            self.each(first_reset)
            for k in range(rounds):
                self.part.tell(f"reset {k + 1} of {rounds}, {view}")
                self.each(reset)
            desks: dict[Kind, Any] = {}
            self.each(lambda kind: desks.update({kind: kalgebra_desk(envs[kind].screen)}))
            for k in range(clicks):
                self.part.tell(f"click {k + 1} of {clicks}, {view}")
                self.each(click)
            self.part.facts.setdefault("stats", {})[view] = {kind.name: dict(env.stats) for kind, env in envs.items()}

    # --- snapshots, memory, disk

    def footprints(self, rounds: int) -> None:
        """Take snapshots with KAlgebra open, and run a second machine of one."""
        self.part.tell("snapshots, memory, disk")
        for k in range(rounds):
            self.each(self._footprint)
            self.part.tell(f"snapshots, memory, disk: {k + 1} of {rounds}")

    def _footprint(self, kind: Kind) -> None:
        with ExitStack() as stack:
            first, second = kind.build(), kind.build()
            stack.callback(second.stop)
            stack.callback(first.stop)
            first.restore(None)
            open_kalgebra(first)
            before = disk_mb()
            start = time.perf_counter()
            snapshot = first.snapshot()
            self.add(kind, "snapshot", (time.perf_counter() - start) * 1000)
            stack.callback(lambda: first.drop(snapshot))
            self.add(kind, "snapshot/disk", disk_mb(snapshot.path) - before, "MiB")

            def run(machine: Machine) -> None:
                machine.restore(snapshot)
                if "programs" not in machine.can:
                    open_kalgebra(machine)
                machine.display.perform([], SettlePolicy())

            run(first)
            alone, before = memory_mb(first), disk_mb(snapshot.path)
            run(second)
            self.add(kind, "disk/second", disk_mb(snapshot.path) - before, "MiB")
            self.add(kind, "memory/one", alone, "MiB")
            self.add(kind, "memory/second", memory_mb(first) + memory_mb(second) - alone, "MiB")

    # --- episodes

    def episodes(self, count: int) -> None:
        """Play episodes, each kind's one after another, and count what is left at the end."""
        self.each(lambda kind: self._episodes(kind, count))

    def _episodes(self, kind: Kind, count: int) -> None:
        self._play(kind, 1)  # what a process makes once is there
        leftovers = Leftovers()
        start = time.perf_counter()
        ends, stats = self._play(kind, count)
        self.add(kind, "episodes", count * 60 / (time.perf_counter() - start), "/min")
        self.part.facts.setdefault("episodes", {})[kind.name] = {
            "count": count, "ends": dict(ends), "stats": stats, "leaks": leftovers.grown(), "before": leftovers.before,
        }  # fmt: skip

    def _play(self, kind: Kind, count: int) -> tuple[Counter[str], dict[str, int]]:
        ends: Counter[str] = Counter()
        env = kind.make(VIEWS["screenshot"])
        try:
            for k in range(count):
                self.part.tell(f"episode {k + 1} of {count}, {kind.name}")
                ends[run_episode(env, OracleAgent(), seed=k).outcome] += 1
            return ends, dict(env.stats)
        finally:
            env.close()


def open_kalgebra(machine: Machine) -> None:
    """Do the setup of the KAlgebra task, and wait until it has settled."""
    load_suite("science").get("kalgebra/plot-2d", 0).prepare(machine)
    machine.display.perform([], SettlePolicy())


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def _start(machine: Machine) -> None:
    machine.start()
    machine.display.capture()


def _stop(machine: Machine) -> None:
    machine.start()
    machine.stop()


def _step(env: DesktopEnv, action: Any) -> None:
    fault = env.step(action)[4].get("fault")
    if fault:
        raise MachineError(f"a machine broke: {fault['message']}", fault["kind"])
