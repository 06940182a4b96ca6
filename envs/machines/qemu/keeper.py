"""Runs one QEMU and ends it, with its folder, when the process that it belongs to is gone: a script of its own.

``python -I -S keeper.py LIFELINE FOLDER SOCKET QEMU ARGUMENTS...``. LIFELINE is the descriptor of a socket:
QEMU's pid is written to it, and its end is the end. FOLDER and SOCKET are removed then. It imports nothing of ours, so
that it is there in milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import select
import shutil
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> int:
    """Run QEMU until it ends, the lifeline is cut or our parent is gone; returns QEMU's exit status."""
    lifeline, folder, socket, command = int(argv[0]), argv[1], argv[2], argv[3:]
    try:
        return _keep(lifeline, command)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.exists(socket):
            os.unlink(socket)


def _keep(lifeline: int, command: list[str]) -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()
    owner = os.pidfd_open(parent)
    if os.getppid() != parent:  # it died before we could watch it
        return 1
    pid = os.fork()
    if pid == 0:
        _become_qemu(lifeline, command)
    _let_go(keep={lifeline, owner})
    child = os.pidfd_open(pid)
    try:
        os.write(lifeline, f"{pid}\n".encode())
        select.select([lifeline, owner, child], [], [])
    except OSError:
        pass
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    _, status = os.waitpid(pid, 0)
    return abs(os.waitstatus_to_exitcode(status))


def _become_qemu(lifeline: int, command: list[str]) -> None:
    try:
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        os.close(lifeline)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.execv(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def _let_go(keep: set[int]) -> None:
    """Close what only QEMU needs, else its other ends would never see it end."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
