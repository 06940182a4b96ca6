"""The small disks that a virtual machine gets besides its image's: the guest's, and the one for its framebuffer."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.guest_runtime import build_guest_runtime
from deskgym.envs.machines.qemu_folders import base_folder
from deskgym.envs.machines.qemu_memory import copy_file
from deskgym.envs.machines.sandbox_host import find_tool

_COMPILED_ONLY = ("PIL", "pillow.libs", "pillow")  # the image has its own
_FIXED = (
    "-U",
    "6465736b-6779-4d00-8000-000000000001",
    "-E",
    "root_owner=0:0,hash_seed=6465736b-6779-4d00-8000-000000000002",
)


@cache
def guest_disk(python: str) -> Path:
    """A read-only disk with the guest runtime, for an image with this version of Python; built once.

    What is compiled for another Python is left out where it could do harm; the libraries do without.
    """
    runtime = build_guest_runtime()
    disk = base_folder() / f"{runtime.name}-py{python}.ext4"
    if not disk.exists():
        with tempfile.TemporaryDirectory(prefix=".building-", dir=disk.parent) as work:
            tree = shutil.copytree(runtime, Path(work, "tree"), copy_function=_link)
            if not _is_ours(python):
                for name in _COMPILED_ONLY:
                    shutil.rmtree(tree / name, ignore_errors=True)
            size = sum(f.lstat().st_size + 4096 for f in tree.rglob("*"))
            made = Path(work, "disk")
            make_ext4(str(made), size * 5 // 4 + (4 << 20), "-d", str(tree))
            made.rename(disk)
    os.utime(disk)
    return disk


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _is_ours(python: str) -> bool:
    import sys

    return python == f"{sys.version_info.major}.{sys.version_info.minor}"


def screen_bytes(size: tuple[int, int]) -> int:
    """How large the device must be that has the framebuffer of such a screen: its pixels, and a file system."""
    return (-(-size[0] * size[1] * 4 // (2 << 20)) + 4) * (2 << 20)


def screen_memory(size: tuple[int, int], content: Path | None = None) -> int:
    """The framebuffer's device: a memory file that host and guest share, with an empty file system or a copy's content.

    Returns:
        Its descriptor, which the caller owns.
    """
    length = screen_bytes(size)
    fd = os.memfd_create("deskgym-screen", os.MFD_CLOEXEC)
    try:
        with (content or _empty_screen(length)).open("rb") as source:
            copy_file(source.fileno(), fd, length)
    except BaseException:
        os.close(fd)
        raise
    return fd


@cache
def _empty_screen(length: int) -> Path:
    path = base_folder() / f"screen-{length >> 20}.ext4"
    if not path.exists():
        with tempfile.TemporaryDirectory(prefix=".building-", dir=path.parent) as work:
            made = Path(work, "disk")
            make_ext4(str(made), length, "-O", "^has_journal,^resize_inode", "-N", "16", "-m", "0", "-b", "4096")
            made.rename(path)
    return path


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
