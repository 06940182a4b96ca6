"""What a host has for virtual machines. Whatever is missing here, sandboxes run: no check fails."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import metadata

from deskgym.envs.errors import DeskgymError, MachineError
from deskgym.envs.machines.doctor.doctor import CheckUp
from deskgym.envs.machines.image.store import list_images
from deskgym.envs.machines.qemu.host import find_qemu, qemu_version
from deskgym.envs.machines.qemu.probe import known
from deskgym.envs.machines.sandbox.host import find_tool

TOOLS = {"qemu-img": "qemu-utils", "mke2fs": "e2fsprogs"}
BUILD = "deskgym image build science"
PROBE = f"{sys.executable} -m deskgym.benchmarks.machines --probe"


def check() -> Iterator[CheckUp]:
    """QEMU, its client, images and what was found out about KVM; and what builds images."""
    yield _qemu()
    yield _images()
    found = find_tool("mmdebstrap")
    fix = "" if found else "to build images: sudo apt-get install mmdebstrap"
    yield CheckUp("VM image builder", "ok" if found else "warn", found or "no mmdebstrap", fix)


def _qemu() -> CheckUp:
    missing = {package for tool, package in TOOLS.items() if find_tool(tool) is None}
    try:
        version = qemu_version()
    except MachineError as error:
        return CheckUp("VM: QEMU", "warn", str(error).partition(":")[0], _install({"qemu-system-x86", *missing}))
    if missing:
        return CheckUp("VM: QEMU", "warn", f"{version}, without {', '.join(sorted(missing))}", _install(missing))
    try:
        metadata.version("qemu.qmp")
    except metadata.PackageNotFoundError:
        fix = f"{sys.executable} -m pip install qemu.qmp"
        return CheckUp("VM: QEMU", "warn", f"{version}, without the Python package qemu.qmp", fix)
    return CheckUp("VM: QEMU", "ok", f"{version}, {find_qemu()}")


def _install(packages: set[str]) -> str:
    return f'for machine="qemu": sudo apt-get install {" ".join(sorted(packages))}'


def _images() -> CheckUp:
    """The images, and how the newest one's kernel boots here if that was tried: here, nothing is booted."""
    try:
        images = list_images()
    except (DeskgymError, OSError) as error:
        return CheckUp("VM images", "warn", str(error), "set XDG_CACHE_HOME to a folder that you can write to")
    if not images:
        return CheckUp("VM images", "warn", "none is built", f'for machine="qemu": {BUILD}')
    names = ", ".join(image.folder.name for image in images)
    try:
        outcomes = [outcome for image in images if (outcome := known(image)) is not None]
    except (DeskgymError, OSError):
        return CheckUp("VM images", "ok", names)
    if not outcomes:
        return CheckUp("VM images", "ok", f"{names}; not tried yet whether KVM works", f"to try it: {PROBE}")
    said = outcomes[0].said
    times = [
        f"{name} boots a kernel in {seconds:.1f} s" if seconds is not None else f"no {name} ({said.get(name, '')})"
        for name, seconds in outcomes[0].seconds.items()
    ]
    return CheckUp("VM images", "ok", f"{names}; {', '.join(times)}")
