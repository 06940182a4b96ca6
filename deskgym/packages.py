"""The Debian packages that deskgym drives, by what needs them; also run as a script, before anything is installed."""

from __future__ import annotations

import sys

PACKAGES = {
    "core": (
        "runc", "uidmap", "xvfb", "openbox", "dbus", "at-spi2-core", "fonts-dejavu-core", "libgl1-mesa-dri", "libegl1",
    ),
    "science": ("kalgebra",),
    "data_engineering": (),
    "bpm": (),
    "table_analysis": (),
    "image": ("mmdebstrap", "qemu-utils", "e2fsprogs", "uidmap", "debian-archive-keyring"),
    "vm": ("qemu-system-x86", "qemu-utils", "e2fsprogs"),
    "view": ("novnc", "x11vnc"),
    "vnc": ("tigervnc-standalone-server", "x11vnc", "x11-xserver-utils"),
    "test": (
        "python3-pyatspi", "gir1.2-gtk-3.0", "mousepad", "chromium", "chromium-driver", "libreoffice-calc",
        "libreoffice-gtk3",
    ),
}  # fmt: skip
"""What ``deskgym install`` and the Makefile install: a suite's packages and always ``core``."""


def packages(*names: str) -> list[str]:
    """The packages of the named groups, each once, in order.

    Raises:
        KeyError: no such group.
    """
    return list(dict.fromkeys(package for name in names for package in PACKAGES[name]))


if __name__ == "__main__":
    print(*packages(*sys.argv[1:]))
