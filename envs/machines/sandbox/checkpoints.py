"""Checkpoints of a sandbox whose kernel is gVisor's: memory, files and screen, in one folder of plain files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.base import UNSAVABLE, Snapshot
from deskgym.envs.machines.sandbox import statefile
from deskgym.envs.machines.sandbox.gvisor_spec import CHECKPOINT, CONTAINER, FRAMEBUFFER, OWN, command
from deskgym.envs.machines.sandbox.host import find_tool

KIND = "sandbox/runsc"
_SAVING = "upon save"  # in what runsc says of what it cannot save
ABOUT = "about.json"
TIMEOUT = 120.0  # seconds
LARGEST_SCREEN = 1 << 28  # bytes: the machine's root could make the file as large as it likes


def take(pid: int, platform: str, folder: Path, screen: int, about: dict[str, Any]) -> None:
    """Write a checkpoint of the machine whose PID 1 is ``pid`` into its own folder. The machine ends with it.

    Args:
        pid: as the host sees it.
        platform: as it was started with.
        folder: the one that is ``OWN`` in it.
        screen: descriptor of its framebuffer's file, or -1.
        about: what a machine must have alike that goes on from it.

    Raises:
        MachineError: it failed, for want of disk space, say.
    """
    checkpoint = [
        str(find_tool("nsenter")), f"--target={pid}", "--user", "--mount", "--net", "--ipc", "--uts", "--pid", "--",
        *command(platform, "checkpoint", f"--image-path={OWN}", CONTAINER),
    ]  # fmt: skip
    try:
        done = subprocess.run(
            checkpoint, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, cwd="/",
            env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        if done.returncode != 0:
            raise RuntimeError(said(done.stderr or done.stdout) or f"status {done.returncode}")
        statefile.store(folder / CHECKPOINT)
        if screen >= 0:
            _copy_screen(screen, folder / FRAMEBUFFER)
        temporary = folder / f"{ABOUT}.new"
        temporary.write_text(json.dumps(about))
        os.replace(temporary, folder / ABOUT)  # from here on it is one
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        kind = UNSAVABLE if _SAVING in str(error) else "snapshot_failed"
        raise MachineError(f"the snapshot could not be taken: {error}", kind=kind) from error


def folder_of(snapshot: Snapshot, about: dict[str, Any]) -> Path:
    """The folder of a checkpoint that a machine of this kind can go on from.

    Raises:
        ValueError: it is of another kind, was dropped, or was taken of a machine with other arguments.
    """
    if snapshot.machine != KIND:
        raise ValueError(f"a snapshot of a {snapshot.machine!r} machine cannot be restored to a {KIND!r} machine")
    folder = Path(snapshot.path)
    try:
        taken = json.loads((folder / ABOUT).read_text())
    except (OSError, ValueError) as error:
        raise ValueError(f"the snapshot {folder} was dropped, or the process that took it has ended") from error
    different = [name for name in about if about[name] != taken.get(name)]
    if different:
        told = ", ".join(f"{name} {taken.get(name)!r} and not {about[name]!r}" for name in different)
        raise ValueError(f"the snapshot was taken of another machine: {told}")
    if not (folder / CHECKPOINT).is_file():
        raise ValueError(f"the snapshot {folder} has lost {CHECKPOINT}")
    return folder


def drop(snapshot: Snapshot) -> None:
    """Delete a checkpoint. Machines that have gone on from it do without. Idempotent."""
    folder = Path(snapshot.path)
    if snapshot.machine == KIND and (folder / ABOUT).is_file():
        remove(folder)


def remove(folder: Path) -> None:
    """Delete the folder of a checkpoint, or of a machine that has made none."""
    (folder / ABOUT).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def said(text: str) -> str:
    """What runsc said, without the traces of its threads and what it had in memory."""
    return text.partition("goroutine ")[0].rpartition("}: ")[2].strip(" :\n")[-500:]


def _copy_screen(source: int, path: Path) -> None:
    """Copy the framebuffer's file with the time of its last change, by which gVisor knows it again."""
    status = os.fstat(source)
    if status.st_size > LARGEST_SCREEN:
        raise OSError(f"the screen's file has {status.st_size} bytes")
    with path.open("wb") as target:
        os.fchmod(target.fileno(), 0o600)
        if os.geteuid() == 0:
            os.fchown(target.fileno(), status.st_uid, status.st_gid)
        at = 0
        while at < status.st_size:
            at += os.sendfile(target.fileno(), source, at, status.st_size - at) or _fail()
        os.utime(target.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))


def _fail() -> int:
    raise OSError("the screen's file was cut while it was copied")
