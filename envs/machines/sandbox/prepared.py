"""Prepared layers as machines use them: read-only folders under what a machine writes, held while it runs.

A layer is a folder with ``NAME/upper`` for each of the sandbox's folders that it has something of, and a manifest.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from deskgym.envs.errors import MachineError

MANIFEST = "layer.json"
_LONGEST = 3400  # bytes of the layers' paths in an overlay's options: mount(2) takes a page of them
_UPPER = len(":/home/upper")


def hold(layers: Sequence[str]) -> list[int]:
    """Keep layers from being removed, by any process, until the descriptors that this returns are released.

    Raises:
        MachineError: kind ``"not_installed"``: one of them is not there.
    """
    if sum(len(layer.encode()) + _UPPER for layer in layers) > _LONGEST:
        raise MachineError(f"{len(layers)} layers are too many for one machine", kind="not_allowed")
    held: list[int] = []
    try:
        for layer in layers:
            held.append(os.open(layer, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            fcntl.flock(held[-1], fcntl.LOCK_SH | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(held[-1]), os.stat(layer)) or not Path(layer, MANIFEST).is_file():
                raise FileNotFoundError(layer)
            os.utime(layer)  # in use
    except OSError as error:
        release(held)
        raise MachineError(
            f"there is no prepared layer {layer} (`deskgym layers list` shows those that there are): {error}",
            kind="not_installed",
        ) from error
    return held


def release(held: list[int]) -> None:
    """The machine has stopped. Empties the list."""
    while held:
        fd = held.pop()
        fcntl.flock(fd, fcntl.LOCK_UN)  # a fork that was made meanwhile has it open too
        os.close(fd)
