"""Which limits this host lets a sandbox have, and how its container asks for them.

Where control groups may be written (root outside a container, usually), memory and processes are limited by them.
Everywhere else RLIMIT_NPROC limits processes (per user namespace since Linux 5.14) and the supervisor watches memory.
The disk is always limited by the size of the tmpfs that takes all writes.
"""

from __future__ import annotations

import os
import platform
import resource
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


SHARE = 4  # of what the kernel gives this user of the host, one machine may take a quarter
_WATCHED = {"max_inotify_instances": 64, "max_inotify_watches": 65536, "max_fanotify_groups": 0}
"""Most of /proc/sys/user that a machine may have; fanotify is of no use to programs that have inotify."""

_POOLS = {"SIGPENDING": 4096, "MSGQUEUE": 1 << 18, "MEMLOCK": 8 << 20}
_RLIMIT_SIGPENDING = 11  # in the resource module from Python 3.14 on, if at all


def user_limits() -> dict[str, int]:
    """What a machine's user namespace may hold of what the kernel counts for this user, all machines together."""
    found = {}
    for name, most in _WATCHED.items():
        try:
            host = int(Path("/proc/sys/user", name).read_text())
        except FileNotFoundError:  # a kernel without it
            continue
        found[name] = min(most, host // SHARE)
    return found


def pools() -> list[dict[str, Any]]:
    """The OCI ``rlimits`` of what the kernel counts for this user too: signals, message queues, locked memory."""
    rlimits = []
    for name, most in _POOLS.items():
        hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name}", _RLIMIT_SIGPENDING))[1]
        value = most if hard == resource.RLIM_INFINITY else min(most, hard // SHARE)
        rlimits.append({"type": f"RLIMIT_{name}", "hard": value, "soft": value})
    return rlimits


DENIED_CALLS = (
    "acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module", "delete_module", "finit_module",
    "fsconfig", "fsmount", "fsopen", "fspick", "get_kernel_syms", "init_module", "io_uring_enter", "io_uring_register",
    "io_uring_setup", "ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie", "mount",
    "mount_setattr", "move_mount", "name_to_handle_at", "nfsservctl", "open_by_handle_at", "open_tree",
    "perf_event_open", "pivot_root", "query_module", "quotactl", "quotactl_fd", "reboot", "request_key", "setns",
    "settimeofday", "socketcall", "stime", "swapoff", "swapon", "syslog", "umount", "umount2", "unshare", "uselib",
    "userfaultfd", "vhangup", "vm86", "vm86old",
)  # fmt: skip
"""System calls that desktop programs do without, and that most ways out of containers begin with."""

_ARCHITECTURES = {
    "x86_64": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
    "aarch64": ["SCMP_ARCH_AARCH64", "SCMP_ARCH_ARM"],
}
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_LEASES = (1024, 1040)  # F_SETLEASE, F_SETDELEG
_ENOSYS, _ENOTSUP, _EAFNOSUPPORT = 38, 95, 97
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_ATTRIBUTES = ("setxattr", "lsetxattr", "fsetxattr", "setxattrat")


def seccomp() -> dict[str, Any]:
    """The OCI ``seccomp`` section: everything is allowed but ``DENIED_CALLS``, and what follows.

    New user namespaces. Leases: who holds one keeps everybody else waiting who opens the file: a service that shares a
    folder, say. Other sockets than ``_FAMILIES``: a virtual machine's host answers AF_VSOCK. Extended attributes: no
    limit bounds the kernel's memory for access control lists, and programs do without them (``cp -a``, ``tar``, apt).
    Calls that are newer than the host's libseccomp are the guest's to refuse: see ``deskgym.envs.guest.new_calls``.
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
            *(
                {
                    "names": ["socket", "socketpair"],
                    "action": "SCMP_ACT_ERRNO",
                    "errnoRet": _EAFNOSUPPORT,
                    "args": [other],
                }
                for other in _other_families()
            ),
            {"names": list(_ATTRIBUTES), "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOTSUP},
            # its flags are in memory, which a filter cannot read: programs fall back to clone
            {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
        ],
    }
    if architectures := _ARCHITECTURES.get(platform.machine()):
        section["architectures"] = architectures
    return section


def _other_families() -> list[dict[str, Any]]:
    """Conditions on the first argument; those of a call are alternatives, so that "none of these" cannot be said."""
    least = [number for number in range(max(_FAMILIES)) if number not in _FAMILIES]
    equal = [{"index": 0, "value": number, "op": "SCMP_CMP_EQ"} for number in least]
    return [*equal, {"index": 0, "value": max(_FAMILIES), "op": "SCMP_CMP_GT"}]


def _command(number: int) -> dict[str, Any]:
    """The second argument, of which the kernel reads 32 bits, is this number."""
    return {"index": 1, "value": 0xFFFFFFFF, "valueTwo": number, "op": "SCMP_CMP_MASKED_EQ"}
