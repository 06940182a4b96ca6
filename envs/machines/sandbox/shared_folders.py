"""Mounting shared folders in a running sandbox: a script of its own enters its namespaces."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from deskgym.envs.errors import MachineError

FOLDER_TIMEOUT = 20.0  # seconds
FOLDERS_SCRIPT = str(Path(__file__).with_name("folders.py"))


def mount_folder(pidfd: int, fd: int, operation: str, path: str, *arguments: str) -> None:
    """Run an operation of the script in the machine whose PID 1 a pidfd names.

    Args:
        pidfd: of the machine's PID 1.
        fd: a socket that takes the new folder, or the folder to attach.
        operation: ``"make"`` or ``"attach"``.
        path: where in the machine.
        arguments: more of the operation's.

    Raises:
        MachineError: kind ``"shared_folder"``; says why.
    """
    try:
        subprocess.run(
            [sys.executable, "-I", "-S", FOLDERS_SCRIPT, str(pidfd), str(fd), operation, path, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, pass_fds=(pidfd, fd), cwd="/",
            timeout=FOLDER_TIMEOUT, check=True,
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        why = error.stderr.strip()[-500:]
        raise MachineError(f"the folder {path} cannot be shared: {why}", kind="shared_folder") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MachineError(f"the folder {path} cannot be shared: {error}", kind="shared_folder") from error
