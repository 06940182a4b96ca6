"""What machines take, and what they leave: memory by process, disk by file, and a count of all that could leak."""

from __future__ import annotations

import gc
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from deskgym.benchmarks.census import Census
from deskgym.benchmarks.memory import read_machine
from deskgym.envs.machines import Machine
from deskgym.envs.machines.qemu.folders import base_folder
from deskgym.envs.machines.qemu.machine import QemuMachine
from deskgym.envs.machines.sandbox.host import cache_folder, runtime_folder

PATIENCE = 15.0  # seconds in which what has been stopped has gone
_COUNTED = (
    "processes on the host", "machines", "zombies", "file descriptors", "mounts", "state folders", "runtime records",
    "control groups", "temporary files",
)  # fmt: skip


def memory_mb(machine: Machine) -> float:
    """The proportional share of memory (PSS) of a machine's processes, in MiB: a page of n processes counts 1/n.

    For a virtual machine these are QEMU and its keeper, as the host sees them: all memory that its operating system has
    touched, and the pages of a snapshot's file that it has read.
    """
    if isinstance(machine, QemuMachine):
        keeper = int(Path(f"/proc/{machine.pid}/stat").read_text().rpartition(")")[2].split()[1])
        return _pss(machine.pid) + _pss(keeper)
    return float(sum(process["pss"] for process in read_machine(machine)))


def _pss(pid: int) -> float:
    found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(found[1]) / 1024 if found else 0.0


def disk_mb(*more: str) -> float:
    """MiB on disk of all that this process's machines and snapshots have there, a file with many names counted once.

    Args:
        more: further files and folders.
    """
    sizes = {}
    for root in (*_folders(), *map(Path, more)):
        for path in (root, *root.rglob("*")):
            with suppress(OSError):  # it has just gone
                status = path.lstat()
                sizes[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(sizes.values()) / (1 << 20)


def _folders() -> list[Path]:
    """The folders of this process's machines and snapshots, of all kinds."""
    own = re.compile(rf"(^|-){os.getpid()}-")
    places: Iterable[Path] = (*base_folder().glob("*-*"), *(cache_folder() / "scratch").glob("*-*"))
    return [path for path in places if own.search(path.name)]


class Leftovers:
    """Counts what belongs to this process and could be left behind; the first count is what later ones may be.

    Attributes:
        before: the first count.
    """

    def __init__(self) -> None:
        self._census = Census()
        self.before = self._take()

    def grown(self) -> dict[str, tuple[float, float]]:
        """What there is more of than before, with both counts, after all that goes has had the time to go."""
        end = time.monotonic() + PATIENCE
        while True:
            now = self._take()
            more = {what: (self.before[what], count) for what, count in now.items() if count > self.before[what]}
            if not more or time.monotonic() > end:
                return more
            time.sleep(0.3)

    def _take(self) -> dict[str, float]:
        gc.collect()
        counts = self._census.take()
        live = runtime_folder() / "live"
        return {
            **{what: counts[what] for what in _COUNTED},
            "threads": len(os.listdir("/proc/self/task")),
            "folders of machines and snapshots": len(_folders()),
            "records for viewers": len(list(live.glob(f"*-{os.getpid()}-*"))) if live.is_dir() else 0,
        }
