"""The Debian packages that deskgym drives, by what needs them; also run as a script, before anything is installed."""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SUITES = Path(__file__).parent / "task_suites"
MACHINES = {
    "core": (
        "runc", "uidmap", "xvfb", "openbox", "dbus", "at-spi2-core", "fonts-dejavu-core", "libgl1-mesa-dri", "libegl1",
        "locales", "libfaketime",
    ),
    "venv": ("python3-venv",),
    "image": ("mmdebstrap", "qemu-utils", "e2fsprogs", "uidmap", "debian-archive-keyring"),
    "gvisor": ("runsc", "gcc", "libc6-dev"),
    "vm": ("qemu-system-x86", "qemu-utils", "e2fsprogs"),
    "view": ("novnc", "x11vnc"),
    "vnc": ("tigervnc-standalone-server", "x11vnc", "x11-xserver-utils"),
    "test": (
        "python3-pyatspi", "gir1.2-gtk-3.0", "mousepad", "chromium", "chromium-driver", "libreoffice-calc",
        "libreoffice-gtk3", "x11-utils", "crun", "gcc", "libc6-dev",
    ),
}  # fmt: skip
"""What machines need, and tests; what a suite needs is said by its programs."""


@cache
def groups() -> Mapping[str, tuple[str, ...]]:
    """The packages of each group: those of ``MACHINES``, each suite's, each program's, and of all ``suites``.

    They are read from the registry of suites and from the folders of our own programs, without importing any.
    """
    files = sorted((SUITES / "programs").glob("*/__init__.py"))
    programs = {file.parent.name: _written_packages(file) for file in files}
    suites = {
        entry.name: tuple(package for name in entry.programs for package in programs.get(name, ()))
        for entry in runpy.run_path(str(SUITES / "suites.py"))["ENTRIES"]
    }
    every = tuple(dict.fromkeys(package for names in suites.values() for package in names))
    return programs | suites | {"suites": every} | MACHINES


def packages(*names: str) -> list[str]:
    """The packages of the named groups, each once, in order.

    Raises:
        KeyError: no such group.
    """
    return list(dict.fromkeys(package for name in names for package in groups()[name]))


def _written_packages(file: Path) -> tuple[str, ...]:
    """What a program's file says in its call of ``Program(..., packages=(...))``."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Program":
            return next((tuple(ast.literal_eval(k.value)) for k in node.keywords if k.arg == "packages"), ())
    return ()


if __name__ == "__main__":
    print(*packages(*sys.argv[1:]))
