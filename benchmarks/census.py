"""What of deskgym is on this host now: processes, descriptors, memory, mounts, control groups, namespaces, files.

Linux only. Read as the user that owns the processes; what that user may not see (the network namespaces of its own
machines, for one who is not root) is left out of the counts.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deskgym.envs.machines.guest_runtime import INSIDE
from deskgym.envs.machines.sandbox.host import cache_folder, runtime_folder

CGROUPS = "/sys/fs/cgroup"
SUPERVISOR = "supervisor.py"
SHARED = ("deskgym", "psm_", "pym-")  # how multiprocessing begins its names; ours have none
STARTING = 30.0  # seconds: whatever is older was not made by a start that still goes on


@dataclass(frozen=True)
class Process:
    """One line of the process table.

    Attributes:
        pid: as this process sees it.
        parent: the pid of its parent, as this process sees it.
        name: of its program, at most 15 characters.
        state: one letter, ``"Z"`` for a zombie.
        depth: pid namespaces that it lies deeper than this process: 0 on the host, 1 in a machine.
        uid: its effective user.
    """

    pid: int
    parent: int
    name: str
    state: str
    depth: int
    uid: int


def process_table() -> dict[int, Process]:
    """All processes that /proc shows, by pid."""
    own = len(_status("self").get("NSpid", "1").split())
    found = (_process(name, own) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def _process(pid: str, own_depth: int) -> Process | None:
    try:
        status = _status(pid)
        depth = len(status.get("NSpid", "1").split()) - own_depth
        uid = int(status["Uid"].split()[1])
        return Process(int(pid), int(status["PPid"]), status["Name"], status["State"][0], depth, uid)
    except (OSError, KeyError):  # it has ended
        return None


def _status(pid: str) -> dict[str, str]:
    text = Path(f"/proc/{pid}/status").read_text(errors="replace")
    return {key: value.strip() for key, _, value in (line.partition(":") for line in text.splitlines())}


def tree(root: int, table: dict[int, Process] | None = None) -> list[Process]:
    """A process and all its descendants, machines included."""
    table = process_table() if table is None else table
    children: dict[int, list[Process]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    found = [table[root]] if root in table else []
    for process in found:
        found += children.get(process.pid, ())
    return found


def command_line(pid: int) -> list[str]:
    """A process's program and arguments; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def is_supervisor(process: Process) -> bool:
    """Whether it is a supervisor of sandboxes."""
    return process.depth == 0 and any(word.endswith(SUPERVISOR) for word in command_line(process.pid)[:6])


@dataclass
class Census:
    """Counts what belongs to one process tree. Keep one for a whole run: it remembers whose state folders are whose.

    Args:
        root: pid of the tree's first process.
        temporary: the tree's own folder for temporary files, or None.
    """

    root: int = field(default_factory=os.getpid)
    temporary: Path | None = None
    _owners: set[int] = field(default_factory=set, init=False)

    def take(self) -> dict[str, float]:
        """All counts now; memory in MiB."""
        table = process_table()
        ours = tree(self.root, table)
        self._owners |= {process.pid for process in ours}
        host = [p for p in ours if p.depth == 0 and p.state != "Z"]
        folders = list(self._state_folders())
        counts = {
            "processes on the host": len(host),
            "machines": sum(p.depth == 1 and table[p.parent].depth == 0 for p in ours if p.parent in table),
            "processes in machines": sum(p.depth > 0 for p in ours),
            "zombies": sum(p.state == "Z" for p in ours),
            "strays": len(strays(table)),
            "file descriptors": sum(_count(f"/proc/{p.pid}/fd") for p in host),
            "memory of ours, MiB": sum(_own_memory(p.pid) for p in host),
            "memory available, MiB": _available(),
            "mounts": len(Path("/proc/self/mountinfo").read_text().splitlines()),
            "state folders": len(folders),
            "runtime records": sum(_count(folder / "runtime") for folder in folders),
            "control groups": sum(1 for _ in self._cgroups()),
            "network namespaces": len({n for p in ours if (n := _namespace(p.pid)) is not None}),
            "temporary files": sum(1 for _ in self._files()),
            "shared memory files": sum(name.startswith(SHARED) for name in os.listdir("/dev/shm")),
        }
        if (kernel := _slab("net_namespace")) is not None:
            counts["network namespaces, kernel"] = kernel
        return counts

    def _state_folders(self) -> Iterator[Path]:
        return (path for path in runtime_folder().iterdir() if self._is_ours(path.name))

    def _cgroups(self) -> Iterator[Path]:
        for base, folders, _ in os.walk(CGROUPS):
            ours = [name for name in folders if name.startswith("deskgym-")]
            folders[:] = [name for name in folders if name not in ours]
            yield from (Path(base, name) for name in ours if self._is_ours(name.removeprefix("deskgym-")))

    def _files(self) -> Iterator[Path]:
        """Files that a run may leave: its own temporary ones, snapshots, half-built caches, and runc's."""
        if self.temporary is not None:
            yield from self.temporary.rglob("*")
        yield from (p for p in (cache_folder() / "scratch").glob("*") if self._is_ours(p.name))
        for left in (*cache_folder().glob(".building-*"), *Path("/tmp").glob("runctop*")):
            with contextlib.suppress(OSError):  # of a start that goes on, it may vanish
                if time.time() - left.lstat().st_mtime > STARTING:
                    yield left

    def _is_ours(self, name: str) -> bool:
        """Whether a process of this tree owns a state folder (``<pid>-...``), a container or a control group."""
        found = re.match(r"(\d+)-", name)
        return found is not None and int(found[1]) in self._owners


def strays(table: dict[int, Process] | None = None) -> list[Process]:
    """Guests of machines that have outlived whoever started them: below no supervisor."""
    table = process_table() if table is None else table
    roots = (p for p in table.values() if p.depth == 1 and p.parent in table and table[p.parent].depth == 0)
    guests = (p for p in roots if f"{INSIDE}/boot.py" in command_line(p.pid))
    return [p for p in guests if not is_supervisor(table[p.parent])]


def machine_processes(init: int) -> dict[int, str]:
    """The processes of the machine whose PID 1 is ``init`` here: pid → name, zombies left out."""
    return {p.pid: p.name for p in tree(init) if p.depth > 0 and p.state != "Z"}


def _count(folder: str | Path) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0


def _own_memory(pid: int) -> float:
    """Its share of the memory that no file backs: a file's pages count for more once another lets go of them."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return sum(map(int, re.findall(r"^Pss_(?:Anon|Shmem):\s+(\d+)", rollup, re.MULTILINE))) / 1024


def _available() -> float:
    found = re.search(r"MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text())
    return int(found[1]) / 1024 if found else 0.0


def _namespace(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def _slab(name: str) -> int | None:
    """Objects of a kind that the kernel holds, with or without a process; None where this user may not know."""
    try:
        found = re.search(rf"^{name}\s+(\d+)", Path("/proc/slabinfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None
