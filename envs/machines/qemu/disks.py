"""The disks that a virtual machine gets besides its image's: the guest's, the libraries', the framebuffer's."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.guest_runtime import build_guest_runtime, link_or_copy
from deskgym.envs.machines.libraries import build_libraries
from deskgym.envs.machines.qemu.folders import base_folder
from deskgym.envs.machines.qemu.memory import copy_file
from deskgym.envs.machines.sandbox.host import find_tool

_OURS = f"{sys.version_info.major}.{sys.version_info.minor}"
_COMPILED_ONLY = ("PIL", "pillow.libs", "pillow")  # the image has its own
_FIXED = (
    "-U",
    "6465736b-6779-4d00-8000-000000000001",
    "-E",
    "root_owner=0:0,hash_seed=6465736b-6779-4d00-8000-000000000002",
)


@cache
def guest_disk(python: str, plugins: tuple[str, ...] = ()) -> Path:
    """A read-only disk with the guest runtime and its plugins, for an image with this version of Python; built once.

    What is compiled for another Python is left out where it could do harm; the libraries do without.
    """
    runtime = build_guest_runtime(plugins)

    def build(work: Path) -> Path:
        tree = shutil.copytree(runtime, work / "tree", copy_function=link_or_copy)
        if not _is_ours(python):
            for name in _COMPILED_ONLY:
                shutil.rmtree(tree / name, ignore_errors=True)
        return _fill_disk(tree, work)

    disk = build_once(base_folder() / f"{runtime.name}-py{python}.ext4", build)
    os.utime(disk)
    return disk


@cache
def libraries_disk(names: tuple[str, ...], python: str) -> Path:
    """A read-only disk with Python libraries for kernels, for an image with this version of Python; built once.

    Args:
        names: see ``deskgym.envs.machines.libraries.build_libraries``.
        python: such as ``"3.11"``.

    Raises:
        MachineError: one of them is not installed here, or they are compiled for another Python than the image's.
    """
    if not _is_ours(python):
        raise MachineError(
            f"kernels' libraries ({', '.join(names)}) are compiled for this Python, {_OURS}, and the virtual machine's "
            f"image has Python {python}: use machine='sandbox', or an image that has Python {_OURS}",
            kind="not_installed",
        )
    libraries = build_libraries(names)
    disk = build_once(base_folder() / f"{libraries.name}.ext4", lambda work: _fill_disk(libraries, work))
    os.utime(disk)
    return disk


def _fill_disk(tree: Path, work: Path) -> Path:
    """Make a disk of a folder, in the folder ``work``."""
    size = sum(f.lstat().st_size + 4096 for f in tree.rglob("*"))
    made = work / "disk"
    make_ext4(str(made), size * 5 // 4 + (4 << 20), "-d", str(tree))
    return made


def _is_ours(python: str) -> bool:
    return python == _OURS


def screen_bytes(size: tuple[int, int]) -> int:
    """How large the device must be that has the framebuffer of such a screen: its pixels, and a file system."""
    return (-(-size[0] * size[1] * 4 // (2 << 20)) + 4) * (2 << 20)


def screen_memory(size: tuple[int, int], content: Path | None = None) -> int:
    """The framebuffer's device: a memory file that host and guest share, with an empty file system or a copy's content.

    Returns:
        Its descriptor, which the caller owns.
    """
    length = screen_bytes(size)
    fd = os.memfd_create("deskgym-screen", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        with (content or _empty_screen(length)).open("rb") as source:
            copy_file(source.fileno(), fd, length)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    except BaseException:
        os.close(fd)
        raise
    return fd


@cache
def _empty_screen(length: int) -> Path:
    def build(work: Path) -> Path:
        made = work / "disk"
        make_ext4(str(made), length, "-O", "^has_journal,^resize_inode", "-N", "16", "-m", "0", "-b", "4096")
        return made

    return build_once(base_folder() / f"screen-{length >> 20}.ext4", build)


def make_ext4(path: str, length: int, *options: str) -> None:
    """Make a file with an ext4 file system.

    Raises:
        MachineError: mke2fs is missing, or says no.
    """
    tool = find_tool("mke2fs")
    if tool is None:
        raise MachineError("virtual machines need mke2fs: `sudo apt-get install e2fsprogs`", kind="not_installed")
    command = [tool, "-q", "-t", "ext4", *_FIXED, *options, path, f"{length >> 10}k"]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, "E2FSPROGS_FAKE_TIME": "1"},
    )
    if done.returncode:
        raise MachineError(f"mke2fs could not make {path}: {done.stderr.strip()[-500:]}", kind="start_failed")
