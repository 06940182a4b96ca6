"""Snapshots of a sandbox: its layers, packed inside its own namespaces and unpacked as its own root."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
import threading
from collections import Counter
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import Snapshot
from deskgym.envs.machines.sandbox.host import find_tool
from deskgym.envs.machines.sandbox.limits import kernel
from deskgym.envs.machines.sandbox.rootfs import LAYERS
from deskgym.envs.machines.sandbox.supervision import LAYERS_SCRIPT
from deskgym.envs.machines.userns import IdMap, call_mapped

KIND = "sandbox"
TIMEOUT = 600.0

_NOT_TAKEN = ("tmp/upper/.X11-unix", "tmp/upper/.ICE-unix", "tmp/upper/.X*-lock", "tmp/upper/.font-unix")
_XATTRS = (
    "--xattrs", "--xattrs-include=user.*", "--xattrs-exclude=user.overlay.origin",
    "--xattrs-exclude=user.overlay.impure", "--xattrs-exclude=user.overlay.nlink",
    "--xattrs-exclude=user.overlay.uuid",
)  # fmt: skip


_lock = threading.Lock()
_users: Counter[Path] = Counter()  # snapshots that machines of this process run on
_dropped: set[Path] = set()  # those of them that are to be deleted when the last machine has left


def hold(folder: Path) -> None:
    """Keep a snapshot on the disk while a machine runs on it."""
    with _lock:
        _users[folder] += 1


def release(folder: Path, ids: IdMap) -> None:
    """The machine has stopped: delete the snapshot if it was dropped meanwhile."""
    with _lock:
        _users[folder] -= 1
        unwanted = folder in _dropped and not _users[folder]
        if unwanted:
            _dropped.discard(folder)
    if unwanted:
        remove_folder(folder, ids)


def drop(folder: Path, ids: IdMap) -> None:
    """Delete a snapshot, or have it deleted once no machine of this process runs on it any more."""
    with _lock:
        if _users[folder]:
            _dropped.add(folder)
            return
    remove_folder(folder, ids)


def make_folder(scratch: Path, ids: IdMap, kind: str) -> Path:
    """Make an empty folder in the scratch folder that belongs to the machines' root."""
    scratch.mkdir(mode=0o711, parents=True, exist_ok=True)
    folder = scratch / f"{kind}-{secrets.token_hex(4)}"
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder, *ids.root)
    return folder


def remove_folder(folder: Path, ids: IdMap) -> None:
    """Delete a folder of files that belong to the machines' users. Idempotent."""
    if folder.is_dir():
        call_mapped(ids, LAYERS_SCRIPT, ["remove", str(folder)], timeout=TIMEOUT)
        if folder.is_dir():
            folder.rmdir()  # its parent may belong to nobody inside


def take(pid: int, scratch: Path, ids: IdMap, below: Path | None, prepared: tuple[str, ...]) -> Snapshot:
    """Copy what the machine whose PID 1 is ``pid`` has written into a new folder.

    The archive is written by the machine's own root in its own mount namespace, and unpacked by a root that has no
    rights over the host's files: neither end can be led out of its tree by the links that an agent made.

    Raises:
        MachineError: it failed, for want of disk space, say.
    """
    folder = make_folder(scratch, ids, "snapshot")
    pack = [
        str(find_tool("nsenter")), "--user", "--mount", f"--target={pid}", "--",
        "tar", "-c", "-f", "-", "-C", "/.layers", "--sparse", "--numeric-owner", "--warning=no-file-ignored",
        "--warning=no-file-changed", *_XATTRS, *(f"--exclude={pattern}" for pattern in _NOT_TAKEN),
        *(f"{name}/upper" for name in LAYERS),
    ]  # fmt: skip
    packing = subprocess.Popen(
        pack,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        cwd="/",
    )
    try:
        assert packing.stdout is not None
        call_mapped(
            ids,
            LAYERS_SCRIPT,
            ["take", str(folder), "" if below is None else str(below)],
            stdin=packing.stdout.fileno(),
            timeout=TIMEOUT,
        )
        _, errors = packing.communicate(timeout=10.0)
        if packing.returncode not in (0, 1):  # 1: a file changed while it was read
            raise RuntimeError(errors.decode(errors="replace").strip()[-500:] or f"status {packing.returncode}")
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        packing.kill()
        packing.communicate()
        remove_folder(folder, ids)
        raise MachineError(f"the snapshot could not be taken: {error}", kind="snapshot_failed") from error
    return Snapshot(KIND, str(folder), prepared)


def folder_of(snapshot: Snapshot) -> Path:
    """The folder of a snapshot.

    Raises:
        ValueError: it is of another kind of machine, or was dropped.
    """
    if snapshot.machine != KIND:
        raise ValueError(f"a snapshot of a {snapshot.machine!r} machine cannot be restored to a {KIND!r} machine")
    folder = Path(snapshot.path)
    if folder in _dropped or not folder.name.startswith("snapshot-") or not folder.is_dir():
        raise ValueError(f"the snapshot {snapshot.path} was dropped, or the process that took it has ended")
    return folder


def make_layers(scratch: Path, ids: IdMap) -> Path:
    """A folder on the host's disk that takes a machine's writes, where a tmpfs cannot."""
    folder = make_folder(scratch, ids, "layers")
    call_mapped(ids, LAYERS_SCRIPT, ["fresh", str(folder), *LAYERS])
    return folder


@cache
def tmpfs_has_user_attributes() -> bool:
    """Whether a tmpfs can be the upper layer of an unprivileged overlay (Linux 6.6)."""
    try:
        with tempfile.TemporaryFile(dir="/dev/shm") as file:
            os.setxattr(file.fileno(), "user.deskgym", b"y")
    except OSError:
        return False
    return kernel() >= (6, 6)
