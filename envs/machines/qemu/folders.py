"""The folders of virtual machines and their snapshots: whose they are, and how what a killed process left is found."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from deskgym.envs.machines.live.registry import start_time
from deskgym.envs.machines.qemu.memory import copy_extents
from deskgym.envs.machines.sandbox.host import cache_folder


@cache
def base_folder() -> Path:
    """Where they all are, on the same file system as the images."""
    folder = cache_folder() / "vm"
    folder.mkdir(mode=0o755, exist_ok=True)
    return folder


def new_folder(kind: str) -> Path:
    """A new folder that belongs to this process, closed to other users.

    Args:
        kind: ``"machine"`` or ``"snapshot"``.
    """
    _sweep()
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"{kind}-{_namespace()}-{pid}-{start_time(pid)}-", dir=base_folder()))


def is_snapshot(path: Path) -> bool:
    """Whether this is the folder of a snapshot that a process has taken."""
    return path.parent == base_folder() and path.name.startswith("snapshot-")


def remove_at_exit(folder: Path) -> None:
    """Remove a folder when this process ends, if it is still there."""
    atexit.register(_remove_own, folder, os.getpid())


def _remove_own(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # else this is a fork of the process that it belongs to
        shutil.rmtree(folder, ignore_errors=True)


@cache
def _sweep() -> None:
    """Remove what processes have left that are gone, once per process."""
    for folder in (*base_folder().glob("machine-*"), *base_folder().glob("snapshot-*")):
        _, namespace, pid, ticks, _ = folder.name.split("-", 4)
        if namespace == _namespace() and str(start_time(int(pid))) != ticks:  # a container's pids are not ours
            shutil.rmtree(folder, ignore_errors=True)


def _namespace() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)


def link(source: Path, target: Path) -> None:
    """Give a file that is not written to any more a second name, or copy it to another file system."""
    try:
        os.link(source, target)
    except OSError:
        with source.open("rb") as old, target.open("wb") as new:
            size = os.fstat(old.fileno()).st_size
            os.ftruncate(new.fileno(), size)
            copy_extents(old.fileno(), new.fileno(), size)
