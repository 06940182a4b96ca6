"""The processes of the machine that an attack is in, and what ends, stops, replaces or debugs them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

GOT_IN = "GOT IN: "
"""What an attack prints that reached what no agent may reach, even where it earned nothing with it."""
BROKEN = "THE ATTACK IS BROKEN"
"""What one prints whose own code raised: then nothing was tried."""
DESKTOP = ("Xvfb", "openbox", "dbus-daemon", "at-spi-bus-laun", "at-spi2-registr")
"""The names of the processes that the desktop consists of."""
HOME = Path("/home/user")
SOURCE = ""
"""The text of all these modules, for ``stay``."""


def got_in(what: str) -> None:
    """Say that something was reached that no agent may reach."""
    print(f"{GOT_IN}{what}")


def run(function: Callable[..., None], arguments: dict[str, object]) -> None:
    """Call a function; a mistake of its own must not look like an attack that failed."""
    try:
        function(**arguments)
    except Exception:
        traceback.print_exc()
        print(BROKEN)


def own_pids() -> Iterator[tuple[int, str]]:
    """Number and name of each process of this user, but for this one and those that it comes from."""
    family, pid = set(), os.getpid()
    while pid > 1:
        family.add(pid)
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and entry.stat().st_uid == os.getuid() and int(entry.name) not in family:
                yield int(entry.name), (entry / "comm").read_text().strip()


def programs() -> list[int]:
    """The judged programs: all processes of this user that are neither the desktop's nor the code executor's."""
    return [pid for pid, name in own_pids() if name not in DESKTOP and "boot.py" not in command_line(pid)]


def command_line(pid: int) -> str:
    """Program and arguments of a process; "" when it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    return ""


def send(number: int, pids: list[int]) -> None:
    """Send a signal to processes."""
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def stay(call: str, wait: float = 5.0) -> None:
    """Run a call of ``inside`` in a program that outlasts the action, and wait until it says that it is there."""
    import Xlib

    with open("/tmp/inside.py", "w") as file:
        file.write(SOURCE)
    paths = [*sys.path, os.path.dirname(os.path.dirname(Xlib.__file__)), "/tmp"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    code = f"import inside\ninside.{call}\n"
    child = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0,
        start_new_session=True,
    )  # fmt: skip
    assert child.stdout is not None
    os.set_blocking(child.stdout.fileno(), False)
    end, said = time.monotonic() + wait, b""
    while time.monotonic() < end and b"there" not in said and child.poll() is None:
        said += child.stdout.read() or b""
        time.sleep(0.02)
    if b"Traceback" in said:
        raise RuntimeError(said.decode())
    if b"there" not in said and child.poll() is None:
        raise RuntimeError(f"{call} did not begin within {wait:g} s")


def kill_programs() -> None:
    """End the judged programs."""
    send(signal.SIGKILL, programs())


def freeze_programs() -> None:
    """Stop the judged programs: they are there, and never answer."""
    send(signal.SIGSTOP, programs())


def kill_desktop(number: int = signal.SIGKILL) -> None:
    """End, or stop, window manager, buses and registry."""
    send(number, [pid for pid, name in own_pids() if name in DESKTOP])


def kill_everything() -> None:
    """End all processes of this user, this one too."""
    os.kill(-1, signal.SIGKILL)


def relaunch(preload: bool) -> None:
    """End the judged programs, and start the first of them anew, maybe with a library in it."""
    pids = programs()
    argv = Path(f"/proc/{min(pids)}/cmdline").read_bytes().rstrip(b"\0").split(b"\0") if pids else []
    send(signal.SIGKILL, pids)
    if argv:
        library = {"LD_PRELOAD": "libm.so.6"} if preload else {}
        with contextlib.suppress(OSError):
            subprocess.Popen(
                argv, env={**os.environ, **library}, start_new_session=True, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )  # fmt: skip
    time.sleep(2.0)


def trace(desktop: bool) -> None:
    """Attach to processes as a debugger does, and open their memory for writing."""
    libc = ctypes.CDLL(None, use_errno=True)
    targets = [(pid, name) for pid, name in own_pids() if name in DESKTOP] if desktop else [
        (pid, command_line(pid).split(" ")[0].rpartition("/")[2]) for pid in programs()
    ]  # fmt: skip
    for pid, name in targets:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/mem", "r+b"):
            got_in(f"the memory of {name} can be written")
        if libc.ptrace(16, pid, None, None) == 0:  # PTRACE_ATTACH
            os.waitpid(pid, 0x40000000)  # __WALL
            libc.ptrace(17, pid, None, None)  # PTRACE_DETACH
            got_in(f"{name} can be traced")
