"""A virtual machine's hardware, and QEMU's command line for it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from deskgym.envs.machines.qemu.disks import screen_bytes

FORMAT = 2
"""Counts the changes of the hardware below: a snapshot is good for the hardware that it was taken on."""

_TOP = "disk{}"


@dataclass(frozen=True)
class Hardware:
    """What a virtual machine has. Machines with equal hardware can be restored to each other's snapshots.

    Attributes:
        image: hash of the image that it was booted from.
        guest: name of the guest's disk, which has its hash in it.
        libraries: name of the disk with kernels' libraries, which has its hash in it, or None.
        qemu: QEMU's version: what devices save differs between versions.
        accel: ``"kvm"`` or ``"tcg"``.
        cpus: virtual processors.
        memory_mb: in MiB.
        processes: how many processes the agent's user may have.
        screen: width and height of its desktop in pixels, or None.
        glx: the X server offers GLX.
        network: it has a network card, behind QEMU's user network.
        sudo: the agent's programs may become root.
    """

    image: str
    guest: str
    libraries: str | None
    qemu: str
    accel: str
    cpus: int
    memory_mb: int
    processes: int
    screen: tuple[int, int] | None
    glx: bool
    network: bool
    sudo: bool

    @property
    def memory_bytes(self) -> int:
        """Size of its memory."""
        return self.memory_mb << 20

    @property
    def key(self) -> str:
        """A digest that names it."""
        text = json.dumps([FORMAT, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def differences(self, other: dict[str, object]) -> str:
        """In what another hardware, as a dict, differs, for messages."""
        own = json.loads(json.dumps(asdict(self)))
        return ", ".join(f"{k}={other.get(k)!r} instead of {v!r}" for k, v in own.items() if other.get(k) != v)


@dataclass(frozen=True)
class Attached:
    """The files and connections that one run of QEMU gets.

    Attributes:
        program: path of QEMU.
        kernel: the image's kernel.
        initrd: its initial RAM disk.
        disks: the image's disk and the layers over it, the one that is written to last.
        read_only: the guest's disk, and the libraries' where it has them.
        guest: descriptor of the guest's channel.
        control: descriptor of the monitor's.
        view: path of the socket that a viewer connects to.
        console: file for what the kernel says.
        screen: descriptor of the framebuffer's device, or None.
        memory: the file with a snapshot's memory, or None for a boot.
        state: descriptor of a snapshot's device state, or None for a boot.
    """

    program: str
    kernel: Path
    initrd: Path
    disks: Sequence[Path]
    read_only: Sequence[Path]
    guest: int
    control: int
    view: Path
    console: Path
    screen: int | None = None
    memory: Path | None = None
    state: int | None = None


def top_node(disks: int) -> str:
    """The block node of the uppermost of so many disks."""
    return _TOP.format(disks - 1)


def command(hardware: Hardware, attached: Attached) -> list[str]:
    """QEMU's command line. A restored machine waits for ``cont``."""
    return [
        attached.program, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        "-machine", "pc,usb=off,vmport=off,hpet=off,suppress-vmdesc=on,memory-backend=ram",
        *accel_options(hardware.accel), "-smp", str(hardware.cpus), "-rtc", "base=utc",
        *_memory(hardware, attached), *_kernel(hardware, attached), *_disks(attached),
        "-chardev", f"socket,id=control,fd={attached.control}", "-mon", "chardev=control,mode=control",
        "-device", "virtio-serial-pci",
        "-chardev", f"socket,id=guest,fd={attached.guest}",
        "-device", "virtserialport,chardev=guest,name=deskgym.guest,id=guest-port",
        "-chardev", f"socket,id=view,path={_escape(attached.view)},server=on,wait=off",
        "-device", "virtserialport,chardev=view,name=deskgym.view,id=view-port",
        "-chardev", f"file,id=console,path={_escape(attached.console)}", "-serial", "chardev:console",
        "-device", "virtio-rng-pci", "-device", "pvpanic",
        *(["-nic", "user,model=virtio-net-pci"] if hardware.network else ["-nic", "none"]),
        *_restored(attached),
    ]  # fmt: skip


