"""What virtual machines need of the host: QEMU, and something that carries out its instructions."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.image import Image
from deskgym.envs.machines.qemu.folders import base_folder
from deskgym.envs.machines.sandbox.host import find_tool

_PACKAGES = "install with `sudo apt-get install qemu-system-x86 qemu-utils`"


@cache
def find_qemu() -> str:
    """The path of QEMU.

    Raises:
        MachineError: it is not installed.
    """
    path = find_tool("qemu-system-x86_64")
    if path is None:
        raise MachineError(f"virtual machines need qemu-system-x86_64: {_PACKAGES}", kind="not_installed")
    return path


@cache
def qemu_version() -> str:
    """QEMU's version, such as ``"7.2.22"``.

    Raises:
        MachineError: it is not installed, or does not run.
    """
    done = subprocess.run([find_qemu(), "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    words = done.stdout.split()
    if done.returncode or len(words) < 4:
        raise MachineError(f"{find_qemu()} does not run: {done.stderr.strip()[-300:]}", kind="not_installed")
    return words[3]


def pick_accel(image: Image, wanted: str) -> str:
    """``"kvm"`` or ``"tcg"``: what is wanted, or for ``"auto"`` whichever boots this image's kernel faster here.

    Raises:
        MachineError: it boots nothing here; see ``probe``.
    """
    from deskgym.envs.machines.qemu.probe import probe

    if wanted == "tcg":
        return wanted
    outcome = probe(image)
    if wanted == "kvm" and outcome.seconds["kvm"] is None:
        raise MachineError(f"KVM boots nothing here ({outcome.said['kvm']}): use accel='tcg'", kind="not_allowed")
    return outcome.best if wanted == "auto" else wanted


def new_layer(image: Image, path: Path) -> Path:
    """An empty qcow2 layer for an image's disk."""
    return Path(shutil.copyfile(_empty_layer(int(image.manifest["disk_bytes"])), path))


@cache
def _empty_layer(size: int) -> Path:
    def build(work: Path) -> Path:
        tool = find_tool("qemu-img")
        if tool is None:
            raise MachineError(f"virtual machines need qemu-img: {_PACKAGES}", kind="not_installed")
        made = work / "layer"
        subprocess.run([tool, "create", "-q", "-f", "qcow2", made, str(size)], check=True, stdin=subprocess.DEVNULL)
        return made

    return build_once(base_folder() / f"layer-{size >> 20}.qcow2", build)
