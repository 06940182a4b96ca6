"""A real virtual machine: QEMU, with snapshots that keep its memory and so its running programs."""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import socket
import warnings
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.envs.errors import GuestLost, MachineError
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.machines.image import Image, find_image
from deskgym.envs.machines.image.image import remedy
from deskgym.envs.machines.kernels import close_kernels, warm_kernels
from deskgym.envs.machines.live import registry as live
from deskgym.envs.machines.qemu import boots
from deskgym.envs.machines.qemu import snapshots as qemu_snapshots
from deskgym.envs.machines.qemu.command import Hardware, command
from deskgym.envs.machines.qemu.disks import guest_disk, libraries_disk
from deskgym.envs.machines.qemu.files import MachineFiles
from deskgym.envs.machines.qemu.folders import new_folder, remove_at_exit
from deskgym.envs.machines.qemu.host import pick_accel, qemu_version
from deskgym.envs.machines.qemu.run import Run
from deskgym.envs.machines.qemu.snapshots import Frozen
from deskgym.envs.machines.sandbox.host import runtime_folder
from deskgym.envs.machines.start_slots import start_slot
from deskgym.envs.options import checked

if TYPE_CHECKING:
    from deskgym.envs.displays.x11 import X11Display
    from deskgym.envs.guest.client import GuestClient

_logger = logging.getLogger("deskgym.qemu")
BOOT_TIMEOUT = 300.0  # seconds
RESTORE_TIMEOUT = 60.0
SLOWNESS = {"kvm": 1.0, "tcg": 30.0}
"""How many times longer programs take to answer each other: KAlgebra's setup and evaluation under emulation."""
MEMORY_MB = (256, 1 << 20)
LANDLOCK = (5, 19)
"""The oldest Linux that can keep programs apart as ``landlock`` does; Debian's kernels have it switched on."""


