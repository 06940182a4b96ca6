"""Builds an image in stages, each of which is there as a whole or not at all, so that a build goes on where it stopped.

``rootfs`` (packages and files: rootfs.tar) → ``kernel`` (vmlinuz, initrd.img) → ``disk`` (disk.qcow2) → ``manifest``;
then the folder gets the image's name.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from json import dumps
from pathlib import Path

from deskgym._version import __version__
from deskgym.envs.errors import MachineError
from deskgym.envs.machines.build_once import file_lock
from deskgym.envs.machines.image import inside, tree
from deskgym.envs.machines.image.bootstrap import make_rootfs
from deskgym.envs.machines.image.children import ToolFailed, as_root, need_tools, run_tool
from deskgym.envs.machines.image.image import DISK, FILES, INITRD, KERNEL, MANIFEST, Image, sha256
from deskgym.envs.machines.image.recipe import FORMAT, Recipe
from deskgym.envs.machines.image.store import discard, images_folder

STAGES = ("rootfs", "kernel", "disk", "manifest")
TOOLS = (
    ("mmdebstrap", "mmdebstrap"), ("qemu-img", "qemu-utils"), ("mke2fs", "e2fsprogs"), ("dumpe2fs", "e2fsprogs"),
    ("debugfs", "e2fsprogs"), ("tar", "tar"), ("setpriv", "util-linux"), ("unshare", "util-linux"),
)  # fmt: skip
USER_TOOLS = (("newuidmap", "uidmap"), ("newgidmap", "uidmap"))

ROOTFS = "rootfs.tar"
_LEFTOVERS = ("tmp", "tree", "disk.raw", f"{ROOTFS}.part", f"{DISK}.part")


@dataclass(frozen=True)
class Step:
    """How far a build is.

    Attributes:
        stage: one of ``STAGES``, or ``"waiting"`` for another process that builds the same image.
        detail: what is being done.
        done: how many parts of the stage are done.
        total: of how many; 0 where that is not known.
    """

    stage: str
    detail: str = ""
    done: int = 0
    total: int = 0


Report = Callable[[Step], None]


def build_image(recipe: Recipe, force: bool = False, report: Report = lambda step: None) -> Image:
    """Build the recipe's image, or go on with a build that was interrupted; returns it at once where it is built.

    Args:
        recipe: what to build.
        force: build it again from the start, and put it in the place of the one that is there.
        report: called as the build goes on.

    Raises:
        ValueError: the recipe asks for what there is not.
        MachineError: a tool, the network or room is missing, or a tool failed; the message names the log.
    """
    folder = images_folder() / recipe.full_name
    if folder.is_dir() and not force:
        return Image.open(folder)
    need_tools(*TOOLS, *(() if os.geteuid() == 0 else USER_TOOLS))

    def waiting(pid: str) -> None:
        report(Step("waiting", f"process {pid} builds this image"))

    with file_lock(images_folder() / f".lock-{recipe.full_name}", waiting):
        if folder.is_dir() and not force:
            return Image.open(folder)
        build = _Build(recipe, images_folder() / f".building-{recipe.full_name}", report)
        build.remove_others()
        if force:
            build.forget()
        build.run()
        if folder.exists():
            discard(folder)
        build.work.rename(folder)
    return Image.open(folder)


class _Build:
    """One build in its folder."""

    def __init__(self, recipe: Recipe, work: Path, report: Report) -> None:
        self.recipe = recipe
        self.work = work
        self.report = report
        self.log = work / "build.log"

    def run(self) -> None:
        """All stages that are not complete yet, in order."""
        self.work.mkdir(mode=0o755, exist_ok=True)
        self.clear()
        times = self.work / "seconds"
        for stage in STAGES:
            if self.complete(stage):
                continue
            self.report(Step(stage))
            start = time.monotonic()
            try:
                getattr(self, stage)()
            finally:
                with suppress(OSError, MachineError):  # of a full disk: the stage's own error matters
                    self.clear()
            if stage != "manifest":
                with times.open("a") as file:
                    file.write(f"{stage} {time.monotonic() - start:.1f}\n")
        for name in (ROOTFS, "status", "kernel-version", "seconds", "build.log"):
            (self.work / name).unlink(missing_ok=True)

    def complete(self, stage: str) -> bool:
        """Whether a stage's last file is in its place."""
        files = {"rootfs": (ROOTFS,), "kernel": (KERNEL, INITRD), "disk": (DISK,), "manifest": (MANIFEST,)}[stage]
        return all((self.work / name).is_file() for name in files)

    def rootfs(self) -> None:
        """Let mmdebstrap make the file tree."""
        self.need_room(self.recipe.disk_mb << 20)
        part = self.work / f"{ROOTFS}.part"
        make_rootfs(self.recipe, self.work, part, lambda *what: self.report(Step("rootfs", *what)))
        _settle(part, self.work / ROOTFS)

    def kernel(self) -> None:
        """Take the kernel and its initial RAM disk out of the tree."""
        self.report(Step("kernel", "taking it out of the tree"))
        self.tree_tool("kernel", str(self.work / ROOTFS), str(self.work))
        for name in ("status", KERNEL, INITRD):
            _settle(self.work / f"{name}.part", self.work / name)

    def disk(self) -> None:
        """Make a file system of the tree, and a qcow2 of the file system."""
        archive, raw, part = self.work / ROOTFS, self.work / "disk.raw", self.work / f"{DISK}.part"
        self.need_room(int(2.2 * archive.stat().st_size))
        identity = uuid.uuid5(uuid.NAMESPACE_URL, self.recipe.full_name)
        size = str(self.recipe.disk_mb)
        self.report(Step("disk", "writing the file system", 0, 2))
        self.tree_tool("disk", str(archive), str(self.work / "tree"), str(raw), size, str(identity), str(inside.EPOCH))
        self.report(Step("disk", "converting it to qcow2", 1, 2))
        self.remove(self.work / "tree")
        try:
            run_tool(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(raw), str(part)], self.log)
        except ToolFailed as error:
            raise self.failed(error) from None
        _settle(part, self.work / DISK)

    def manifest(self) -> None:
        """Write down what the image is."""
        versions = _versions((self.work / "status").read_text(errors="replace"))
        python = re.match(r"\d+\.\d+", versions.get("python3", ""))
        files = {}
        for number, name in enumerate(FILES):
            self.report(Step("manifest", f"checksum of {name}", number, len(FILES)))
            path = self.work / name
            files[name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
        manifest = {
            "format": FORMAT,
            "name": self.recipe.name,
            "hash": self.recipe.hash,
            "python": python[0] if python else "",
            "resolution": list(self.recipe.resolution),
            "disk_bytes": self.recipe.disk_mb << 20,
            "kernel_version": (self.work / "kernel-version").read_text(),
            "files": files,
            "built": datetime.now(UTC).isoformat(timespec="seconds"),
            "built_by": f"deskgym {__version__}",
            "seconds": {stage: float(seconds) for stage, seconds in map(str.split, (self.work / "seconds").open())},
            "recipe": self.recipe.normalised,
            "packages": versions,
        }
        part = self.work / f"{MANIFEST}.part"
        part.write_text(dumps(manifest, indent=1) + "\n")
        _settle(part, self.work / MANIFEST)

    def tree_tool(self, *arguments: str) -> None:
        """Run ``tree.py`` as root of the ids that the tree's files belong to."""
        script = as_root([sys.executable, "-I", "-S", tree.__file__, *arguments])
        try:
            run_tool(script, self.log)
        except ToolFailed as error:
            raise self.failed(error) from None

    def failed(self, error: ToolFailed) -> MachineError:
        """What a tool's last words mean."""
        text = "\n".join(error.lines)
        if "Could not allocate" in text or "ext2 filesystem too small" in text:
            return MachineError(
                f"the files of recipe {self.recipe.name!r} do not fit on its disk: raise disk_mb in the recipe, it is "
                f"{self.recipe.disk_mb} (log: {self.log})",
                kind="image_too_small",
            )
        if "No space left on device" in text:
            return MachineError(f"the disk is full at {self.work}: make room and build again", kind="disk_full")
        last = error.lines[-1] if error.lines else "it printed nothing"
        return MachineError(f"{error}: {last} (log: {self.log})", kind="build_failed")

    def need_room(self, size: int) -> None:
        """Check that so many bytes are free before minutes are spent.

        Raises:
            MachineError: kind ``"disk_full"``.
        """
        free = shutil.disk_usage(self.work).free
        if free < size:
            raise MachineError(
                f"too little room in {self.work.parent}: {free >> 20} MiB are free, building {self.recipe.name!r} "
                f"may take {size >> 20} MiB; make room, or set XDG_CACHE_HOME to a folder on another disk",
                kind="disk_full",
            )

    def clear(self) -> None:
        """Delete what a stage needed or left half done."""
        for name in _LEFTOVERS:
            self.remove(self.work / name)

    def forget(self) -> None:
        """Delete all stages."""
        self.clear()
        self.remove(self.work)

    def remove(self, path: Path) -> None:
        """Delete a file or folder, whoever it belongs to."""
        if path.is_dir() and not path.is_symlink():
            try:
                shutil.rmtree(path)
            except PermissionError:
                self.tree_tool("remove", str(path))
        else:
            path.unlink(missing_ok=True)

    def remove_others(self) -> None:
        """Delete what interrupted builds and removals left: of this recipe as it was, unless it is being built."""
        images = self.work.parent
        for stale in images.glob(".removing-*"):
            shutil.rmtree(stale, ignore_errors=True)
        for folder in images.glob(f".building-{self.recipe.name}-*"):
            if folder == self.work or folder.name.rpartition("-")[0] != self.work.name.rpartition("-")[0]:
                continue
            lock = images / folder.name.replace(".building-", ".lock-", 1)
            with lock.open("a+") as file, suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.remove(folder)
                lock.unlink()


def _settle(part: Path, final: Path) -> None:
    """Give a finished file its name, after all of it is on the disk."""
    with part.open("rb") as file:
        os.fsync(file.fileno())
    part.rename(final)


def _versions(status: str) -> dict[str, str]:
    """Installed packages and their versions, from dpkg's status file."""
    versions = {}
    for stanza in status.split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Status): (.*)$", stanza, re.M))
        if fields.get("Status", "").endswith(" installed"):
            versions[fields["Package"]] = fields["Version"]
    return dict(sorted(versions.items()))
