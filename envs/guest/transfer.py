"""Folders between host and guest, in batches of small files: no archive format that a hostile guest could abuse."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from deskgym.envs.errors import GuestCallError

if TYPE_CHECKING:
    from deskgym.envs.guest.client import GuestClient

BATCH_FILES = 500
MAX_DEPTH = 64


@dataclass
class Batch:
    """Files of a host folder: small ones with their contents, large ones by path."""

    small: list[tuple[str, int, bytes | None]] = field(default_factory=list)
    large: list[tuple[str, Path, int]] = field(default_factory=list)


def read_host_folder(folder: Path, limit: int) -> Iterator[Batch]:
    """The regular files and folders below ``folder``, in batches of at most ``limit`` bytes; links are left out."""
    batch, size = Batch(), 0
    for root, folders, files in os.walk(folder):
        base = Path(root)
        prefix = base.relative_to(folder)
        batch.small += [((prefix / name).as_posix(), 0o755, None) for name in folders if not (base / name).is_symlink()]
        for name in sorted(files):
            path = base / name
            if path.is_symlink() or not path.is_file():
                continue
            status = path.stat()
            if status.st_size > limit // 4:
                batch.large.append(((prefix / name).as_posix(), path, status.st_mode & 0o777))
                continue
            if size + status.st_size > limit or len(batch.small) >= BATCH_FILES:
                yield batch
                batch, size = Batch(), 0
            batch.small.append(((prefix / name).as_posix(), status.st_mode & 0o777, path.read_bytes()))
            size += status.st_size
    yield batch


def read_folder(client: GuestClient, path: str, destination: Path, limit: int) -> None:
    """Copy the guest's folder ``path`` into ``destination``, at most ``limit`` bytes in all.

    Raises:
        GuestCallError: it is missing or larger than the limit.
        GuestLost: the guest names a file that would lie outside ``destination``.
    """
    answer = client.call("list", 60.0, path=path, recursive=True)
    if answer.get("truncated"):
        raise GuestCallError(f"{path} has too many files", kind="FolderTooLarge")
    destination.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    expected = 0
    for entry in client.typed(answer, "entries", list):
        if not isinstance(entry, dict) or entry.get("type") not in ("file", "folder"):
            continue
        name = _checked(client, client.typed(entry, "name", str))
        if entry["type"] == "folder":
            (destination / name).mkdir(parents=True, exist_ok=True)
        else:
            names.append(name)
            expected += client.typed(entry, "size", int)
    if expected > limit:
        raise GuestCallError(f"{path} is larger than {limit} bytes", kind="FolderTooLarge")
    left = limit
    while names:
        asked = names[:BATCH_FILES]
        pieces = client.typed(client.call("read_many", 60.0, path=path, names=asked), "data", list)
        if not 0 < len(pieces) <= len(asked):
            names = names[1:]
            continue
        for name, data in zip(asked, pieces, strict=False):
            if data is None:  # larger than a frame, gone, or no regular file any more
                try:
                    data = client.get(f"{path}/{name}", limit=left)
                except GuestCallError as error:
                    if error.kind == "FileTooLarge":
                        raise
                    continue
            if not isinstance(data, bytes):
                continue
            left -= len(data)
            if left < 0:
                raise GuestCallError(f"{path} is larger than {limit} bytes", kind="FolderTooLarge")
            _write(destination / name, data)
        names = names[len(pieces) :]


def _checked(client: GuestClient, name: str) -> str:
    parts = name.split("/")
    if "\0" in name or len(parts) > MAX_DEPTH or any(part in ("", ".", "..") for part in parts):
        client.close()
        raise GuestCallError(f"the guest named a file {name[:100]!r} in a folder", kind="BadName")
    return name


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o644)
    with open(fd, "wb") as file:
        file.write(data)
