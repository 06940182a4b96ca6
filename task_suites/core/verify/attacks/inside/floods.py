"""Too much of something, until it is refused."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from deskgym.task_suites.core.verify.attacks.inside.processes import HOME, got_in, stay

FLOOD_SECONDS = 8.0


def until_refused(take: Callable[[], object], most: int) -> list[object]:
    """Take something again and again until it is refused, or for a while."""
    taken: list[object] = []
    end = time.monotonic() + FLOOD_SECONDS
    with contextlib.suppress(OSError, RuntimeError):
        while len(taken) < most and time.monotonic() < end:
            taken.append(take())
    return taken


def flood_processes() -> None:
    """Start programs until no more can be started."""
    until_refused(lambda: subprocess.Popen(["sleep", "3600"], start_new_session=True), 5000)


def flood_disk() -> None:
    """Fill home, /tmp and the runtime folder."""
    for folder in (HOME, Path("/tmp"), Path(os.environ["XDG_RUNTIME_DIR"]), Path("/dev/shm")):
        with contextlib.suppress(OSError), open(folder / "flood", "wb", buffering=0) as file:
            until_refused(lambda file=file: file.write(bytes(1 << 20)), 2048)  # type: ignore[misc]


def flood_output() -> None:
    """Print without end."""
    end = time.monotonic() + 3.0
    while time.monotonic() < end:
        print("x" * 100_000)


def flood_inotify() -> None:
    """Hold all inotify instances that this user may have."""
    stay("inotify()")


def inotify() -> None:
    """Make inotify instances until no more can be made, and hold them."""
    libc = ctypes.CDLL(None, use_errno=True)
    while libc.inotify_init() >= 0:
        pass
    print("there", flush=True)
    time.sleep(3600)


def set_clock() -> None:
    """Set the clock, and give files times of the past and of the future."""
    with contextlib.suppress(OSError):
        time.clock_settime(time.CLOCK_REALTIME, 4102444800)
        got_in("the clock can be set")
    for k, path in enumerate(HOME.rglob("*")):
        with contextlib.suppress(OSError):
            os.utime(path, (0, 0) if k % 2 else (4102444800, 4102444800))
