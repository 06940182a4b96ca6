"""Landlock domains: a process in one can trace, and read or write the memory of, none outside it.

The agent and the programs that are judged run as one user, so without this ``ptrace`` could make a program say
anything. Each launched program, each service of the desktop and the agent's code have a domain of their own, which all
that they start inherits. The guest has none, and sees them all.

Source: Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h of Linux.
"""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on all architectures
_VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION
_PATH_BENEATH = 1
_REFER = 1 << 13  # LANDLOCK_ACCESS_FS_REFER: to rename and link from folder to folder

_libc = ctypes.CDLL(None, use_errno=True)


def available() -> bool:
    """Whether this kernel has domains that still can rename from folder to folder (Linux 5.19, ABI 2)."""
    return int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)) >= 2


def enter_own_domain() -> None:
    """Put this process, and all that it will start, into a new domain, which forbids nothing else; for ever.

    Does nothing where there are no domains. A process needs no_new_privs, or to be root in its user namespace.

    Raises:
        OSError: the kernel refused.
    """
    if not available():
        return
    # a ruleset must rule something: renames, which are then allowed below /
    ruleset = _call(_CREATE_RULESET, struct.pack("=Q", _REFER), ctypes.c_size_t(8), 0)
    try:
        root = os.open("/", os.O_PATH | os.O_CLOEXEC)
        try:
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", _REFER, root), 0)
        finally:
            os.close(root)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"landlock: {os.strerror(error)}")
    return result
