"""Checks what a host has for sandboxes and virtual machines, and how to get what is missing, as data for the CLI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from deskgym.envs.errors import DeskgymError, MachineError
from deskgym.envs.guest import landlock
from deskgym.envs.machines import userns
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.guest_runtime import OPTIONAL, REQUIRED
from deskgym.envs.machines.sandbox.gvisor import GvisorMachine
from deskgym.envs.machines.sandbox.host import GVISOR, RUNTIMES, cache_folder, find_tool
from deskgym.envs.machines.sandbox.limits import find_limits, kernel
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.machines.sandbox.snapshots import tmpfs_has_user_attributes

Status = Literal["ok", "warn", "fail"]

_PROGRAMS = {
    "Xvfb": "xvfb",
    "openbox": "openbox",
    "dbus-daemon": "dbus",
    "tar": "tar",
    "nsenter": "util-linux",
}
_LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
_PROCESS = 'or use machine="process" (no isolation) inside a container or VM of your own'
DISK_MB, MEMORY_MB = 1024, 2048  # what one sandbox may want


@dataclass(frozen=True)
class CheckUp:
    """The outcome of one check.

    Attributes:
        name: what was looked at.
        status: ``"ok"``; ``"warn"``: a sandbox works but lacks something; ``"fail"``: none can start.
        found: what was found.
        fix: the command or setting that mends it, or "".
    """

    name: str
    status: Status
    found: str
    fix: str = ""


def examine(*, start: bool = True) -> list[CheckUp]:
    """Run all checks.

    Args:
        start: start a sandbox with a desktop as the last check; left out where an earlier check failed.
    """
    return list(iterate(start=start))


def iterate(*, start: bool = True) -> Iterator[CheckUp]:
    """Run the checks one by one, for those who show progress."""
    failed = False
    for check in _CHECKS:
        for outcome in check():
            failed |= outcome.status == "fail"
            yield outcome
    if start and not failed:
        yield _start()
        yield _branch()


def _programs() -> Iterator[CheckUp]:
    found = {name: path for name in RUNTIMES if (path := find_tool(name))}
    if found:
        version = _output([next(iter(found.values())), "--version"]).splitlines()
        yield CheckUp("OCI runtime", "ok", version[0] if version else next(iter(found)))
    else:
        yield CheckUp("OCI runtime", "fail", "no runc", "sudo apt-get install runc")
    for name, package in _PROGRAMS.items():
        path = find_tool(name)
        status: Status = "ok" if path else "fail"
        yield CheckUp(name, status, path or "missing", "" if path else f"sudo apt-get install {package}")
    launcher = next((path for path in _LAUNCHERS if os.path.exists(path)), None)
    yield CheckUp(
        "accessibility", "ok" if launcher else "fail", launcher or "missing",
        "" if launcher else "sudo apt-get install at-spi2-core",
    )  # fmt: skip


def _packages() -> Iterator[CheckUp]:
    missing = []
    for name in (*REQUIRED, *OPTIONAL):
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
    fatal = any(name in REQUIRED for name in missing)
    yield CheckUp(
        "Python packages",
        "fail" if fatal else "warn" if missing else "ok",
        f"missing: {', '.join(missing)}" if missing else f"all in {sys.prefix}",
        f"{sys.executable} -m pip install {' '.join(missing)}" if missing else "",
    )


def _rights() -> Iterator[CheckUp]:
    """What a container may have taken away: runc needs both of root; a user's set-uid newuidmap the first."""
    line = next((line for line in _read("/proc/self/status").splitlines() if line.startswith("CapBnd:")), "")
    bounds = int(line.split()[1], 16) if line else -1
    needed = {"SYS_ADMIN": 21} | ({"SYS_PTRACE": 19} if os.geteuid() == 0 else {})
    missing = [name for name, bit in needed.items() if not bounds >> bit & 1]
    if missing:
        options = " ".join(f"--cap-add {name}" for name in missing)
        fix = f"start this container with more rights (docker run {options}), {_PROCESS}"
        yield CheckUp("rights", "fail" if os.geteuid() == 0 else "warn", f"without CAP_{', CAP_'.join(missing)}", fix)


