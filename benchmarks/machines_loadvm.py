"""Our snapshots of a virtual machine against QEMU's own, ``savevm`` and ``loadvm``, on one running KAlgebra desktop."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from deskgym.benchmarks.machines_kinds import Kind
from deskgym.benchmarks.machines_measure import Bench, open_kalgebra
from deskgym.benchmarks.machines_use import disk_mb
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.qemu.command import top_node
from deskgym.envs.machines.qemu.control import Control
from deskgym.envs.machines.qemu.machine import QemuMachine

TIMEOUT = 120.0  # seconds
LOADS = 3  # of each snapshot
WHAT = {
    "save/ours": "taking a snapshot, ours",
    "save/savevm": "taking a snapshot, savevm",
    "disk/ours": "its size on disk, ours",
    "disk/savevm": "its size on disk, savevm",
    "load/ours": "restore until the guest answers, ours: a new QEMU",
    "load/loadvm": "restore until the guest answers, loadvm in the running QEMU",
    "frame/ours": "restore until a settled frame, ours",
    "frame/loadvm": "restore until a settled frame, loadvm",
}
_jobs = count()


def compare(bench: Bench, rounds: int) -> None:
    """Measure both on each kind that is a QEMU, in turn; the machine is one that was booted, not restored."""

    def compare_loadvm(kind: Kind) -> None:
        if kind.image is None:
            return
        bench.part.tell(f"loadvm, {kind.name}: boot")
        with kind.unbooted() as machine:
            assert isinstance(machine, QemuMachine)
            machine.start()
            open_kalgebra(machine)
            _compare(bench, kind, machine, rounds)

    bench.each(compare_loadvm)


def _compare(bench: Bench, kind: Kind, machine: QemuMachine, rounds: int) -> None:
    def add(key: str, value: float, unit: str = "ms") -> None:
        bench.part.rows.add(f"{kind.name}/loadvm/{key}", f"{kind.name}: {WHAT[key]}", value, unit)

    assert machine._run is not None  # noqa: SLF001 - nothing else in the library needs QEMU's own snapshots
    control = machine._run.control
    ours: QemuMachine = kind.build()  # type: ignore[assignment]
    snapshots = []
    try:
        for k in range(rounds):
            bench.part.tell(f"loadvm, {kind.name}: {k + 1} of {rounds}")
            before, start = disk_mb(), time.perf_counter()
            snapshots.append(machine.snapshot())
            add("save/ours", (time.perf_counter() - start) * 1000)
            add("disk/ours", disk_mb() - before, "MiB")
            top = top_node(len(machine._disks) + 1)
            before, start = disk_mb(), time.perf_counter()
            _job(control, "snapshot-save", f"tag{k}", top)
            add("save/savevm", (time.perf_counter() - start) * 1000)
            add("disk/savevm", disk_mb() - before, "MiB")
            for _ in range(LOADS):
                start = time.perf_counter()
                with _deaf(control):
                    _job(control, "snapshot-load", f"tag{k}", top)
                    machine.guest.wake(TIMEOUT)
                add("load/loadvm", (time.perf_counter() - start) * 1000)
                machine.display.perform([], SettlePolicy())
                machine.display.capture()
                add("frame/loadvm", (time.perf_counter() - start) * 1000)
                start = time.perf_counter()
                ours.restore(snapshots[-1])
                add("load/ours", (time.perf_counter() - start) * 1000)
                ours.display.perform([], SettlePolicy())
                ours.display.capture()
                add("frame/ours", (time.perf_counter() - start) * 1000)
            ours.drop(snapshots.pop())
    finally:
        for snapshot in snapshots:
            ours.drop(snapshot)
        ours.stop()


@contextmanager
def _deaf(control: Control) -> Iterator[None]:
    """Ignore QEMU's events: loadvm begins with a reset, for which a machine of ours is given up."""
    heard, control._on_event = control._on_event, lambda name, data: None
    try:
        yield
    finally:
        control._on_event = heard


def _job(control: Control, command: str, tag: str, node: str) -> None:
    """Have QEMU save or load an internal snapshot, and wait until it has."""
    name = f"bench{next(_jobs)}"
    control.execute(command, TIMEOUT, job_id=name, tag=tag, vmstate=node, devices=[node])
    end = time.monotonic() + TIMEOUT
    while (job := _find(control, name))["status"] != "concluded":
        if time.monotonic() > end:
            raise MachineError(f"QEMU's {command} has not ended within {TIMEOUT:g} s", "snapshot_failed")
        time.sleep(0.002)
    control.execute("job-dismiss", id=name)
    if job.get("error"):
        raise MachineError(f"QEMU's {command} failed: {job['error']}", "snapshot_failed")


def _find(control: Control, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(job for job in control.execute("query-jobs", TIMEOUT) if job["id"] == name)
    return found
