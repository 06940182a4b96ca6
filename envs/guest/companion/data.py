"""The data of a service: frozen once, rolled back before every episode, and compared by a fingerprint.

These functions run in a fork of the guest (see ``child``), so they may block.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_CHANGING = ((24, 28), (92, 100))
"""Bytes of a SQLite file's header that count changes (file format, section 1.3)."""

_MAX_ROWS = 200_000


def freeze(base: str, databases: Sequence[str], folders: Sequence[str]) -> None:
    """Copy the data to a folder that only the guest's own user may read.

    Args:
        base: the folder.
        databases: paths of SQLite databases, which may be in use.
        folders: paths of folders and files.
    """
    os.makedirs(base, mode=0o700, exist_ok=True)
    for path in databases:
        with _opened(path, "ro") as live, contextlib.closing(sqlite3.connect(frozen(base, path))) as copy:
            live.backup(copy)
    for path in folders:
        if not os.path.lexists(path):
            raise FileNotFoundError(f"there is no {path}, whose content should be rolled back")
        _copy(path, frozen(base, path))


def roll_back(base: str, databases: Sequence[str], folders: Sequence[str]) -> None:
    """Make the data what it was when it was frozen; the databases may be in use."""
    for path in databases:
        with contextlib.closing(sqlite3.connect(frozen(base, path))) as copy, _opened(path, "rw") as live:
            copy.backup(live)
    for path in folders:
        _mirror(frozen(base, path), path)


def fingerprint(databases: Sequence[str], folders: Sequence[str]) -> str:
    """A digest of what the databases and folders hold, with names, owners and modes."""
    digest = hashlib.blake2b(digest_size=16)
    for path in databases:
        with _opened(path, "ro") as live, contextlib.closing(sqlite3.connect(":memory:")) as copy:
            live.backup(copy)
            image = bytearray(copy.serialize())
        for first, end in _CHANGING:
            image[first:end] = bytes(end - first)
        digest.update(image)
    for path in folders:
        for name in _tree(path):
            status = os.lstat(name)
            if _is_end(status):
                continue
            digest.update(f"{name}\0{status.st_mode}\0{status.st_uid}\0{status.st_gid}\0".encode())
            if stat.S_ISREG(status.st_mode):
                with open(name, "rb") as file:
                    digest.update(hashlib.file_digest(file, "blake2b").digest())
            elif stat.S_ISLNK(status.st_mode):
                digest.update(os.readlink(name).encode(errors="surrogateescape"))
    return digest.hexdigest()


def query(path: str, sql: str, parameters: Sequence[Any] | Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of a query, each by column; bytes as ``{"base64": text}``. The database cannot be changed by it."""
    with _opened(path, "ro") as live:
        live.row_factory = sqlite3.Row
        rows = live.execute(sql, parameters).fetchmany(_MAX_ROWS + 1)
    if len(rows) > _MAX_ROWS:
        raise OverflowError(f"the query gives more than {_MAX_ROWS} rows: narrow it down")
    return [{name: _plain(row[name]) for name in row.keys()} for row in rows]  # noqa: SIM118 - a Row's iterator has values


def execute(path: str, sql: str) -> None:
    """Carry out statements, all or none."""
    with _opened(path, "rw") as live:
        try:
            live.executescript(f"BEGIN IMMEDIATE;\n{sql}\n;COMMIT;")
        except sqlite3.Error:
            if live.in_transaction:
                live.rollback()
            raise


def clear(temporary: Sequence[str], folders: Sequence[str]) -> None:
    """Delete what this process's user has left; none of its processes runs any more.

    Args:
        temporary: folders of everybody's: all that is the user's goes. So do its message queues, semaphores and shared
            memory of System V.
        folders: what is rolled back: pipes and sockets go, which a roll-back leaves where they are.

    Raises:
        OSError: something of it is still there.
    """
    mine = ["-uid", str(os.geteuid())]
    found = ["find", *temporary, "-mindepth", "1", *mine]
    for command in (
        [*found, "-type", "d", "!", "-perm", "-700", "-exec", "chmod", "u+rwx", "{}", ";"],
        [*found, "-delete"],
        ["find", *folders, *mine, "(", "-type", "p", "-o", "-type", "s", ")", "-delete"] if folders else ["true"],
        ["ipcrm", "--all"],
    ):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done = subprocess.run([*found, "-print", "-quit"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if left := done.stdout.decode(errors="replace").strip():
        raise OSError(f"{left} cannot be deleted")


@contextlib.contextmanager
def _opened(path: str, mode: str) -> Iterator[sqlite3.Connection]:
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no database {path}")
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    with contextlib.closing(sqlite3.connect(f"file:{quoted}?mode={mode}", uri=True, timeout=10.0)) as connection:
        connection.execute("PRAGMA trusted_schema=OFF")
        yield connection


def _plain(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def frozen(base: str, path: str) -> str:
    """Where the frozen copy of a path is."""
    return f"{base}/{path.strip('/').replace('%', '%25').replace('/', '%2f')}"


def _tree(path: str) -> Iterator[str]:
    """A path and all that is below it, in order."""
    yield path
    if os.path.isdir(path) and not os.path.islink(path):
        for name in sorted(os.listdir(path)):
            yield from _tree(f"{path}/{name}")


def _copy(source: str, target: str) -> None:
    """Copy a file, link or tree with owners, modes and times."""
    done = subprocess.run(["cp", "-aT", source, target], stderr=subprocess.PIPE)
    if done.returncode:
        raise OSError(done.stderr.decode(errors="replace").strip())


def _mirror(base: str, live: str) -> None:
    """Make ``live`` like ``base``; what is equal stays as it is."""
    wanted, found = os.lstat(base), _lstat(live)
    if found is not None and stat.S_IFMT(wanted.st_mode) != stat.S_IFMT(found.st_mode):
        _remove(live)
        found = None
    if found is None or not stat.S_ISDIR(wanted.st_mode):
        if found is None or not _equal(base, live, wanted, found):
            _remove(live)
            _copy(base, live)
        return
    names = set(os.listdir(base))
    for name in set(os.listdir(live)) - names:
        status = os.lstat(f"{live}/{name}")
        if not _is_end(status):
            _remove(f"{live}/{name}")
    for name in names:
        _mirror(f"{base}/{name}", f"{live}/{name}")
    if _rights(wanted) != _rights(found):
        os.chown(live, wanted.st_uid, wanted.st_gid)
        os.chmod(live, stat.S_IMODE(wanted.st_mode))


def _equal(base: str, live: str, wanted: os.stat_result, found: os.stat_result) -> bool:
    if _rights(wanted) != _rights(found) or wanted.st_size != found.st_size:
        return False
    if stat.S_ISLNK(wanted.st_mode):
        return os.readlink(base) == os.readlink(live)
    with open(base, "rb") as one, open(live, "rb") as other:  # a time of change can be set to anything
        while piece := one.read(1 << 20):
            if other.read(1 << 20) != piece:
                return False
    return True


def _is_end(status: os.stat_result) -> bool:
    """Whether it is a socket or a pipe: it is a running program's, and holds no data."""
    return stat.S_ISSOCK(status.st_mode) or stat.S_ISFIFO(status.st_mode)


def _rights(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_mode, status.st_uid, status.st_gid


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
