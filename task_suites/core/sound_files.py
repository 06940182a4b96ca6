"""Our own task files that were found to be without a mistake: they are not looked through again until code changes.

To check a file means to draw its parameters and to make its calls, which takes seconds for a whole suite; to read it
takes milliseconds. What is kept is an empty file in the cache, whose name is a digest of all that the check depends on:
the task file, what lies beside it, and the code of deskgym. Without a cache folder that can be written to, every file
is checked, and so are those of users.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.sandbox.host import cache_folder
from deskgym.task_suites.core.discovery import FOLDERS
from deskgym.task_suites.core.registry import KINDS, Registry
from deskgym.task_suites.core.verify.modules import LEDGER, OWN_PROOFS

KEPT = "sound"
"""The folder's name in the cache."""
UNUSED = 7 * 24 * 3600.0
"""Seconds after which what was kept for another state of the code is removed."""
_PACKAGE = Path(__file__).parents[2]
_TASKS = (".yaml", ".yml")


class SoundFiles:
    """Remembers the task files without a mistake that stand in the package and call nothing but its programs.

    Args:
        registry: what the files call.
    """

    def __init__(self, registry: Registry) -> None:
        kinds = [(getattr(registry, kind), getattr(Registry(), kind)) for kind in KINDS]
        own = all(getattr(names, "own", names) == plain for names, plain in kinds)
        others = any(Path(folder).is_dir() for folder in registry.folders) or os.environ.get(FOLDERS)
        self._folder = _kept() if own and not others else None
        self._programs = " ".join(registry.programs)

    def has(self, file: Path) -> bool:
        """Whether a file was without a mistake as it is now."""
        place = self._place(file)
        return place is not None and place.exists()

    def add(self, file: Path) -> None:
        """A file is without a mistake."""
        if place := self._place(file):
            with suppress(OSError):
                place.touch()

    def _place(self, file: Path) -> Path | None:
        if self._folder is None or not file.is_relative_to(_PACKAGE):
            return None
        digest = blake2b(f"{file}\n{self._programs}\n".encode(), digest_size=16)
        beside = (path for path in sorted(file.parent.rglob("*")) if path.suffix not in _TASKS)
        try:
            digest.update(file.read_bytes() + "".join(_stats(beside)).encode())
        except OSError:  # whoever reads it says so
            return None
        return self._folder / digest.hexdigest()


@cache
def _kept() -> Path | None:
    """The folder for the code as it was when this process first asked; None where none can be had."""
    digest = blake2b(sys.version.encode(), digest_size=8)
    digest.update("".join(_stats(_code())).encode())
    with suppress(OSError, MachineError):
        folder = cache_folder() / KEPT / digest.hexdigest()
        if not folder.is_dir():
            folder.mkdir(parents=True)
            for other in folder.parent.iterdir():
                if time.time() - other.stat().st_mtime > UNUSED:
                    shutil.rmtree(other, ignore_errors=True)
        return folder
    return None


def _code() -> list[Path]:
    """All files of the package but tasks and their proofs."""
    found: list[Path] = []
    for folder, names, files in os.walk(_PACKAGE, followlinks=True):  # a checkout's packages are links
        names[:] = [name for name in names if name not in OWN_PROOFS]
        found += (Path(folder, file) for file in files if file != LEDGER)
    return sorted(found)


def _stats(paths: Iterable[Path]) -> Iterator[str]:
    """A line for each file: where it is, how long, and when it was changed."""
    for path in paths:
        if path.is_file():
            stat = path.stat()
            yield f"{path} {stat.st_size} {stat.st_mtime_ns}\n"
