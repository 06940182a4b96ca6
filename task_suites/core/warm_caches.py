"""What a program computes anew at each first start, kept on the host from one machine to the next: shader caches."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.build_once import build_once
from deskgym.envs.machines.sandbox.host import cache_folder

CACHES = "/home/user/.cache"
KEPT = ("mesa_shader_cache", "qtshadercache")
RENEWED = 7 * 24 * 3600.0
"""Seconds after which they are taken anew. A new version of the program or of Mesa needs no earlier renewal: both check
what they find, and compute what does not fit."""


def give_caches(machine: Machine, program: str) -> bool:
    """Put a program's caches into a machine before its first start there.

    Args:
        machine: one that isolates; others have a home that lasts.
        program: names them on the host.

    Returns:
        Whether there were any; if not, ``keep_caches`` when the program has started.
    """
    kept = _folder(program)
    if not machine.isolates:
        return True
    if not kept.is_dir() or time.time() - kept.stat().st_mtime > RENEWED:
        return False
    with suppress(OSError):  # another process is renewing them
        machine.put(CACHES, kept)
    return True


def keep_caches(machine: Machine, program: str) -> None:
    """Keep a program's caches from a machine in which no agent has acted yet, where the host has room for them."""
    kept = _folder(program)

    def build(folder: Path) -> None:
        for entry in machine.guest.list(CACHES) if machine.guest.exists(CACHES) else ():
            if entry["type"] == "folder" and entry["name"].startswith(KEPT):
                machine.get_folder(f"{CACHES}/{entry['name']}", folder / entry["name"])

    with suppress(OSError):  # without them the next first start takes longer, and no more
        kept.parent.mkdir(parents=True, exist_ok=True)
        build_once(kept, build, replace=True)


def _folder(program: str) -> Path:
    return cache_folder() / "programs" / program
