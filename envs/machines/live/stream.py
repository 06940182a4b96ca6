"""Connects to a running machine's screen: a stream that speaks RFB, whatever kind of machine it is."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.live.registry import LiveMachine
from deskgym.envs.machines.sandbox.host import find_tool

TIMEOUT, PATIENCE = 10.0, 1.0  # seconds until a server must have greeted, and until it must have ended
VIEWER = 1001
"""Uid and gid of x11vnc in a sandbox: neither root nor the agent, so that neither it nor the agent can harm the other,
and that it does not count among the agent's processes."""
COOKIE = "/run/deskgym/server-cookie"
LOG_LIMIT = 1 << 20

_SERVER = (
    "x11vnc", "-inetd", "-q", "-norc", "-nopw", "-shared", "-safer", "-noremote", "-novncconnect", "-nolookup",
    "-nosel", "-noprimary", "-noclipboard", "-nosetprimary", "-nosetclipboard", "-nobell", "-noxrecord", "-noscr",
    "-nowireframe", "-nowirecopyrect", "-noadd_keysyms", "-repeat", "-noncache", "-noshm", "-nocursorshape",
    "-nocursorpos", "-nonap", "-sb", "0", "-wait", "50", "-defer", "30",
)  # fmt: skip
"""It does not touch selections, key map or key repeat, leaves one property on the root window (X11VNC_TICKER), and
shares no memory with the X server, which would need rights over it. The pointer is drawn where the machine has it. It
does not nap: without input of its own it would send a picture every few seconds."""


@contextmanager
def connect(machine: LiveMachine, control: bool = False) -> Iterator[socket.socket]:
    """A stream to a machine's screen that speaks RFB (RFC 6143), from the server's greeting on.

    A server that is started for it ends with the stream, and with this process, even if that is killed.

    Args:
        machine: one of ``running()``.
        control: the server takes keys and the pointer too. For ``"unix"`` and ``"address"`` this is up to whoever
            forwards what the viewer sends.

    Raises:
        MachineError: kind ``"not_installed"``, ``"gone"`` (the machine has ended) or ``"start_failed"``.
    """
    reach = machine.reach
    if "unix" in reach or "address" in reach:
        with _dial(machine) as stream:
            if not _greeted(stream):
                raise MachineError(
                    f"{machine.name} took the connection and said nothing: no VNC server is there", "gone"
                )
            yield stream
        return
    if not machine.alive:
        raise MachineError(f"{machine.name} has ended", kind="gone")
    try:
        if "init" in reach:
            cookie = Path(f"/proc/{reach['init']}/root{COOKIE}").read_bytes()
        else:
            cookie = Path(reach["authority"]).read_bytes()
    except OSError as error:
        raise MachineError(f"{machine.name} has no X cookie any more: {error}", kind="gone") from error
    with _serve(machine, cookie, control) as stream:
        yield stream


def _dial(machine: LiveMachine) -> socket.socket:
    reach = machine.reach
    try:
        if "unix" in reach:
            stream = socket.socket(socket.AF_UNIX)
            stream.settimeout(TIMEOUT)
            try:
                stream.connect(reach["unix"])
            except BaseException:
                stream.close()
                raise
        else:
            host, _, port = str(reach["address"]).rpartition(":")
            stream = socket.create_connection((host.strip("[]"), int(port)), TIMEOUT)
    except (OSError, ValueError) as error:
        where = reach.get("unix") or reach.get("address")
        raise MachineError(f"{machine.name} cannot be reached at {where}: {error}", kind="gone") from error
    stream.settimeout(None)
    return stream


@contextmanager
def _serve(machine: LiveMachine, cookie: bytes, control: bool) -> Iterator[socket.socket]:
    """Start x11vnc on one end of a pair of sockets; it ends when the other one is closed."""
    if find_tool("x11vnc") is None:
        raise MachineError(
            "to show a machine's screen x11vnc is needed: `sudo apt-get install --no-install-recommends x11vnc`",
            kind="not_installed",
        )
    ours, theirs = socket.socketpair()
    authority = os.memfd_create("cookie")
    try:
        with tempfile.TemporaryFile() as log, ours:
            with theirs:
                os.write(authority, cookie)
                process = subprocess.Popen(
                    [*_entering(machine), *_SERVER, *(() if control else ("-viewonly",))],
                    stdin=theirs.fileno(),
                    stdout=log,
                    stderr=log,
                    pass_fds=[authority],
                    env={
                        "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
                        "DISPLAY": f":{_number(cookie)}",
                        "XAUTHORITY": f"/proc/self/fd/{authority}",
                        "HOME": "/nonexistent",
                        "LC_ALL": "C.UTF-8",
                    },
                    cwd="/",
                    start_new_session=True,  # Ctrl-C must not kill nsenter: see _end
                )
            try:
                if not _greeted(ours):
                    log.seek(0)
                    said = log.read().decode(errors="replace").strip()[-300:]
                    raise MachineError(f"x11vnc did not start in {machine.name}: {said or 'it ended'}", "start_failed")
                yield ours
            finally:
                ours.close()
                _end(process)
    finally:
        os.close(authority)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait until the server has noticed that its viewer is gone; kill it if it does not.

    Never its parent first: in a sandbox this is nsenter, and nobody else would reap a child of it. The kernel does not
    let a PID namespace end before all in it are reaped, so that the machine could not be stopped.
    """
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        with suppress(OSError):
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for pid in children or [str(process.pid)]:
                os.kill(int(pid), signal.SIGKILL)
        process.wait()


def _entering(machine: LiveMachine) -> list[str]:
    """What starts a program beside the machine's X server: without any right, and gone when what started it is."""
    enter = []
    drop = ["setpriv", "--no-new-privs", "--inh-caps=-all"]
    if "init" in machine.reach:
        names = ("--user", "--mount", "--net", "--ipc", "--pid", f"--target={machine.reach['init']}")
        enter = [str(find_tool("nsenter")), *names, "--"]
        drop += [f"--reuid={VIEWER}", f"--regid={VIEWER}", "--clear-groups", "--bounding-set=-all"]
    limits = ["nice", "prlimit", "--core=0", f"--fsize={LOG_LIMIT}"]
    return [*enter, *limits, *drop, "--pdeathsig=KILL"]


def _number(authority: bytes) -> str:
    """The display number that an Xauthority file's first entry is for."""
    try:
        (length,) = struct.unpack_from(">H", authority, 2)
        (digits,) = struct.unpack_from(">H", authority, 4 + length)
        return str(int(authority[6 + length : 6 + length + digits]))
    except (struct.error, ValueError) as error:
        raise MachineError(f"the machine's Xauthority file makes no sense: {error}", kind="start_failed") from error


def _greeted(stream: socket.socket) -> bool:
    """Whether the server has said something before it ended."""
    stream.settimeout(TIMEOUT)
    try:
        return bool(stream.recv(1, socket.MSG_PEEK))
    except OSError:
        return False
    finally:
        stream.settimeout(None)
