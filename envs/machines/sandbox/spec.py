"""The OCI configuration of one sandbox: namespaces, mounts, limits, and what PID 1 is."""

from __future__ import annotations

import resource
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.guest_runtime import INSIDE, PYTHON_INSIDE, Interpreter
from deskgym.envs.machines.libraries import INSIDE as LIBRARIES_INSIDE
from deskgym.envs.machines.locales import INSIDE as LOCALE_INSIDE
from deskgym.envs.machines.sandbox.limits import RUN_MB, SHM_MB, Limits, pools, seccomp
from deskgym.envs.machines.sandbox.rootfs import AGENT, HOST_LAYERS, LAYERS, RootFs
from deskgym.envs.machines.userns import IdMap, IdRange

GUEST_FD = 3
CAPABILITIES = (
    "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SYS_PTRACE",
)  # fmt: skip
"""What the guest needs: it makes the agent's files, becomes the agent, and finds and kills what the agent started."""

_MASKED = (
    "/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug",
    "/proc/scsi", "/proc/timer_list", "/proc/timer_stats", "/sys/firmware", "/sys/fs/cgroup",
    "/sys/devices/virtual/powercap",
)  # fmt: skip
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
FEW = ("nr_inodes=16384",)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Parts:
    """All that one sandbox's configuration is made of.

    Attributes:
        name: unique on the host.
        config: what the machine may have.
        ids: which host ids its ids are.
        rootfs: its root file system.
        guest: the host's folder of the guest runtime.
        libraries: the host's folder of Python libraries for kernels; None where the config has one inside, or none.
        locale: the host's folder of the config's locale, or None.
        interpreter: what runs the guest.
        limits: which limits the host lets it have.
        below: folder of the layers of the snapshot that it is restored from, or None.
        hidden: paths of the host that must not be readable in it.
        layers: host folder that takes the writes instead of a tmpfs, or None.
        prepared: folders of prepared layers, the lowest first.
    """

    name: str
    config: MachineConfig
    ids: IdMap
    rootfs: RootFs
    guest: Path
    interpreter: Interpreter
    limits: Limits
    below: Path | None = None
    hidden: Sequence[str] = field(default=())
    layers: Path | None = None
    libraries: Path | None = None
    locale: Path | None = None
    prepared: Sequence[str] = field(default=())


def build_spec(parts: Parts) -> dict[str, Any]:
    """The content of ``config.json``."""
    linux: dict[str, Any] = {
        "uidMappings": _mapping(parts.ids.uids),
        "gidMappings": _mapping(parts.ids.gids),
        "namespaces": [{"type": kind} for kind in ("user", "pid", "mount", "network", "ipc", "uts")],
        "maskedPaths": [*_MASKED, *parts.interpreter.masked, *parts.hidden],
        "readonlyPaths": list(_READ_ONLY),
        "sysctl": {"net.ipv4.ip_unprivileged_port_start": "0"},
        "seccomp": seccomp(),
        **parts.limits.resources(parts.name, parts.config),
    }
    return {
        "ociVersion": "1.0.2",
        "process": _process(parts),
        "root": {"path": str(parts.rootfs.root), "readonly": True},
        "hostname": "desktop",
        "mounts": _mounts(parts),
        "linux": linux,
    }


def guest_arguments(parts: Parts, fd: int = GUEST_FD) -> list[str]:
    """The command line of the guest, whose control channel is this descriptor."""
    arguments = [
        parts.interpreter.path, "-I", "-S", f"{INSIDE}/boot.py",
        "--fd", str(fd), "--uid", str(AGENT), "--gid", str(AGENT),
    ]  # fmt: skip
    if parts.locale is not None:
        arguments += ["--locale", str(parts.config.locale), "--locale-path", LOCALE_INSIDE]
    if parts.config.clock is not None:
        arguments += ["--clock", parts.config.clock]
    if parts.config.libraries:
        inside = LIBRARIES_INSIDE if parts.libraries is not None else parts.config.libraries[0]
        arguments += ["--libraries", inside]
    if parts.limits.nproc:
        arguments += ["--processes", str(parts.config.processes)]
    return arguments


