"""What a benchmark ran on."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import warnings
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from deskgym._version import __version__

LIBRARIES = ("gymnasium", "numpy", "opencv-python-headless", "pillow", "pyautogui", "python-xlib", "dbus-fast")
PACKAGES = ("kalgebra", "mousepad", "xvfb", "runc", "openbox", "at-spi2-core", "python3-pyatspi")

BUSY = 20.0
"""Percent of the processor that other programs may take while something is measured."""


def describe_host() -> dict[str, Any]:
    """Processor, kernel, memory and versions."""
    cpu = Path("/proc/cpuinfo").read_text()
    memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text())
    model = re.search(r"model name\s*:\s*(.+)", cpu)
    return {
        "cpu": model[1] if model else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(int(memory[1]) / (1 << 20), 1) if memory else None,
        "kernel": platform.release(),
        "system": _system(),
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
        "python": platform.python_version(),
        "deskgym": __version__,
        "libraries": {name: _version(name) for name in LIBRARIES},
        "packages": _packages(),
    }


def load() -> list[float]:
    """The load average of the last 1, 5 and 15 minutes."""
    return [round(number, 2) for number in os.getloadavg()]


def warn_if_busy(seconds: float = 0.5) -> str:
    """Warn where other programs use the processor, because then everything that is measured is off.

    A load average tells of the last minutes; what counts is now. Beside a load of 15 on two cores, ``bench`` found 27.6
    times the speed of the conventional loop where it is 5.3 times.

    Args:
        seconds: for how long to look; call it before anything is started.

    Returns:
        The warning, or "".
    """
    share = psutil.cpu_percent(seconds)
    if share <= BUSY:
        return ""
    cores = len(os.sched_getaffinity(0))
    text = (
        f"this machine is busy: other programs take {share:.0f} % of its {cores} cores (load average {load()[0]}); "
        "times and ratios will be wrong, measure again when it is idle"
    )
    warnings.warn(text, stacklevel=2)
    return text


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _packages() -> dict[str, str]:
    try:
        done = subprocess.run(
            ["dpkg-query", "-W", "-f=${Package} ${Version}\n", *PACKAGES], capture_output=True, text=True
        )
    except OSError:
        return {}
    return dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
