"""Where a sandbox's runtime and guest write what goes wrong: a file in memory."""

from __future__ import annotations

import os

LOG_SIZE = 1 << 16


def sealed_log() -> int:
    """A memory file of fixed size: whoever inherits it as stderr cannot fill the host with it."""
    import fcntl

    fd = os.memfd_create("deskgym-log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.fchmod(fd, 0o600)  # gVisor lets the agent open what the guest has open, as far as its mode lets it
    os.ftruncate(fd, LOG_SIZE)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return fd
