"""A finished image: a folder with a disk, a kernel, an initial RAM disk and a manifest that says what they must be."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.image.recipe import is_stock
from deskgym.envs.machines.sandbox.host import find_tool

MANIFEST = "manifest.json"
DISK, KERNEL, INITRD = "disk.qcow2", "vmlinuz", "initrd.img"
FILES = (DISK, KERNEL, INITRD)

_QCOW2_HEADER = struct.Struct(">4sIQIIQ")
_QCOW2_MAGIC = b"QFI\xfb"


@dataclass(frozen=True)
class Image:
    """An image that a virtual machine starts from. Its files are never written to: machines use an overlay.

    Attributes:
        name: its recipe's name, such as ``"science"``.
        hash: 12 hexadecimal digits of its recipe's hash.
        folder: where it lies.
        python: version of its Python, such as ``"3.11"``.
        resolution: width and height of its screen, in pixels.
        manifest: what it was built from and what its files must be; see docs/images.md.
    """

    name: str
    hash: str
    folder: Path
    python: str
    resolution: tuple[int, int]
    manifest: dict[str, Any]

    @classmethod
    def open(cls, folder: Path) -> Image:
        """Read an image's manifest; looks at nothing else.

        Raises:
            MachineError: kind ``"no_image"``: there is none; ``"bad_image"``: the manifest cannot be read.
        """
        path = folder / MANIFEST
        try:
            manifest = json.loads(path.read_bytes())
            width, height = map(int, manifest["resolution"])
            for file in FILES:
                int(manifest["files"][file]["bytes"]), str(manifest["files"][file]["sha256"])
            int(manifest["disk_bytes"])
            return cls(
                str(manifest["name"]), str(manifest["hash"]), folder, str(manifest["python"]), (width, height), manifest
            )
        except FileNotFoundError:
            raise MachineError(f"{folder} is no image: it has no {MANIFEST}", kind="no_image") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            message = f"{path} cannot be read ({type(error).__name__}: {error})"
            raise MachineError(f"{message}; {remedy(folder.name.rpartition('-')[0])}", kind="bad_image") from error

    @property
    def full_name(self) -> str:
        """Its name with the hash, which is its folder's name too."""
        return f"{self.name}-{self.hash}"

    @property
    def disk(self) -> Path:
        """The qcow2 disk: an ext4 file system without partitions."""
        return self.folder / DISK

    @property
    def kernel(self) -> Path:
        """The kernel, for direct boot with ``root=/dev/vda``."""
        return self.folder / KERNEL

    @property
    def initrd(self) -> Path:
        """The initial RAM disk that goes with the kernel."""
        return self.folder / INITRD

    @property
    def bytes(self) -> int:
        """Size of all its files on disk, in bytes."""
        return sum(int(entry["bytes"]) for entry in self.manifest["files"].values())

    def verify(self, deep: bool = False) -> None:
        """Compare the files with the manifest.

        Args:
            deep: also compare checksums and let ``qemu-img`` check the disk (seconds); else only sizes and the disk's
                header (under a millisecond or two).

        Raises:
            MachineError: kind ``"bad_image"``: a file is missing, cut short or changed.
        """
        for name, entry in self.manifest["files"].items():
            try:
                size = (self.folder / name).stat().st_size
            except OSError as error:
                raise self._bad(name, str(error.strerror), f"a file of {entry['bytes']} bytes") from None
            if size != entry["bytes"]:
                raise self._bad(name, f"{size} bytes", str(entry["bytes"]))
        self._verify_header()
        if deep:
            for name, entry in self.manifest["files"].items():
                if (found := sha256(self.folder / name)) != entry["sha256"]:
                    raise self._bad(name, f"sha256 {found}", entry["sha256"])
            self._verify_qcow2()

    def _verify_header(self) -> None:
        with self.disk.open("rb") as file:
            start = file.read(_QCOW2_HEADER.size)
        if len(start) < _QCOW2_HEADER.size or start[:4] != _QCOW2_MAGIC:
            raise self._bad(DISK, f"a file that starts with {start[:4]!r}", f"a qcow2 disk, {_QCOW2_MAGIC!r}")
        _, version, backing, _, _, size = _QCOW2_HEADER.unpack(start)
        expected = (3, 0, self.manifest["disk_bytes"])
        if (version, backing, size) != expected:
            shape = "qcow2 version {}, backing file at {}, virtual size of {} bytes"
            raise self._bad(DISK, shape.format(version, backing, size), shape.format(*expected))

    def _verify_qcow2(self) -> None:
        tool = find_tool("qemu-img")
        if tool is None:
            raise MachineError(
                "qemu-img is missing, so the disk cannot be checked: install with `sudo apt-get install qemu-utils`",
                kind="not_installed",
            )
        done = subprocess.run([tool, "check", "-q", str(self.disk)], capture_output=True, text=True)
        if done.returncode != 0:
            lines = (done.stderr + done.stdout).strip().splitlines() or [f"status {done.returncode}"]
            raise self._bad(DISK, f"`qemu-img check` saying {lines[0]!r}", "no errors")

    def _bad(self, file: str, got: str, expected: str) -> MachineError:
        return MachineError(
            f"image {self.full_name} is damaged: {self.folder / file}: got {got}, expected {expected}; "
            f"{remedy(self.name)}",
            kind="bad_image",
        )


def sha256(path: Path) -> str:
    """The file's SHA-256 as hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remedy(name: str) -> str:
    """What to do where the image of this name is of no use."""
    recipe = name if is_stock(name) else "RECIPE"
    return f"build it again with `deskgym image build {recipe} --force`"
