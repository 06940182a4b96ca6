"""Refuses system calls: new ones, since the sandbox's own filter can only name those that the host's libseccomp knows.

On gVisor, where that filter is not, also those with which the agent would get rights in the machine.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Sequence

NEWEST = 462
"""The last system call that may be made, mseal. From 424 on numbers are the same on every architecture; the next ones
set extended attributes by other names (463) and open mounts (467)."""

_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_LOAD, _AND, _JUMP_GREATER, _JUMP_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x54, 0x25, 0x15, 0x45, 0x06  # classic BPF
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32 = 0x40000000  # marks the calls of one of the architectures
_NUMBERS = {"x86_64": (272, 308, 165, 56, 41, 53), "aarch64": (97, 268, 40, 220, 198, 199)}
"""unshare, setns, mount, clone, socket, socketpair."""
_CLONE3 = 435
_FIRST_ARGUMENT = 16  # where it begins in struct seccomp_data
_NEW_USER = 0x10000000  # CLONE_NEWUSER
_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_Step = tuple[int, int, int, int]


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
    _install(steps)


def refuse_rights() -> None:
    """Let nobody make namespaces, mount, or have sockets of other families than programs need. Raises OSError.

    In a user namespace of its own the agent would have all rights over the machine's network.
    """
    numbers = _NUMBERS.get(os.uname().machine)
    if numbers is None:
        raise OSError(_ENOSYS, f"which calls to refuse on {os.uname().machine} is not known")
    unshare, setns, mount, clone, *sockets = numbers
    refused = (_RETURN, 0, 0, _ERRNO | _EPERM)
    steps: list[_Step] = [(_LOAD, 0, 0, 0)]
    for number in (unshare, setns, mount):
        steps += [(_JUMP_EQUAL, 0, 1, number), refused]
    # its flags are in memory, which a filter cannot read: libc falls back to clone
    steps += [(_JUMP_EQUAL, 0, 1, _CLONE3), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    look = [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_JUMP_SET, 0, 1, _NEW_USER), refused, (_RETURN, 0, 0, _ALLOW)]
    steps += [(_JUMP_EQUAL, 0, len(look), clone), *look]
    families = [(_JUMP_EQUAL, len(_FAMILIES) - k, 0, family) for k, family in enumerate(_FAMILIES)]
    look = [(_LOAD, 0, 0, _FIRST_ARGUMENT), *families, (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]
    for number in sockets:
        steps += [(_JUMP_EQUAL, 0, len(look), number), *look]
    _install([*steps, (_RETURN, 0, 0, _ALLOW)])


def _install(steps: Sequence[_Step]) -> None:
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "system calls cannot be filtered")
