"""Files inside the machine: read, write, list.

Below the agent's own folders everything is done with the agent's rights: a link that it planted there leads nowhere
that it could not go itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.processes import system_user
from deskgym.envs.guest.protocol import MAX_FRAME

PIECE = MAX_FRAME // 2
MAX_ENTRIES = 50_000

_KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}


list_ = list  # ``Files.list`` hides the type's name inside the class


class Files:
    """The file methods of the guest."""

    def __init__(self, config: GuestConfig) -> None:
        self._config = config
        self._agents = tuple(
            os.path.normpath(folder) + "/" for folder in (config.home, config.tmp_dir, "/tmp", "/var/tmp")
        )

    @contextmanager
    def _identity(self, path: str, owner: str = "agent") -> Iterator[None]:
        """Act with the agent's rights while in its folders. Nothing may be awaited inside."""
        if not path.startswith("/"):
            raise ValueError(f"{path!r} is not an absolute path")
        if self._config.uid is None or not (os.path.normpath(path) + "/").startswith(self._agents):
            yield
            return
        if owner != "agent":
            raise ValueError(f"{path} is in a folder of the agent's, where nothing can belong to {owner!r}")
        uid, gid = self._config.owner
        groups = os.getgroups()
        os.setgroups([gid])
        os.setegid(gid)
        os.seteuid(uid)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)

    def _own(self, path: str, owner: str) -> None:
        """Give what the guest made to its owner."""
        if owner == "agent":
            ids = self._config.owner
        elif owner == "guest":
            ids = (os.getuid(), os.getgid())
        else:
            ids = system_user(owner)[:2]
        if self._config.uid is not None and os.geteuid() == 0:
            os.chown(path, *ids, follow_symlinks=False)

    def _make_folders(self, path: str, owner: str) -> None:
        if os.path.isdir(path):
            return
        self._make_folders(os.path.dirname(path), owner)
        os.mkdir(path, 0o755)
        self._own(path, owner)

    def write(
        self, path: str, data: bytes, offset: int = 0, mode: int | None = None, owner: str = "agent"
    ) -> dict[str, Any]:
        """Write a piece of a file at ``offset``; offset 0 starts the file anew."""
        with self._identity(path, owner):
            self._make_folders(os.path.dirname(path) or "/", owner)
            flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | (os.O_TRUNC if offset == 0 else 0)
            fd = os.open(path, flags, 0o644)
            with open(fd, "wb", buffering=0) as file:
                _require_file(fd, path)
                file.seek(offset)
                view = memoryview(data)
                while view:
                    view = view[file.write(view) or 0 :]
                if offset == 0:
                    self._own(path, owner)
                if mode is not None:
                    os.fchmod(fd, mode & 0o777)
        return {"size": offset + len(data)}

    def write_many(
        self, path: str, entries: list_[tuple[str, int, bytes | None]], owner: str = "agent"
    ) -> dict[str, Any]:
        """Write small files and folders below ``path``: (relative name, mode, data or None for a folder)."""
        with self._identity(path, owner):
            self._make_folders(path, owner)
        for name, mode, data in entries:
            target = os.path.join(path, check_name(name))
            if data is None:
                with self._identity(target, owner):
                    self._make_folders(target, owner)
            else:
                self.write(target, data, mode=mode, owner=owner)
        return {}

    def read(self, path: str, offset: int = 0, size: int = PIECE) -> dict[str, Any]:
        """A piece of a regular file, and its whole size."""
        with self._identity(path):
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
            with open(fd, "rb", buffering=0) as file:
                total = _require_file(fd, path)
                file.seek(offset)
                return {"data": _read(file, min(size, PIECE)), "size": total}

    def read_many(self, path: str, names: list[str]) -> dict[str, Any]:
        """Several small files below ``path``, as many as fit into an answer; None for one that is gone or no file."""
        found: list[bytes | None] = []
        room = PIECE
        for name in names:
            target = os.path.join(path, check_name(name))
            with self._identity(target):
                try:
                    fd = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW)
                except OSError:
                    found.append(None)
                    continue
                with open(fd, "rb", buffering=0) as file:
                    try:
                        size = _require_file(fd, target)
                    except OSError:
                        found.append(None)
                        continue
                    if size > room:
                        if not found:
                            found.append(None)
                        break
                    data = _read(file, size)
                    room -= len(data)
                    found.append(data)
        return {"data": found}

    def stat(self, path: str) -> dict[str, Any]:
        """What a path is; a link is not followed."""
        with self._identity(path):
            return _describe(os.path.basename(path), os.lstat(path))

    def list(self, path: str, recursive: bool = False) -> dict[str, Any]:
        """What is in a folder, by name; names are relative to it, and links are not followed."""
        with self._identity(path):
            entries: list_[dict[str, Any]] = []
            truncated = False
            for name, status in _walk(path, "", recursive):
                if len(entries) == MAX_ENTRIES:
                    truncated = True
                    break
                entries.append(_describe(name, status))
        return {"entries": entries, "truncated": truncated}


def check_name(name: str) -> str:
    """A relative path without any way out. Raises ValueError."""
    parts = name.split("/")
    if not name or "\0" in name or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"{name!r} is not a plain relative path")
    return name


def _walk(folder: str, prefix: str, recursive: bool) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        yield prefix + entry.name, status
        if recursive and stat.S_ISDIR(status.st_mode):
            try:
                yield from _walk(entry.path, f"{prefix}{entry.name}/", True)
            except OSError:
                continue


def _describe(name: str, status: os.stat_result) -> dict[str, Any]:
    return {
        "name": os.fsencode(name).decode("utf-8", "replace"),
        "type": _KINDS.get(stat.S_IFMT(status.st_mode), "other"),
        "size": status.st_size,
        "mode": stat.S_IMODE(status.st_mode),
        "mtime": status.st_mtime,
        "uid": status.st_uid,
    }


def _require_file(fd: int, path: str) -> int:
    """The size of an open regular file. Raises OSError when it is none."""
    status = os.fstat(fd)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(21, "Is a directory", path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(22, "Not a regular file", path)
    return status.st_size


def _read(file: Any, size: int) -> bytes:
    data = bytearray()
    while len(data) < size and (piece := file.read(size - len(data))):
        data += piece
    return bytes(data)
