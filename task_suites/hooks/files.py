"""Hooks that put files into the machine, in the user's home or in /tmp."""

from __future__ import annotations

import base64 as base64_module
import binascii
import posixpath

from deskgym.envs.errors import SetupError
from deskgym.envs.evaluation.calls import HostFile
from deskgym.task_suites.core.task import Setup

FOLDERS = ("/home/user", "/tmp")
"""Where hooks may write."""


def write(setup: Setup, path: str, text: str, executable: bool = False) -> None:
    """Write a text in UTF-8."""
    setup.machine.put(legal_path(path), text.encode(), mode=0o755 if executable else 0o644)


def write_bytes(setup: Setup, path: str, base64: str, executable: bool = False) -> None:
    """Write bytes, given in base64."""
    try:
        data = base64_module.b64decode("".join(base64.split()), validate=True)
    except binascii.Error as error:
        raise SetupError(f"{path}: not base64: {error}") from None
    setup.machine.put(legal_path(path), data, mode=0o755 if executable else 0o644)


def copy(setup: Setup, file: HostFile, path: str) -> None:
    """Copy a file or folder that lies beside the task file."""
    setup.machine.put(legal_path(path), file)


def legal_path(path: str) -> str:
    """An absolute path below one of ``FOLDERS``, normalised.

    Raises:
        SetupError: it is another.
    """
    normal = posixpath.normpath(path)
    if not any(normal.startswith(folder + "/") for folder in FOLDERS):
        raise SetupError(f"{path!r} is not below {' or '.join(FOLDERS)}")
    return normal
