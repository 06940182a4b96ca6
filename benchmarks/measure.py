"""What every part of the benchmark uses: where its numbers go, the processor time of all that it started, the load."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import psutil

from deskgym.benchmarks.host import load
from deskgym.benchmarks.rows import Rows, number, spread
from deskgym.benchmarks.targets import Target
from deskgym.cli.output import print_json


@dataclass
class Part:
    """What one part of the benchmark is told, and what it found.

    Attributes:
        quick: measure little: does it work, rather than how fast is it.
        desktops: the most desktops to have alive at once.
        tell: shows what is done now.
        rows: what was measured, with every sample.
        targets: what had to be reached.
        facts: what else the page shows, JSON-able.
        skipped: what could not be measured here, with the reason.
    """

    quick: bool = False
    desktops: int = 128
    tell: Callable[[str], None] = lambda what: None
    rows: Rows = field(default_factory=Rows)
    targets: list[Target] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)

    def few(self, full: int, quick: int) -> int:
        """How often to measure: ``full``, or ``quick`` in a quick run."""
        return quick if self.quick else full

    def limit(self, what: str, limit: float, key: str, *, at_least: bool = False) -> None:
        """A row's median may be at most ``limit``, or must be at least that."""
        row = self.rows[key].to_dict()
        detail = f"{spread(row, 5)}, n={row['n']}"
        self.targets.append(Target(what, limit, row["median"], row["unit"], at_least=at_least, detail=detail))

    def limit_ratio(self, what: str, limit: float, key: str, by: str) -> None:
        """The median of one row over that of another must be at least ``limit``."""
        above, below = self.rows[key], self.rows[by]
        detail = f"{number(above.median)} and {number(below.median)} {above.unit}"
        ratio = above.median / below.median
        self.targets.append(Target(what, limit, ratio, "×", at_least=True, detail=detail))

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Note how long the body takes, and the load before and after."""
        before, start = load(), time.perf_counter()
        try:
            yield
        finally:
            self.facts |= {"seconds": round(time.perf_counter() - start, 1), "load": [before[0], load()[0]]}

    def to_dict(self) -> dict[str, Any]:
        """JSON."""
        return {
            "facts": self.facts,
            "skipped": self.skipped,
            "targets": [target.to_dict() | {"cells": target.cells()} for target in self.targets],
            "rows": [row.to_dict() for row in self.rows],
        }


def family() -> list[psutil.Process]:
    """This process and all that descend from it: workers, supervisors, and what runs in their sandboxes."""
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


def cpu_by_name(processes: list[psutil.Process]) -> Counter[str]:
    """Processor time of processes in whole ms, with that of their children that have ended, by their names.

    This process is ``"env"``; the interpreters that it starts are ``"supervisor"`` (of all sandboxes), ``"guest"`` (a
    sandbox's server) and ``"code executor"``.
    """
    total: Counter[str] = Counter()
    for process in processes:
        with suppress(psutil.Error):
            total[_name(process)] += round(_seconds(process) * 1000)
    return total


def _name(process: psutil.Process) -> str:
    name: str = process.name()
    if process.pid == os.getpid():
        return "env"
    if not name.startswith("python"):
        return name
    if any(argument.endswith("supervisor.py") for argument in process.cmdline()):
        return "supervisor"
    return "guest" if process.children() else "code executor"


def cpu_seconds(processes: list[psutil.Process] | None = None) -> float:
    """Processor time that processes have taken so far, with that of their children that have ended.

    A difference means something only while no sandbox is stopped: the time of what was in it is lost.

    Args:
        processes: these; ``family()`` if None.
    """
    return sum(cpu_by_process(processes).values())


def cpu_by_process(processes: list[psutil.Process] | None = None) -> dict[psutil.Process, float]:
    """The same for each of them, without those that are gone."""
    found = {}
    for process in family() if processes is None else processes:
        with suppress(psutil.Error):
            found[process] = _seconds(process)
    return found


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system + times.children_user + times.children_system)


def busy_cores() -> Callable[[], float]:
    """Start counting; the function that is returned gives how many cores the whole host has kept busy since."""

    def busy() -> float:
        times = psutil.cpu_times()
        return float(times.user + times.nice + times.system + times.irq + times.softirq)

    before, start = busy(), time.perf_counter()
    return lambda: (busy() - before) / (time.perf_counter() - start)


def available_mb() -> float:
    """The host's memory that can be had without swapping, in MiB."""
    return float(psutil.virtual_memory().available) / (1 << 20)


def wait_for_quiet(seconds: float = 0.5, busy: float = 0.1, cap: float = 15.0) -> None:
    """Wait until what this process has started uses less than ``busy`` of a core for ``seconds``, or ``cap``."""
    end, before = time.monotonic() + cap, cpu_seconds(family()[1:])
    while time.monotonic() < end:
        time.sleep(seconds)
        now = cpu_seconds(family()[1:])
        if now - before < busy * seconds:
            return
        before = now


def shares(timing: Mapping[str, float], total: float) -> dict[str, float]:
    """Where a step's ``total`` ms went: input, settle, elements, code, frame, and the rest."""
    known = {phase: timing.get(phase, 0.0) for phase in ("input", "code", "settle", "elements", "frame")}
    return {**known, "rest": max(total - sum(known.values()), 0.0)}


def deliver(
    data: dict[str, Any], name: str, options: argparse.Namespace, show: Callable[[dict[str, Any]], None]
) -> None:
    """Write the data to ``NAME.json`` in the folder ``options.out``, if there is one; print it, or show its tables."""
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{name}.json").write_text(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    if options.json:
        print_json(data)
    else:
        show(data)