def _namespaces() -> Iterator[CheckUp]:
    for path, allowed, fix in (
        ("/proc/sys/kernel/unprivileged_userns_clone", "1", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        (
            "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0",
            "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ):  # fmt: skip
        value = _read(path)
        if value and value != allowed and os.geteuid() != 0:
            yield CheckUp(Path(path).name, "fail", f"{value}: users may not make user namespaces", fix)
    if _read("/proc/sys/user/max_user_namespaces") == "0":
        yield CheckUp(
            "user namespaces", "fail", "max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=10000"
        )
    if os.geteuid() != 0:
        missing = [tool for tool in ("newuidmap", "newgidmap") if find_tool(tool) is None]
        fix = "sudo apt-get install uidmap" if missing else ""
        yield CheckUp("newuidmap", "fail" if missing else "ok", "missing" if missing else "found", fix)
    try:
        ids = userns.id_map()
    except userns.NoIdsError as error:
        fix = str(error).partition("`")[2].rstrip("`")
        yield CheckUp("ids for machines", "fail", str(error).partition(":")[0], fix or _PROCESS)
        return
    last = ids.uids[-1]
    yield CheckUp("ids for machines", "ok", f"host uids {last.outside} to {last.outside + last.count - 1}")
    probe = Path(__file__).parent.parent.joinpath("sandbox", "probe.py")
    for name, argument, fix in (
        ("user namespace", "nothing", f"this container or kernel forbids user namespaces: allow them, {_PROCESS}"),
        ("overlay in a user namespace", "overlay", "Linux 5.11 or newer"),
        (
            "proc in a user namespace",
            "proc",
            f"this container hides parts of /proc: run it with an unmasked one, {_PROCESS}",
        ),
    ):
        try:
            userns.call_mapped(ids, str(probe), [argument], timeout=20)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            yield CheckUp(name, "fail", str(error), fix)
            return
        yield CheckUp(name, "ok", "works")


def _limits() -> Iterator[CheckUp]:
    limits = find_limits()
    if limits.cgroups:
        yield CheckUp("control groups", "ok", f"{limits.cgroups}: memory and processes are limited by the kernel")
    else:
        processes = "RLIMIT_NPROC limits processes" if limits.nproc else "processes are not limited"
        yield CheckUp(
            "control groups", "ok" if limits.nproc else "warn",
            f"not ours to make: the supervisor watches memory, {processes}",
            "" if limits.nproc else "Linux 5.14 or newer",
        )  # fmt: skip
    if not tmpfs_has_user_attributes():
        version = ".".join(map(str, kernel()))
        yield CheckUp(
            "disk limit", "warn", f"Linux {version}: writes go to the host's disk, unlimited", "Linux 6.6 or newer"
        )
    if landlock.available():
        yield CheckUp("program isolation", "ok", "the agent's code cannot trace the programs that are judged")
    else:
        yield CheckUp(
            "program isolation", "warn", "no Landlock: the agent's code can trace the programs that are judged",
            'Linux 5.19 or newer, with "landlock" among those of its boot option lsm=',
        )  # fmt: skip


def _room() -> Iterator[CheckUp]:
    try:
        folder = cache_folder()
    except (DeskgymError, OSError) as error:
        yield CheckUp("cache folder", "fail", str(error), "set XDG_CACHE_HOME to a folder that you can write to")
        return
    free = shutil.disk_usage(folder).free >> 20
    yield CheckUp(
        "disk",
        "ok" if free >= DISK_MB else "warn",
        f"{free} MiB free in {folder}",
        "" if free >= DISK_MB else "free some",
    )
    available = next(
        (int(line.split()[1]) >> 10 for line in _read("/proc/meminfo").splitlines() if line.startswith("MemAvailable")),
        0,
    )
    yield CheckUp(
        "memory", "ok" if available >= MEMORY_MB else "warn", f"{available} MiB available",
        "" if available >= MEMORY_MB else "free some, or lower memory_mb",
    )  # fmt: skip


def _virtual_machines() -> Iterator[CheckUp]:
    from deskgym.envs.machines.doctor.vm import check

    yield from check()


def _start() -> CheckUp:
    begun = time.perf_counter()
    try:
        with SandboxMachine(MachineConfig(screen_size=(1280, 800))) as machine:
            ready = time.perf_counter() - begun
            name = machine.run(["id", "-un"]).stdout.decode().strip()
            shape = machine.display.capture().shape
    except MachineError as error:
        return CheckUp("sandbox", "fail", str(error), _PROCESS)
    except Exception as error:  # a check-up must not end in a traceback
        return CheckUp("sandbox", "fail", f"{type(error).__name__}: {error}", "please report this")
    return CheckUp("sandbox", "ok", f"a desktop as {name!r} in {ready * 1000:.0f} ms, frames {shape}")


def _branch() -> CheckUp:
    """How states of desktops come back here, and for whom it pays."""
    name = "states of desktops"
    if find_tool(GVISOR) is None:
        return CheckUp(
            name, "ok", "by replay: without runsc, sandboxes keep no running programs",
            "for snapshots: sudo apt-get install runsc gcc libc6-dev, or machine='qemu'",
        )  # fmt: skip
    try:
        with GvisorMachine(MachineConfig(screen_size=(1280, 800))) as machine:
            snapshot = machine.snapshot()
            begun = time.perf_counter()
            machine.restore(snapshot)
            took = time.perf_counter() - begun
            machine.drop(snapshot)
    except MachineError as error:
        return CheckUp(name, "warn", f"by replay: runsc does not work here: {error}", "leave out runtime='runsc'")
    return CheckUp(
        name, "ok", f"with runsc by snapshot: an empty desktop is restored in {took * 1000:.0f} ms",
        "machine_options={'runtime': 'runsc'} pays where episodes branch, or begin anew after few steps",
    )  # fmt: skip


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _output(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=10).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


_CHECKS: tuple[Callable[[], Iterator[CheckUp]], ...] = (
    _programs,
    _packages,
    _rights,
    _namespaces,
    _limits,
    _room,
    _virtual_machines,
)
