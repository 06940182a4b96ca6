"""The files of one start of a virtual machine: its disk's layers, its memory and its screen, in one folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.image import Image
from deskgym.envs.machines.qemu import snapshots as qemu_snapshots
from deskgym.envs.machines.qemu.command import Attached, Hardware, disk_node, top_node
from deskgym.envs.machines.qemu.disks import screen_bytes, screen_memory
from deskgym.envs.machines.qemu.folders import link, new_folder
from deskgym.envs.machines.qemu.host import find_qemu, new_layer
from deskgym.envs.machines.qemu.memory import copy_file, copy_memory
from deskgym.envs.machines.qemu.run import Run
from deskgym.envs.machines.qemu.snapshots import Frozen


class MachineFiles:
    """What one start of a virtual machine has on the host, in a new folder of its own.

    Args:
        image: what its disk lies over.
        hardware: what it has.

    Attributes:
        folder: where the files are.
        screen: descriptor of the framebuffer's device, or -1.
    """

    def __init__(self, image: Image, hardware: Hardware) -> None:
        self.folder = new_folder("machine")
        self.screen = -1
        self._image, self._hardware = image, hardware
        self._disks: list[Path] = []
        self._read_only: list[Path] = []
        self._memory: Path | None = None

    def fill(self, read_only: Sequence[Path]) -> None:
        """Make the files for a boot, with these disks that are only read."""
        self._read_only = qemu_snapshots.link_read_only(read_only, self.folder)
        self._disks = [new_layer(self._image, self.folder / qemu_snapshots.layer_name(0))]
        if self._hardware.screen is not None:
            self.screen = screen_memory(self._hardware.screen)

    def thaw(self, frozen: Frozen) -> None:
        """Make the files for a restore to a snapshot."""
        self._memory = self.folder / "memory"
        link(frozen.memory, self._memory)
        self._read_only = qemu_snapshots.link_read_only(frozen.read_only, self.folder)
        below = qemu_snapshots.link_disks(frozen.disks, self.folder)
        self._disks = [*below, new_layer(self._image, self.folder / qemu_snapshots.layer_name(len(below)))]
        if self._hardware.screen is not None:
            self.screen = screen_memory(self._hardware.screen, frozen.screen)

    def attached(self, guest: int, control: int, view: Path, state: int | None) -> Attached:
        """What QEMU gets: the files, and these descriptors and this socket."""
        return Attached(
            program=find_qemu(),
            kernel=self._image.kernel,
            initrd=self._image.initrd,
            disks=[self._image.disk, *self._disks],
            read_only=self._read_only,
            guest=guest,
            control=control,
            view=view,
            console=self.folder / "console",
            screen=self.screen if self.screen >= 0 else None,
            memory=self._memory,
            state=state,
        )

    def freeze(self, run: Run, folder: Path, desktop: dict[str, Any] | None) -> None:
        """Fill a folder with a snapshot of the running machine, which goes on afterwards.

        Args:
            run: the machine's.
            folder: an empty one.
            desktop: what the guest said of its desktop, or None.

        Raises:
            MachineError: kind ``"snapshot_failed"``.
        """
        frozen = Frozen(
            folder,
            qemu_snapshots.about(self._hardware),
            [qemu_snapshots.layer_name(number) for number in range(len(self._disks))],
            desktop,
        )
        try:
            with run.standing_still():
                run.save_devices(frozen.state)
                copy_memory(run.pid, self._hardware.memory_bytes, self._memory, frozen.memory)
                if self._hardware.screen is not None:
                    with frozen.screen.open("w+b") as target:
                        copy_file(self.screen, target.fileno(), screen_bytes(self._hardware.screen))
                qemu_snapshots.link_read_only(self._read_only, folder)
                qemu_snapshots.link_disks(self._disks, folder)
                self._cover_disk(run)
        except (OSError, ValueError) as error:
            raise MachineError(f"no snapshot could be taken: {error}", "snapshot_failed") from error
        frozen.save()

    def _cover_disk(self, run: Run) -> None:
        """Go on writing to a new layer: the one so far is the snapshot's now."""
        number = len(self._disks)
        layer = new_layer(self._image, self.folder / qemu_snapshots.layer_name(number))
        upper, lower = top_node(number + 2), top_node(number + 1)
        run.control.execute("blockdev-add", **disk_node(upper, layer, None))
        run.control.execute("blockdev-snapshot", node=lower, overlay=upper)
        self._disks.append(layer)

    def close(self) -> None:
        """Close the screen's descriptor. Idempotent."""
        screen, self.screen = self.screen, -1
        if screen >= 0:
            os.close(screen)

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
