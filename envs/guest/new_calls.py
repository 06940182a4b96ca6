"""Refuses new system calls: the sandbox's own filter can only name those that the host's libseccomp knows."""

from __future__ import annotations

import ctypes
import struct

NEWEST = 462
"""The last system call that may be made, mseal. From 424 on numbers are the same on every architecture; the next ones
set extended attributes by other names (463) and open mounts (467)."""

_ENOSYS = 38
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_LOAD, _AND, _JUMP_GREATER, _RETURN = 0x20, 0x54, 0x25, 0x06  # classic BPF
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32 = 0x40000000  # marks the calls of one of the architectures


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse_new_calls() -> None:
    """Let this process and all that it starts get ENOSYS for every call after ``NEWEST``. Raises OSError."""
    steps = (
        (_LOAD, 0, 0, 0),  # the call's number
        (_AND, 0, 0, 0xFFFFFFFF & ~_X32),
        (_JUMP_GREATER, 0, 1, NEWEST),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
        (_RETURN, 0, 0, _ALLOW),
    )
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "system calls cannot be filtered")
