"""Start slots: how many machines of this host are made ready at once, by all processes of a user together.

A machine's start and its task's setup are work for the processor, with deadlines. Two hundred at once on two cores
would take turns anyhow, all of them late; so they wait before they begin, where no deadline runs.
"""

from __future__ import annotations

import fcntl
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deskgym.envs.machines.sandbox.host import runtime_folder

PER_CORE = 2  # a start waits for disks and for other processes, too
PATIENCE = 120.0
"""Seconds after which one goes on without a slot: those who hold them may have been stopped (Ctrl-Z)."""

_PAUSES = 0.002, 0.02  # seconds, from the first look to the last ones: as long as a small part of a start


def slots() -> int:
    """How many may be made ready at once: two for each core that this process may use."""
    return PER_CORE * len(os.sched_getaffinity(0))


@contextmanager
def start_slot(folder: Path | None = None, count: int | None = None, patience: float = PATIENCE) -> Iterator[bool]:
    """Wait for one of the slots, and hold it; gives whether there was one.

    Whoever holds one and is killed gives it back: it is a lock on a file, which the kernel keeps.

    Args:
        folder: where the files are; by default one of this user's.
        count: how many slots there are; ``slots()`` by default.
        patience: seconds to wait at most.
    """
    folder = folder or runtime_folder() / "start-slots"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        taken = _take(folder, count or slots(), time.monotonic() + patience)
    except OSError:  # no descriptor, no room on the disk: whatever is started next will say so
        taken = None
    try:
        yield taken is not None
    finally:
        if taken is not None:
            fcntl.flock(taken, fcntl.LOCK_UN)  # a fork that was made meanwhile has the file open too
            os.close(taken)


def _take(folder: Path, count: int, until: float) -> int | None:
    numbers, pause = list(range(count)), _PAUSES[0]
    while time.monotonic() < until:
        random.shuffle(numbers)
        for number in numbers:
            file = os.open(folder / str(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                os.close(file)
            except BaseException:
                os.close(file)
                raise
        time.sleep(pause)
        pause = min(2 * pause, _PAUSES[1])
    return None
