"""Which limits this host lets a sandbox have, and how its container asks for them.

Where control groups may be written (root outside a container, usually), memory and processes are limited by them.
Everywhere else RLIMIT_NPROC limits processes (per user namespace since Linux 5.14) and the supervisor watches memory.
The disk is always limited by the size of the tmpfs that takes all writes.
"""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deskgym.envs.machines.base import MachineConfig

CGROUPS = Path("/sys/fs/cgroup")
SPARE_PROCESSES = 64  # for the guest: it must still be able to act when the agent has used up all of its own
SHM_MB = 256  # /dev/shm
RUN_MB = 128  # /run: framebuffer, sockets


@dataclass(frozen=True)
class Limits:
    """What limits a machine here.

    Attributes:
        cgroups: ``"v1"``, ``"v2"``, or None where this process may not make control groups.
        nproc: whether RLIMIT_NPROC counts per user namespace, so that it can be used.
    """

    cgroups: str | None
    nproc: bool

    def resources(self, name: str, config: MachineConfig) -> dict[str, Any]:
        """The part of an OCI ``linux`` section that sets them."""
        if self.cgroups is None:
            return {}
        memory: dict[str, Any] = {"limit": config.memory_mb << 20}
        if _swap_is_accounted(self.cgroups):
            memory["swap"] = config.memory_mb << 20  # memory and swap together: no swap
        path = f"deskgym-{name}" if self.cgroups == "v1" else f"/deskgym-{name}"
        return {
            "cgroupsPath": path,
            "resources": {"memory": memory, "pids": {"limit": config.processes + SPARE_PROCESSES}},
        }


@cache
def find_limits() -> Limits:
    """Probe the host, once per process."""
    return Limits(cgroups=_cgroups() if os.geteuid() == 0 else None, nproc=kernel() >= (5, 14))


def kernel() -> tuple[int, int]:
    """The kernel's version."""
    major, minor, *_ = platform.release().split(".")
    return int(major), int("".join(c for c in minor if c.isdigit()) or 0)


def _cgroups() -> str | None:
    if (CGROUPS / "cgroup.controllers").exists():
        return "v2" if _can_make_one(CGROUPS, "memory.max", "pids.max") or _can_delegate() else None
    own = own_cgroups()
    usable = (
        _can_make_one(CGROUPS / name / own.get(name, "/").lstrip("/"), f"{name}.{limit}")
        for name, limit in (("memory", "limit_in_bytes"), ("pids", "max"))
    )
    return "v1" if all(usable) else None


def _can_delegate() -> bool:
    """Let children of the root group have limits; fails in a container whose processes are in that group."""
    try:
        (CGROUPS / "cgroup.subtree_control").write_text("+memory +pids")
    except OSError:
        return False
    return _can_make_one(CGROUPS, "memory.max", "pids.max")


def own_cgroups() -> dict[str, str]:
    """This process's control group by controller; version 2's has the name ""."""
    lines = (line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines())
    return {name: path for _, names, path in lines for name in names.split(",")}


def _can_make_one(folder: Path, *limits: str) -> bool:
    """Whether a group can be made in ``folder``, and has these files."""
    probe = folder / f"deskgym-probe-{os.getpid()}"
    try:
        probe.mkdir()
        complete = all((probe / limit).exists() for limit in limits)
        probe.rmdir()
    except OSError:
        return False
    return complete


def _swap_is_accounted(version: str) -> bool:
    if version == "v1":
        return (CGROUPS / "memory" / "memory.memsw.limit_in_bytes").exists()
    return True


DENIED_CALLS = (
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module", "finit_module",
    "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms", "init_module", "io_uring_enter",
    "io_uring_register", "io_uring_setup", "ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl",
    "lookup_dcookie", "mount", "mount_setattr", "move_mount", "name_to_handle_at", "nfsservctl", "open_by_handle_at",
    "open_tree", "perf_event_open", "pivot_root", "query_module", "quotactl", "reboot", "request_key", "setns",
    "settimeofday", "stime", "swapoff", "swapon", "syslog", "umount", "umount2", "unshare", "userfaultfd", "uselib",
    "vhangup", "vm86", "vm86old",
)  # fmt: skip
"""System calls that desktop programs do without, and that most ways out of containers begin with."""

_ARCHITECTURES = {
    "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    "aarch64": ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
}
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_LEASES = (1024, 1040)  # F_SETLEASE, F_SETDELEG
_ENOSYS = 38


def seccomp() -> dict[str, Any]:
    """The OCI ``seccomp`` section: everything is allowed but ``DENIED_CALLS``, new user namespaces and leases.

    Who holds a lease on a file keeps everybody else waiting who opens it: a service that shares a folder, say.
    """
    clone_user = {"index": 0, "value": _NEW_USER, "valueTwo": _NEW_USER, "op": "SCMP_CMP_MASKED_EQ"}
    section: dict[str, Any] = {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [
            {"names": list(DENIED_CALLS), "action": "SCMP_ACT_ERRNO", "errnoRet": 1},
            {"names": ["clone"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "args": [clone_user]},
            *(
                {"names": ["fcntl", "fcntl64"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1, "args": [_command(lease)]}
                for lease in _LEASES
            ),
            # its flags are in memory, which a filter cannot read: programs fall back to clone
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
        ],
    }
    if architectures := _ARCHITECTURES.get(platform.machine()):
        section["architectures"] = architectures
    return section


def _command(number: int) -> dict[str, Any]:
    """The second argument, of which the kernel reads 32 bits, is this number."""
    return {"index": 1, "value": 0xFFFFFFFF, "valueTwo": number, "op": "SCMP_CMP_MASKED_EQ"}
