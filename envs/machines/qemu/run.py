"""One run of QEMU: its process, from its start to its end, and what its monitor is asked for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deskgym.envs.errors import MachineError
from deskgym.envs.machines.qemu.control import Control

_KEEPER = Path(__file__).with_name("keeper.py")
_START_TIMEOUT = 20.0  # seconds
_STOP_TIMEOUT = 10.0
_LOG = 1 << 16
_FATAL = {
    "GUEST_PANICKED": "its kernel panicked",
    "SHUTDOWN": "it was shut down",
    "RESET": "it was restarted",
    "BLOCK_IO_ERROR": "its disk could not be written: is the host's full?",
    "MEMORY_FAILURE": "its memory failed",
}
"""Events after which a machine is of no use."""


class Run:
    """A QEMU that runs; it ends when this process does.

    Args:
        command: its command line.
        folder: its own, removed when it ends.
        view: the socket that it listens on for viewers, removed when it ends.
        fds: descriptors that it needs.

    Raises:
        MachineError: it did not start.
    """

    control: Control

    def __init__(self, command: Sequence[str], folder: Path, view: Path, fds: Sequence[int]) -> None:
        self._logs = [(folder / name).open("w+b", buffering=0) for name in ("qemu.log", "console")]
        ours, theirs = socket.socketpair()
        self._lifeline = ours
        try:
            with theirs:
                log = self._logs[0]
                arguments = [str(_KEEPER), str(theirs.fileno()), str(folder), str(view), *command]
                self._keeper = subprocess.Popen(
                    [sys.executable, "-I", "-S", *arguments],
                    pass_fds=[theirs.fileno(), *fds],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self.pid = self._read_pid()
        except BaseException:
            self.stop()
            raise

    def _read_pid(self) -> int:
        self._lifeline.settimeout(_START_TIMEOUT)
        try:
            text = self._lifeline.recv(32)
            return int(text)
        except (OSError, ValueError) as error:
            raise MachineError(f"QEMU did not start: {self.log() or error}", "start_failed") from error

    def connect(self, monitor: socket.socket, lose: Callable[[str], None]) -> None:
        """Take up the control connection.

        Args:
            monitor: a connected socket; the run owns it from now on.
            lose: called with the reason, in another thread, when an event says that the machine is of no use any more.

        Raises:
            MachineError: QEMU ended, or does not greet.
        """

        def on_event(name: str, data: Mapping[str, Any]) -> None:
            if name in _FATAL:
                lose(_FATAL[name])
            elif name == "VSERPORT_CHANGE" and data.get("id") == "guest-port" and not data.get("open"):
                lose("the guest's process in it has ended")

        try:
            self.control = Control(monitor, on_event, _START_TIMEOUT)
        except MachineError as error:
            self._keeper_ended(1.0)
            raise MachineError(f"QEMU did not start: {self.log() or error}", "start_failed") from error

    @property
    def alive(self) -> bool:
        """Whether QEMU runs."""
        return self._keeper.poll() is None

    def resume(self, timeout: float) -> None:
        """Wait until a snapshot's device state is read, and let the machine go on.

        Raises:
            MachineError: QEMU could not read it.
        """
        deadline = time.monotonic() + timeout
        while (status := self.control.execute("query-status")["status"]) == "inmigrate":
            if time.monotonic() > deadline:
                raise MachineError(f"QEMU has not read the snapshot within {timeout:g} s", "restore_failed")
            time.sleep(0.002)
        if status not in ("paused", "prelaunch"):
            raise MachineError(f"QEMU is {status!r} after reading the snapshot", "restore_failed")
        self.control.execute("cont")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """While it stands still, nothing in it changes."""
        self.control.execute("stop")
        try:
            yield
        finally:
            self.control.execute("cont")

    def save_devices(self, path: Path) -> None:
        """Write what its devices have for a state, and not the memory; it stands still."""
        self.control.execute("xen-save-devices-state", 60.0, filename=str(path), live=True)

    def log(self) -> str:
        """What QEMU and the machine's console said, the last 64 KiB of each."""
        texts = []
        for file in self._logs:
            if not file.closed:
                size = os.fstat(file.fileno()).st_size
                texts.append(os.pread(file.fileno(), _LOG, max(0, size - _LOG)).decode(errors="replace").strip())
        return "\n".join(text for text in texts if text)

    def stop(self) -> None:
        """End it. Idempotent."""
        control = getattr(self, "control", None)
        if control is not None:
            control.close()
        self._lifeline.close()
        if getattr(self, "_keeper", None) is not None and not self._keeper_ended(_STOP_TIMEOUT):
            self._keeper.kill()  # QEMU dies with it
            self._keeper.wait()
        for file in self._logs:
            file.close()

    def _keeper_ended(self, timeout: float) -> bool:
        try:
            self._keeper.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True
