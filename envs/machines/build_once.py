"""Builds what is kept in the cache: once however many ask, and never seen half done.

It is built in a folder beside its place, while a lock is held, and renamed at the end. The kernel gives a killed
builder's lock back; the next one deletes what it left.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

STALE = 24 * 3600.0
"""Seconds after which an unfinished folder counts as left by a killed builder, whatever was built there."""
ROOM = 1 << 20
"""Bytes that a build leaves free. Where there are fewer, a file of it may have been cut short, and nobody was told: so
Python's own compiler."""


def build_once(
    target: Path,
    build: Callable[[Path], Path | None],
    *,
    replace: bool = False,
    unused: float | None = None,
    waiting: Callable[[str], object] = lambda pid: None,
) -> Path:
    """Give ``target``, after building it if it is not there.

    Args:
        target: a folder or file; its parent exists.
        build: fills the new, empty folder (mode 0700) that it is given. That folder becomes ``target``; or what it
            returns does: another file or folder on the same file system.
        replace: build it although it is there.
        unused: seconds after which neighbours whose names begin with the same word (``guest-...``) are deleted, if
            nobody has asked for them meanwhile; by default none are.
        waiting: called with the process id of another builder of the same target (``"?"`` in the moment before it has
            written that down), before it is waited for.

    Raises:
        OSError: there is no right to write, or no room (ENOSPC; its file name is the folder's).
            What ``build`` raises goes through.
    """
    if replace or not target.exists():
        with _saying_where(target.parent), file_lock(target.with_name(f".lock-{target.name}"), waiting):
            if replace or not target.exists():
                _build(target, build)
                if unused is not None:
                    _remove_unused(target, unused)
    if unused is not None:
        os.utime(target)
    return target


@contextmanager
def file_lock(path: Path, waiting: Callable[[str], object] = lambda pid: None) -> Iterator[None]:
    """Hold a lock between processes and threads; its file has the holder's process id, and goes with the lock.

    Args:
        path: the lock's file; its folder exists.
        waiting: called with the holder's process id where the lock is taken, or ``"?"`` before that is written.
    """
    while True:
        with path.open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                waiting(file.read().strip() or "?")
                fcntl.flock(file, fcntl.LOCK_EX)
            try:
                if not _is_still(path, file.fileno()):
                    continue  # the last holder has deleted it
                file.truncate(0)
                file.write(f"{os.getpid()}\n")
                file.flush()
                try:
                    yield
                finally:
                    path.unlink(missing_ok=True)
                return
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # a fork that was made meanwhile has the file open too


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _saying_where(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if os.strerror(errno.ENOSPC) not in str(error):  # that of shutil.copytree has no errno
            raise
        message = f"{os.strerror(errno.ENOSPC)}; make room there, or set XDG_CACHE_HOME to a folder on another disk"
        raise OSError(errno.ENOSPC, message, str(folder)) from error


def _build(target: Path, build: Callable[[Path], Path | None]) -> None:
    prefix = f".building-{target.name}-"
    for left in target.parent.glob(".building-*"):
        if left.name.startswith(prefix) or _age(left) > STALE:
            _remove(left)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        made = build(folder) or folder
        if shutil.disk_usage(target.parent).free < ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        _remove(target)
        made.rename(target)
    finally:
        _remove(folder)


def _remove_unused(newest: Path, seconds: float) -> None:
    for other in newest.parent.glob(f"{newest.name.partition('-')[0]}-*"):
        if other != newest and _age(other) > seconds:
            _remove(other)


def _age(path: Path) -> float:
    """Seconds since it was changed; 0 where another process has renamed or removed it meanwhile."""
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
