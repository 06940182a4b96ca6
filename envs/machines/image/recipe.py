"""What an image is made of: packages, files, users, services and a few commands, read from a short YAML file."""

from __future__ import annotations

import hashlib
import json
import platform
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from deskgym.envs.errors import near

FORMAT = 1
"""Raised when the builder would make another image of the same recipe, so that each has its own name."""

STOCK = Path(__file__).parent / "recipes"
GUEST_FILES = Path(__file__).parent / "files"
"""Copied into every image, each file at its path below this folder."""

GUEST_SERVICE = "deskgym-guest.service"

BASE = (
    "systemd", "systemd-sysv", "dbus", "udev", "kmod", "procps", "python3", "initramfs-tools", "lz4", "sudo",
    "x11vnc", "iproute2", "socat",
)  # fmt: skip
"""Packages of every image, besides the group ``core``."""

HOST_ONLY = frozenset(("runc", "uidmap"))
"""Packages of ``core`` that only the sandbox's host needs."""

AGENT = "user"
AGENT_ID = 1000


@dataclass(frozen=True)
class RecipeFile:
    """A file to put into the image.

    Attributes:
        path: where, absolute.
        content: what is in it.
        mode: its permissions.
        owner: name of a user of the image.
    """

    path: str
    content: bytes
    mode: int = 0o644
    owner: str = "root"


@dataclass(frozen=True)
class RecipeUser:
    """A user of the image, with a group of the same name and number, and a home in /home."""

    name: str
    uid: int
    sudo: bool = False


@dataclass(frozen=True)
class Recipe:
    """A checked recipe; ``load_recipe`` makes one. docs/images.md says what each key is for."""

    name: str
    suite: str
    mirror: str | None
    packages: tuple[str, ...]
    files: tuple[RecipeFile, ...]
    users: tuple[RecipeUser, ...]
    resolution: tuple[int, int]
    enable: tuple[str, ...]
    disable: tuple[str, ...]
    mask: tuple[str, ...]
    kernel: str
    disk_mb: int
    run: tuple[str, ...]

    @property
    def all_packages(self) -> tuple[str, ...]:
        """Packages to ask for, sorted; apt adds what they depend on."""
        return tuple(sorted({*BASE, self.kernel, *self.packages}))

    @property
    def normalised(self) -> dict[str, Any]:
        """The recipe as data, in one form for all ways to write it; files are named by their checksums."""
        return {
            "name": self.name,
            "suite": self.suite,
            "mirror": self.mirror,
            "packages": list(self.all_packages),
            "files": [
                {"path": f.path, "sha256": hashlib.sha256(f.content).hexdigest(), "mode": f.mode, "owner": f.owner}
                for f in sorted(self.files, key=lambda f: f.path)
            ],
            "users": [{"name": u.name, "uid": u.uid, "sudo": u.sudo} for u in sorted(self.users, key=lambda u: u.uid)],
            "resolution": list(self.resolution),
            "services": {key: sorted(getattr(self, key)) for key in ("enable", "disable", "mask")},
            "kernel": self.kernel,
            "disk_mb": self.disk_mb,
            "run": list(self.run),
        }

    @cached_property
    def hash(self) -> str:
        """12 hexadecimal digits that change with anything that goes into the image but the packages' versions."""
        guest = [(f.path, hashlib.sha256(f.content).hexdigest(), f.mode) for f in guest_files()]
        text = json.dumps([FORMAT, self.normalised, guest], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def full_name(self) -> str:
        """The image's name."""
        return f"{self.name}-{self.hash}"


def stock_recipes() -> list[str]:
    """Names of the recipes that come with deskgym."""
    return sorted(path.stem for path in STOCK.glob("*.yaml"))


def is_stock(name: str) -> bool:
    """Whether a recipe of this name comes with deskgym."""
    return name in stock_recipes()


def load_recipe(name_or_path: str | Path) -> Recipe:
    """Read and check a recipe.

    Args:
        name_or_path: the name of a stock recipe, or a YAML file.

    Raises:
        ValueError: there is no such recipe, or something in it is wrong; the message names the file and the key.
    """
    from deskgym.envs.machines.image.recipe_yaml import read_recipe

    name = str(name_or_path)
    if is_stock(name):
        return read_recipe(STOCK / f"{name}.yaml")
    path = Path(name).expanduser()
    if not path.is_file():
        stock = stock_recipes()
        kind = "is a folder" if path.is_dir() else "is not there"
        raise ValueError(
            f"no recipe {name!r}: the file {kind}; legal are {', '.join(stock)}, or a YAML file{near(name, stock)}"
        )
    return read_recipe(path)


def guest_files() -> list[RecipeFile]:
    """What every image has of deskgym's own, sorted by path: all files below ``GUEST_FILES``, owned by root."""
    found = []
    for path in sorted(GUEST_FILES.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            found.append(RecipeFile("/" + path.relative_to(GUEST_FILES).as_posix(), path.read_bytes(), mode))
    return found


def default_kernel() -> str:
    """Debian's kernel package for virtual machines of this computer's kind."""
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return f"linux-image-cloud-{architecture}"