def accel_options(accel: str) -> list[str]:
    """How instructions are carried out."""
    if accel == "kvm":  # some hosts' KVM fails on the MSR of arch-capabilities
        return ["-accel", "kvm", "-cpu", "host,-arch-capabilities,migratable=on"]
    # newer vector instructions are there too, but slower than doing without: each is emulated by a call
    return ["-accel", "tcg,thread=multi", "-cpu", "Nehalem"]


def _memory(hardware: Hardware, attached: Attached) -> list[str]:
    backend = f"memory-backend-ram,id=ram,size={hardware.memory_bytes},share=off"
    if attached.memory is not None:  # mapped privately: read when it is needed, copied when it is written
        path = _escape(attached.memory)
        backend = f"memory-backend-file,id=ram,size={hardware.memory_bytes},mem-path={path},share=off"
    room = f"{hardware.memory_mb}M,slots=2,maxmem={2 * hardware.memory_mb + 1024}M"
    options = ["-m", room, "-object", backend]
    if hardware.screen is not None and attached.screen is not None:
        size = screen_bytes(hardware.screen)
        path = f"/proc/self/fd/{attached.screen}"
        options += ["-object", f"memory-backend-file,id=screen,size={size},mem-path={path},share=on"]
        options += ["-device", "virtio-pmem-pci,memdev=screen,id=screen-device"]
    return options


def _kernel(hardware: Hardware, attached: Attached) -> list[str]:
    line = [
        "root=/dev/vda", "rw", "console=ttyS0", "quiet", "panic=-1", "fsck.mode=skip", "net.ifnames=0",
        "mitigations=off", "random.trust_cpu=on", "audit=0", "systemd.show_status=0",
        f"deskgym.processes={hardware.processes}",
    ]  # fmt: skip
    if (
        hardware.accel == "tcg"
    ):  # without "reliable" the time stamp counter is given up for a clock that is slow to read
        line += ["tsc=reliable", "deskgym.emulated"]
    line += ["deskgym.screen"] * (hardware.screen is not None) + ["deskgym.network"] * hardware.network
    line += ["deskgym.sudo"] * hardware.sudo + ["deskgym.libraries"] * (hardware.libraries is not None)
    return ["-kernel", str(attached.kernel), "-initrd", str(attached.initrd), "-append", " ".join(line)]


def _disks(attached: Attached) -> list[str]:
    options = []
    nodes: list[str | None] = [None, *(_TOP.format(k) for k in range(len(attached.disks)))]
    for below, node, path in zip(nodes, nodes[1:], attached.disks, strict=False):
        read_only = path != attached.disks[-1]
        options += ["-blockdev", json.dumps(disk_node(str(node), path, below, read_only))]
    options += ["-device", f"virtio-blk-pci,drive={top_node(len(attached.disks))},id=root-device"]
    for name, path in zip(("guest", "libraries"), attached.read_only, strict=False):  # /dev/vdb and /dev/vdc
        raw = {"driver": "raw", "node-name": f"{name}-disk", "read-only": True, "file": _file(path, True)}
        options += ["-blockdev", json.dumps(raw), "-device", f"virtio-blk-pci,drive={name}-disk,id={name}-device"]
    return options


def disk_node(node: str, path: Path, below: str | None, read_only: bool = False) -> dict[str, object]:
    """A block node for a qcow2 file, over another one."""
    return {
        "driver": "qcow2", "node-name": node, "read-only": read_only, "discard": "unmap", "detect-zeroes": "unmap",
        "file": _file(path, read_only), "backing": below,
    }  # fmt: skip


def _file(path: Path, read_only: bool) -> dict[str, object]:
    # nothing of a machine outlives its host's crash, so nothing needs to reach the disk
    return {
        "driver": "file", "filename": str(path), "read-only": read_only, "locking": "off" if read_only else "auto",
        "cache": {"direct": False, "no-flush": True}, "discard": "unmap",
    }  # fmt: skip


def _restored(attached: Attached) -> list[str]:
    if attached.state is None:
        return []
    return ["-S", "-incoming", f"fd:{attached.state}", "-global", "migration.send-configuration=off"]


def _escape(path: Path) -> str:
    return str(path).replace(",", ",,")
