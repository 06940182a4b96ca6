"""Hooks that put files into the machine, in the user's home or in /tmp, or anywhere into a service's companion."""

from __future__ import annotations

import base64 as base64_module
import binascii
import posixpath

from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.calls import HostFile
from deskgym.task_suites.core.task import Setup

FOLDERS = ("/home/user", "/tmp")
"""Where hooks may write."""


def write(setup: Setup, path: str, text: str, executable: bool = False, in_: str | None = None) -> None:
    """Write a text in UTF-8; ``in`` names the service whose companion gets the file."""
    _put(setup, in_, path, text.encode(), 0o755 if executable else 0o644)


def write_bytes(setup: Setup, path: str, base64: str, executable: bool = False, in_: str | None = None) -> None:
    """Write bytes, given in base64; ``in`` names the service whose companion gets the file."""
    try:
        data = base64_module.b64decode("".join(base64.split()), validate=True)
    except binascii.Error as error:
        raise SetupError(f"{path}: not base64: {error}") from None
    _put(setup, in_, path, data, 0o755 if executable else 0o644)


def copy(setup: Setup, file: HostFile, path: str, in_: str | None = None) -> None:
    """Copy a file or folder that lies beside the task file; ``in`` names the service whose companion gets it."""
    _put(setup, in_, path, file)


def _put(setup: Setup, service: str | None, path: str, source: bytes | HostFile, mode: int | None = None) -> None:
    if service is None:
        setup.machine.put(legal_path(path), source, mode=mode)
    elif not path.startswith("/"):
        raise SetupError(f"{path!r} is not an absolute path")
    else:
        setup.companion(service).put(path, source, mode=mode)


def legal_path(path: str) -> str:
    """An absolute path below one of ``FOLDERS``, normalised.

    Raises:
        SetupError: it is another.
    """
    normal = posixpath.normpath(path)
    if not any(normal.startswith(folder + "/") for folder in FOLDERS):
        raise SetupError(f"{path!r} is not below {' or '.join(FOLDERS)}")
    return normal
