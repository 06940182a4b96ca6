"""Finds out how this host carries out a virtual machine's instructions best, by booting something.

A /dev/kvm that is there can be slower than emulation, fail on the first instruction or hang, so it is not believed:
the image's kernel is booted with each accelerator until it finds no disk and gives up, and the faster one is used.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import tempfile
import time
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.image import Image
from deskgym.envs.machines.qemu.command import accel_options
from deskgym.envs.machines.qemu.folders import base_folder
from deskgym.envs.machines.qemu.host import find_qemu, qemu_version

KVM = "/dev/kvm"
TIMEOUT = {"tcg": 120.0, "kvm": 20.0}
"""Seconds that a boot may take; KVM needs one where it works, and is not waited for once it is twice as slow as TCG."""
_logger = logging.getLogger("deskgym.qemu")
_SIGN = b"Kernel panic"  # the kernel's own last words where it has no disk


@dataclass(frozen=True)
class Probe:
    """How the accelerators did.

    Attributes:
        seconds: until the kernel gave up, by accelerator; None for one that did not get there.
        said: why not, by accelerator.
    """

    seconds: dict[str, float | None]
    said: dict[str, str]

    @property
    def best(self) -> str:
        """The fastest.

        Raises:
            MachineError: none works.
        """
        working = {name: seconds for name, seconds in self.seconds.items() if seconds is not None}
        if not working:
            reasons = "; ".join(f"{name}: {text}" for name, text in self.said.items())
            raise MachineError(f"no virtual machine boots on this host: {reasons}", kind="start_failed")
        return min(working, key=lambda name: working[name])


def probe(image: Image) -> Probe:
    """Boot an image's kernel with each accelerator; the outcome is kept until the host is restarted.

    Raises:
        MachineError: QEMU is not installed.
    """
    outcome = known(image)
    if outcome is not None:
        return outcome
    outcome = _probe(image)
    if any(seconds is not None for seconds in outcome.seconds.values()):
        path = _place(image)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(asdict(outcome)))
        temporary.replace(path)
    return outcome


def known(image: Image) -> Probe | None:
    """What ``probe`` has found with this image since the host was started, or None: boots nothing.

    Raises:
        MachineError: QEMU is not installed.
    """
    try:
        return Probe(**json.loads(_place(image).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _place(image: Image) -> Path:
    return base_folder() / f"accel-{_digest(image.hash)}.json"


@cache
def _digest(image: str) -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    kvm = os.access(KVM, os.R_OK | os.W_OK)
    return hashlib.sha256(f"{image} {qemu_version()} {boot} {kvm}".encode()).hexdigest()[:16]


def _probe(image: Image) -> Probe:
    _logger.info("looking whether KVM or emulation boots faster here; the answer is kept until the host restarts")
    seconds: dict[str, float | None] = {}
    said: dict[str, str] = {}
    for accel in ("tcg", "kvm"):
        if accel == "kvm" and not os.access(KVM, os.R_OK | os.W_OK):
            seconds[accel], said[accel] = None, f"{KVM} is not there, or not ours to open"
            continue
        taken = try_boot(image, accel, min(TIMEOUT[accel], 2 * (seconds.get("tcg") or TIMEOUT[accel])))
        seconds[accel] = taken if isinstance(taken, float) else None
        if isinstance(taken, str):
            said[accel] = taken
    return Probe(seconds, said)


def try_boot(image: Image, accel: str, timeout: float) -> float | str:
    """Boot an image's kernel without a disk until it gives up: the seconds that took, or what went wrong instead."""
    with tempfile.TemporaryDirectory(prefix="deskgym-probe-") as folder:
        console = Path(folder, "console")
        command = [
            find_qemu(), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-nic", "none",
            "-machine", "pc", "-m", "512M", *accel_options(accel), "-serial", f"file:{console}",
            "-kernel", str(image.kernel), "-append", "console=ttyS0 panic=-1 quiet",
        ]  # fmt: skip
        begun = time.monotonic()
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            words = console.read_text(errors="replace")[-200:].strip() if console.exists() else ""
            return f"its kernel did not boot within {timeout:g} s, and wrote {words or 'nothing'} to its console"
        taken = time.monotonic() - begun
        if console.exists() and _SIGN in console.read_bytes():
            return taken
        return done.stderr.strip()[-300:] or f"QEMU ended with status {done.returncode} before the kernel did"
