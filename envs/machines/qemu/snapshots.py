"""A virtual machine's snapshots: memory, devices and disk, in one folder of plain files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deskgym.envs.machines.base import Snapshot
from deskgym.envs.machines.qemu.command import Hardware
from deskgym.envs.machines.qemu.folders import link

KIND = "qemu"
ABOUT = "snapshot.json"


@dataclass(frozen=True)
class Frozen:
    """A snapshot's folder.

    Attributes:
        folder: where it is.
        hardware: what it was taken on, as a dict.
        layers: names of the disk's layers over the image's, the lowest first.
        desktop: what the guest said of its desktop when it started it, or None where there is none.
    """

    folder: Path
    hardware: dict[str, Any]
    layers: Sequence[str]
    desktop: dict[str, Any] | None

    @property
    def memory(self) -> Path:
        """The memory, a sparse file."""
        return self.folder / "memory"

    @property
    def state(self) -> Path:
        """What QEMU's devices saved."""
        return self.folder / "state"

    @property
    def screen(self) -> Path:
        """The framebuffer's device; there only where there is a desktop."""
        return self.folder / "screen"

    @property
    def read_only(self) -> list[Path]:
        """The guest's disk, and the libraries' where it has them."""
        names = (self.hardware.get(key) for key in ("guest", "libraries"))
        return [self.folder / name for name in names if name]

    @property
    def disks(self) -> list[Path]:
        """The disk's layers."""
        return [self.folder / name for name in self.layers]

    def save(self) -> None:
        """Write what it is into its folder: from then on it is a snapshot."""
        about = {"hardware": self.hardware, "layers": list(self.layers), "desktop": self.desktop}
        temporary = self.folder / f"{ABOUT}.new"
        temporary.write_text(json.dumps(about))
        os.replace(temporary, self.folder / ABOUT)

    @classmethod
    def open(cls, folder: Path) -> Frozen:
        """Read a snapshot's folder.

        Raises:
            ValueError: there is none, or it is not whole.
        """
        try:
            about = json.loads((folder / ABOUT).read_text())
            frozen = cls(folder, dict(about["hardware"]), list(about["layers"]), about["desktop"])
        except FileNotFoundError as error:
            raise ValueError(f"{folder} is no snapshot of a virtual machine, or it was dropped") from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"the snapshot {folder} cannot be read: {error}") from error
        missing = [p.name for p in (frozen.memory, frozen.state, *frozen.read_only, *frozen.disks) if not p.exists()]
        if missing:
            raise ValueError(f"the snapshot {folder} has lost {', '.join(missing)}")
        size = frozen.memory.stat().st_size
        if size != frozen.hardware.get("memory_mb", 0) << 20:
            raise ValueError(f"the snapshot {folder} was cut short: its memory has {size} bytes")
        return frozen


def open_snapshot(snapshot: Snapshot, hardware: Hardware) -> Frozen:
    """A snapshot that this hardware can be restored to.

    Raises:
        ValueError: it is another kind's, was dropped, or was taken on other hardware.
    """
    if snapshot.machine != KIND:
        raise ValueError(
            f"the snapshot is a {snapshot.machine!r} machine's; a {KIND!r} machine cannot be restored to it"
        )
    frozen = Frozen.open(Path(snapshot.path))
    if different := hardware.differences(frozen.hardware):
        raise ValueError(f"the snapshot was taken on another virtual machine: {different}")
    return frozen


def link_disks(disks: Sequence[Path], folder: Path) -> list[Path]:
    """Give the layers of a disk names in another folder, so that neither folder needs the other."""
    linked = []
    for number, disk in enumerate(disks):
        linked.append(folder / layer_name(number))
        link(disk, linked[-1])
    return linked


def link_read_only(disks: Sequence[Path], folder: Path) -> list[Path]:
    """Give the disks that are only read the same names in another folder."""
    for disk in disks:
        link(disk, folder / disk.name)
    return [folder / disk.name for disk in disks]


def layer_name(number: int) -> str:
    """Name of a disk's layer, counted from 0."""
    return f"layer-{number}.qcow2"


def about(hardware: Hardware) -> dict[str, Any]:
    """A hardware as JSON has it."""
    return dict(json.loads(json.dumps(asdict(hardware))))


def drop(snapshot: Snapshot) -> None:
    """Delete a snapshot. Machines that run on it go on, since they have its files open."""
    from deskgym.envs.machines.qemu.folders import is_snapshot

    folder = Path(snapshot.path)
    if snapshot.machine == KIND and is_snapshot(folder):
        (folder / ABOUT).unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
