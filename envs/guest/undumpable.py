"""Makes a running process one that nobody without rights over it may trace: not even what it starts itself.

A program starts others in its own Landlock domain: the agent's choice of a browser, say, when a link is opened. A
process that is not dumpable (``prctl(2)``, PR_SET_DUMPABLE) is closed to them as well, but exec makes it dumpable, and
only it itself can ask for this afterwards. So the guest, which may trace it, stops it for that one system call.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import time
from contextlib import suppress

_SEIZE, _INTERRUPT, _SINGLESTEP, _GETREGS, _SETREGS, _DETACH = 0x4206, 0x4207, 9, 12, 13, 17
_REGISTERS = ctypes.c_ulong * 27  # struct user_regs_struct of x86_64
_RAX, _RSI, _RDI, _ORIG_RAX, _RIP = 10, 13, 14, 15, 16
_PRCTL, _SET_DUMPABLE = 157, 4
_SYSCALL = b"\x0f\x05"
_PATIENCE = 1.0  # seconds for it to stop

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def make_undumpable(pid: int) -> bool:
    """Do it; whether it is done: only on x86_64, and to a process that stops and does not end meanwhile."""
    if platform.machine() != "x86_64" or (instruction := _system_call(pid)) is None:
        return False
    if _libc.ptrace(_SEIZE, pid, None, None) != 0:
        return False
    signals: list[int] = []
    try:
        _libc.ptrace(_INTERRUPT, pid, None, None)
        _wait(pid, signals)
        return _call(pid, instruction, signals)
    except (OSError, TimeoutError):
        return False
    finally:
        _libc.ptrace(_DETACH, pid, None, None)
        for number in signals:  # what it would have got meanwhile
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _system_call(pid: int) -> int | None:
    """The address of a system call instruction: the kernel's own page in every process has one."""
    try:
        with open(f"/proc/{pid}/maps") as maps:
            page = next((line.split()[0] for line in maps if line.endswith("[vdso]\n")), None)
        if page is None:
            return None
        start, end = (int(part, 16) for part in page.split("-"))
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            place = memory.read(end - start).find(_SYSCALL)
    except OSError:
        return None
    return None if place < 0 else start + place


def _call(pid: int, instruction: int, signals: list[int]) -> bool:
    before, during = _REGISTERS(), _REGISTERS()
    _registers(_GETREGS, pid, before)
    _registers(_GETREGS, pid, during)
    during[_RAX], during[_RDI], during[_RSI], during[_RIP] = _PRCTL, _SET_DUMPABLE, 0, instruction
    during[_ORIG_RAX] = ctypes.c_ulong(-1).value  # the call that it was stopped in is restarted later, not now
    try:
        _registers(_SETREGS, pid, during)
        while during[_RIP] == instruction:  # a signal may come first
            if _libc.ptrace(_SINGLESTEP, pid, None, None) != 0:
                raise OSError(ctypes.get_errno(), "ptrace")
            _wait(pid, signals)
            _registers(_GETREGS, pid, during)
    finally:
        _registers(_SETREGS, pid, before)
    return during[_RAX] == 0


def _registers(request: int, pid: int, registers: ctypes.Array[ctypes.c_ulong]) -> None:
    if _libc.ptrace(request, pid, None, ctypes.addressof(registers)) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _wait(pid: int, signals: list[int]) -> None:
    """Wait until it has stopped; a signal that stopped it is kept."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        found = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG)  # leaves its end to whoever waits for that
        if found is None:
            time.sleep(0.0001)
            continue
        number, event = found.si_status & 0x7F, found.si_status >> 8
        if number != signal.SIGTRAP and not event:
            signals.append(number)
        return
    raise TimeoutError(f"process {pid} did not stop")
