"""A zygote: a warm interpreter that code actions or kernels are forks of, so that nothing has to be imported any more.

It is forked from the guest, stays single-threaded, and does nothing but fork when asked and report how forks ended.
"""

from __future__ import annotations

import array
import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.landlock import enter_own_domain
from deskgym.envs.guest.processes import PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, prctl, reset_signals
from deskgym.envs.guest.protocol import HEADER, pack, unpack

Child = Callable[[GuestConfig, dict[str, Any], list[int]], NoReturn]


def run_zygote(
    config: GuestConfig, channel: socket.socket, env: dict[str, str], preload: Callable[[], None], child: Child
) -> NoReturn:
    """Be the zygote, in a process that was just forked. Never returns.

    Args:
        config: for the forks.
        channel: each message on it is a request; the descriptors that come with it are the fork's.
        env: its environment.
        preload: loads what the forks need.
        child: what a fork does with its request.
    """
    try:
        gc.disable()  # objects of the guest must not be finalized here: they would close descriptors that are ours
        reset_signals()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if not config.sudo:
            prctl(PR_SET_NO_NEW_PRIVS, 1)
            enter_own_domain()
        _close_all_but(channel.fileno())
        os.environ.clear()
        os.environ.update(env)
        preload()
        gc.freeze()
        _send(channel, {"ready": True})
        _loop(config, channel, child)
    except SystemExit:
        pass  # the guest is gone
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


def _close_all_but(keep: int) -> None:
    os.closerange(3, keep)
    os.closerange(keep + 1, 1 << 16)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)


def _loop(config: GuestConfig, channel: socket.socket, child: Child) -> None:
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *ignored: None)
    children: set[int] = set()
    while True:
        ready, _, _ = select.select([channel.fileno(), wake_read], [], [])
        if wake_read in ready:
            os.read(wake_read, 4096)
            _report_ended(channel, children)
        if channel.fileno() in ready:
            request, fds = receive(channel)
            pid = os.fork()
            if pid == 0:
                child(config, request, fds)
            for fd in fds:
                os.close(fd)
            children.add(pid)
            _send(channel, {"started": pid})


def _report_ended(channel: socket.socket, children: set[int]) -> None:
    for pid in list(children):
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            children.discard(pid)
            _send(channel, {"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _send(channel: socket.socket, message: dict[str, Any]) -> None:
    channel.sendall(pack(message))


def receive(channel: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """One message and the descriptors that came with it; ends the process when the other end is gone."""
    fds: list[int] = []
    data = bytearray()
    size = HEADER.size
    head = True
    while len(data) < size:
        piece, ancillary, _, _ = channel.recvmsg(size - len(data), socket.CMSG_SPACE(16), socket.MSG_CMSG_CLOEXEC)
        if not piece:
            sys.exit(0)  # the guest is gone
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                found = array.array("i")
                found.frombytes(content)
                fds.extend(found)
        data += piece
        if head and len(data) == size:
            head = False
            size = HEADER.unpack(data)[0]
            data.clear()
    message: dict[str, Any] = unpack(bytes(data))
    return message, fds