def _process(parts: Parts) -> dict[str, Any]:
    env = [f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8"]
    if parts.interpreter.libraries:
        env.append(f"LD_LIBRARY_PATH={parts.interpreter.libraries}")
    open_files = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])  # a user namespace cannot raise it
    return {
        "terminal": False,
        "user": {"uid": 0, "gid": 0, "umask": 0o022},
        "args": guest_arguments(parts),
        "env": env,
        "cwd": "/",
        "capabilities": {kind: list(CAPABILITIES) for kind in ("bounding", "effective", "permitted")},
        "rlimits": [
            {"type": "RLIMIT_NOFILE", "hard": open_files, "soft": min(4096, open_files)},
            {"type": "RLIMIT_CORE", "hard": 0, "soft": 0},
            *pools(),
        ],
        "noNewPrivileges": True,
    }


def _mounts(parts: Parts) -> list[dict[str, Any]]:
    mounts = [
        mount("/proc", "proc"),
        mount("/dev", "tmpfs", "nosuid", "strictatime", "mode=755", "size=1m", *FEW),
        mount("/dev/pts", "devpts", "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"),
        mount("/dev/shm", "tmpfs", "nosuid", "noexec", "nodev", "mode=1777", f"size={SHM_MB}m", *FEW),
        mount("/dev/mqueue", "mqueue", "nosuid", "noexec", "nodev"),
        mount("/sys", "sysfs", "nosuid", "noexec", "nodev", "ro"),
        mount("/run", "tmpfs", "nosuid", "nodev", "mode=755", f"size={RUN_MB}m", *FEW),
    ]
    if parts.layers is None:
        disk = parts.config.disk_mb
        limits = (f"size={disk}m", f"nr_inodes={max(65536, 256 * disk)}")  # empty files take the kernel's memory
        mounts.append(mount("/.layers", "tmpfs", "tmpcopyup", "nosuid", "nodev", *limits))
    else:
        mounts.append(bind(str(parts.layers), "/.layers", "rw", "nosuid", "nodev"))
    mounts += [_overlay(name, parts) for name in LAYERS]
    mounts += [bind(path, path, "ro", "nosuid", "nodev") for path in parts.rootfs.binds]
    mounts.append(bind(str(parts.guest), INSIDE, "ro", "nosuid", "nodev"))
    if parts.libraries is not None:
        mounts.append(bind(str(parts.libraries), LIBRARIES_INSIDE, "ro", "nosuid", "nodev"))
    if parts.locale is not None:
        mounts.append(bind(str(parts.locale), LOCALE_INSIDE, "ro", "nosuid", "nodev"))
    if parts.interpreter.prefix:
        mounts.append(bind(parts.interpreter.prefix, PYTHON_INSIDE, "ro", "nosuid", "nodev"))
    return mounts


def _overlay(name: str, parts: Parts) -> dict[str, Any]:
    """An overlay over the host's folder. Its paths are looked up before the root changes, so they are the host's."""
    over = [Path(layer, name, "upper") for layer in reversed(parts.prepared)]
    lower = [*(str(layer) for layer in over if layer.is_dir()), str(parts.rootfs.base / name)]
    if parts.below is not None:
        lower.insert(0, str(parts.below / name / "upper"))
    if name in HOST_LAYERS and Path("/", name).is_dir():
        lower.append(f"/{name}")
    own = parts.rootfs.root / ".layers" / name
    options = (f"lowerdir={':'.join(lower)}", f"upperdir={own / 'upper'}", f"workdir={own / 'work'}")
    return mount(f"/{name}", "overlay", "nosuid", "nodev", "userxattr", *options)


def mount(destination: str, kind: str, *options: str) -> dict[str, Any]:
    """An entry of ``mounts`` for a file system of its own."""
    return {"destination": destination, "type": kind, "source": kind, "options": list(options)}


def bind(source: str, destination: str, *options: str) -> dict[str, Any]:
    """An entry of ``mounts`` for a folder or a file of the host."""
    return {"destination": destination, "type": "bind", "source": source, "options": ["rbind", *options]}


def _mapping(ranges: Sequence[IdRange]) -> list[dict[str, int]]:
    return [{"containerID": r.inside, "hostID": r.outside, "size": r.count} for r in ranges]