class QemuMachine(Machine):
    """A whole operating system of its own: kernel, root, services. Its snapshots keep running programs.

    The first start of an image boots it and keeps a snapshot of the desktop with the image; later ones, in any
    process, are restored to that in a fraction of a second. Its disk is a layer over the image's, which many machines
    share, and so is the memory of the snapshot that it was restored to: both are copied where they are written.

    Args:
        config: what it may have. All of its memory is the operating system's too. ``disk_mb`` is not enforced: the
            image's recipe says how large the disk is.
        image: name of an image that ``deskgym image build`` has built, or the path of its folder.
        accel: ``"kvm"``, ``"tcg"`` (emulation, which runs anywhere), or ``"auto"``: the faster one that boots here.
        cpus: virtual processors; None is two, or one on a host with one.
        network: whether it may reach the network, through QEMU's user network. Nothing can reach it.
        sudo: whether the agent's programs may become root, where the image's recipe lets its user. Root in the machine
            can deceive the guest, and so an evaluator that asks it.

    Raises:
        ValueError: an argument is not legal.
    """

    kind = "qemu"
    isolates = True
    enforces = frozenset({"memory", "processes"})
    can = Machine.can | {"programs", "kernels"}

    @checked
    def __init__(
        self,
        config: MachineConfig | None = None,
        *,
        image: str | Path = "science",
        accel: str = "auto",
        cpus: int | None = None,
        network: bool = False,
        sudo: bool = False,
    ) -> None:
        super().__init__(config)
        if accel not in ("auto", "kvm", "tcg"):
            raise ValueError(f"accel={accel!r}; legal are 'auto', 'kvm' and 'tcg'")
        if cpus is not None and not 1 <= cpus <= 64:
            raise ValueError(f"cpus={cpus!r}; legal is None or a number from 1 to 64")
        if not MEMORY_MB[0] <= self.config.memory_mb <= MEMORY_MB[1]:
            raise ValueError(f"memory_mb={self.config.memory_mb!r}; legal are {MEMORY_MB[0]} to {MEMORY_MB[1]}")
        self._image_name, self._accel = str(image), accel
        self._network, self._sudo = bool(network), bool(sudo)
        self._cpus = cpus or min(2, os.cpu_count() or 1)
        self._known: tuple[Image, Hardware] | None = None
        self._owner = 0
        self._run: Run | None = None
        self._files: MachineFiles | None = None
        self._booted = False  # it is what a boot gives, or was restored to that
        self._desktop: dict[str, Any] | None = None
        self._guest: GuestClient | None = None
        self._display: X11Display | None = None

    # --- Machine

    def start(self) -> None:
        """Boot it, or restore it to where an earlier boot of the same hardware ended; see ``Machine.start``.

        Raises:
            MachineError: kind ``"not_installed"``, ``"no_image"``, ``"bad_image"``, ``"not_allowed"`` or
                ``"start_failed"``, with what to do about it.
        """
        if not self.alive:
            self.restore(None)

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Return to the snapshot, its programs running, or to the desktop after the boot; see ``Machine.restore``."""
        if snapshot is None and self.untouched and close_kernels(self.guest):
            return
        image, hardware = self._resolve()
        frozen = None if snapshot is None else qemu_snapshots.open_snapshot(snapshot, hardware)
        self.stop()
        self._owner = os.getpid()
        try:
            if frozen is None:
                self._start_afresh(image, hardware)
                self._booted = True
            else:
                self._thaw(image, hardware, frozen)
        except OSError as error:
            self.stop()
            raise MachineError(f"the virtual machine did not start: {error}", kind="start_failed") from error
        except BaseException:
            self.stop()
            raise

    def snapshot(self) -> Snapshot:
        """Freeze memory, devices and disk; see ``Machine.snapshot``. It stands still meanwhile, about a second.

        It lasts until it is dropped or this process ends, and takes what is in use of the memory, on disk.
        """
        if not self.alive:
            raise self._broken()
        folder = new_folder("snapshot")
        try:
            self._freeze(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        remove_at_exit(folder)
        return Snapshot(self.kind, str(folder))

    def drop(self, snapshot: Snapshot) -> None:
        """Delete a snapshot; see ``Machine.drop``. Machines that run on it go on."""
        qemu_snapshots.drop(snapshot)

    def stop(self) -> None:
        """End it; see ``Machine.stop``."""
        live.withdraw(self)
        display, self._display = self._display, None
        guest, self._guest = self._guest, None
        run, self._run = self._run, None
        files, self._files = self._files, None
        self._desktop, self._booted = None, False
        if files is not None:
            files.close()
        if os.getpid() != self._owner:
            return
        for part in (display, guest):
            if part is not None:
                part.close()
        if run is not None:
            run.stop()
        if files is not None:
            files.remove()

    @property
    def alive(self) -> bool:
        """Whether it is started, QEMU runs and the guest has not been lost."""
        if self._run is None or self._guest is None or os.getpid() != self._owner:
            return False
        return self._guest.lost is None and self._run.alive

    @property
    def untouched(self) -> bool:
        """See ``Machine.untouched``. Never where the agent may be root, or has a desktop: it could leave anything."""
        if not self.alive or self._guest is None:
            return False
        return self._booted and not (self._guest.touched or self._sudo or self.config.screen_size)

    def start_slot(self) -> AbstractContextManager[object]:
        """See ``Machine.start_slot``: two machines per core are made ready at once."""
        return start_slot()

    @property
    def guest(self) -> GuestClient:
        """The connection to the guest."""
        if self._guest is None or not self.alive:
            raise self._broken()
        return self._guest

    @property
    def display(self) -> X11Display:
        """The display."""
        if self._display is None or not self.alive:
            if self.alive and self.config.screen_size is None:
                raise MachineError("this virtual machine has no screen: its config's screen_size is None", "no_display")
            raise self._broken()
        return self._display

    # --- beyond Machine

    @property
    def hardware(self) -> Hardware:
        """What it has, once image and accelerator have been found.

        Raises:
            MachineError: there is no such image, or no QEMU.
        """
        return self._resolve()[1]

    @property
    def pid(self) -> int:
        """QEMU's process id. MachineError before ``start``."""
        if self._run is None:
            raise self._broken()
        return self._run.pid

    def log(self) -> str:
        """What QEMU and the kernel's console said since the start, the last 64 KiB of each."""
        return "" if self._run is None else self._run.log()

    # --- internals

    def _resolve(self) -> tuple[Image, Hardware]:
        if self._known is None:
            image = find_image(self._image_name)
            accel = pick_accel(image, self._accel)
            hardware = Hardware(
                image=image.hash,
                guest=guest_disk(image.python, self.config.plugins).name,
                libraries=libraries.name if (libraries := self._libraries(image)) else None,
                qemu=qemu_version(),
                accel=accel,
                cpus=self._cpus,
                memory_mb=self.config.memory_mb,
                processes=self.config.processes,
                screen=self.config.screen_size,
                glx=self.config.glx,
                network=self._network,
                sudo=self._sudo,
            )
            self._known = image, hardware
            self.slowness = SLOWNESS[accel]
            linux = re.match(r"(\d+)\.(\d+)", str(image.manifest.get("kernel_version")))
            if linux is not None and (int(linux[1]), int(linux[2])) >= LANDLOCK and not self._sudo:
                self.enforces = self.enforces | {"program_isolation"}
        self._known[0].verify()
        return self._known

    def _libraries(self, image: Image) -> Path | None:
        names = self.config.libraries
        return libraries_disk(tuple(names), image.python) if names else None

    def _start_afresh(self, image: Image, hardware: Hardware) -> None:
        """From the snapshot of the boot; where there is none, or it is of no use, from the kernel."""
        boot = boots.find(image, hardware)
        if boot is not None:
            try:
                self._thaw(image, hardware, boot)
                return
            except (MachineError, OSError) as error:
                warnings.warn(f"the kept boot is of no use, so it is booted again: {error}", stacklevel=4)
                self.stop()
                boots.forget(image, hardware)
        with boots.booting(image, hardware) as place:
            boot = boots.find(image, hardware)
            if boot is not None:  # another process was faster
                self._thaw(image, hardware, boot)
                return
            self._boot(image, hardware)
            boots.keep(place, self._freeze)

    def _boot(self, image: Image, hardware: Hardware) -> None:
        """From the kernel to a running desktop."""
        _logger.info(
            "booting image %s with %s, which may take minutes; it is kept, so that later starts take about a second",
            image.full_name,
            hardware.accel,
        )
        from deskgym.envs.guest.client import GuestClient

        files = self._files = MachineFiles(image, hardware)
        disks = [guest_disk(image.python, self.config.plugins), self._libraries(image)]
        files.fill([disk for disk in disks if disk])
        run, self._guest = self._launch(hardware, files, None)
        try:
            self._guest.hello(BOOT_TIMEOUT)
            if hardware.screen is not None:
                width, height = hardware.screen
                self._desktop = self._guest.call("desktop", BOOT_TIMEOUT, width=width, height=height, glx=hardware.glx)
            if hardware.libraries is not None and not warm_kernels(self._guest, self.config.plugins):
                raise MachineError(
                    f"image {image.full_name} does not mount the libraries of kernels: it was built by an older "
                    f"deskgym; {remedy(image.name)}",
                    kind="bad_image",
                )
        except GuestLost as error:
            said = run.log()[-2000:] or "nothing"
            raise MachineError(f"the virtual machine did not boot: {error}; it said: {said}", "start_failed") from error
        self._open_display()
        assert isinstance(self._guest, GuestClient)

    def _thaw(self, image: Image, hardware: Hardware, frozen: Frozen) -> None:
        """From a snapshot, its programs running."""
        files = self._files = MachineFiles(image, hardware)
        files.thaw(frozen)
        self._desktop = frozen.desktop
        run, self._guest = self._launch(hardware, files, frozen)
        try:
            run.resume(RESTORE_TIMEOUT)
            self._guest.wake(RESTORE_TIMEOUT)
        except MachineError as error:
            said = run.log()[-2000:] or "nothing"
            raise MachineError(
                f"the virtual machine was not restored: {error}; it said: {said}", "start_failed"
            ) from error
        self._open_display()

    def _launch(self, hardware: Hardware, files: MachineFiles, frozen: Frozen | None) -> tuple[Run, GuestClient]:
        from deskgym.envs.guest.client import GuestClient

        view = runtime_folder() / f"view-{secrets.token_hex(6)}.sock"
        guest_ours, guest_theirs = socket.socketpair()
        control_ours, control_theirs = socket.socketpair()
        client = GuestClient(guest_ours, self.slowness)
        state = None if frozen is None else os.open(frozen.state, os.O_RDONLY | os.O_CLOEXEC)
        try:
            attached = files.attached(guest_theirs.fileno(), control_theirs.fileno(), view, state)
            passed = [guest_theirs.fileno(), control_theirs.fileno(), files.screen, -1 if state is None else state]
            run = self._run = Run(command(hardware, attached), files.folder, view, [fd for fd in passed if fd >= 0])
            guest_theirs.close()
            control_theirs.close()
            run.connect(control_ours, client.lose)
        except BaseException:
            client.close()
            control_ours.close()
            raise
        finally:
            guest_theirs.close()
            control_theirs.close()
            if state is not None:
                os.close(state)
        live.publish(self, unix=str(view))
        return run, client

    def _freeze(self, folder: Path) -> None:
        """Fill a folder with a snapshot of the running machine, which goes on afterwards."""
        assert self._run is not None and self._files is not None
        self._files.freeze(self._run, folder, self._desktop)

    def _open_display(self) -> None:
        if self.config.screen_size is None or self._guest is None:
            return
        from deskgym.envs.displays.x11 import X11Display

        assert self._desktop is not None and self._files is not None
        offset = self._desktop["extent"][0]
        screen = os.dup(self._files.screen)
        self._display = X11Display(self._guest, screen, self.config.screen_size, offset)

    def __del__(self) -> None:
        if getattr(self, "_run", None) is not None and os.getpid() == self._owner:
            warnings.warn("a virtual machine was never stopped", ResourceWarning, stacklevel=2)
            with suppress(Exception):  # the interpreter may be half gone; then its keeper ends it anyway
                self.stop()

    def _broken(self) -> MachineError:
        if self._run is None:
            return MachineError("the virtual machine is not started: call start() first", kind="not_started")
        if os.getpid() != self._owner:
            return MachineError("the virtual machine belongs to the process that started it", kind="foreign_process")
        lost = self._guest.lost if self._guest is not None else None
        said = self.log()[-500:]
        return GuestLost(
            f"the virtual machine has died ({lost or 'QEMU ended'})" + (f"; it said: {said}" if said else "")
        )
