"""A machine that is only processes on the host, without isolation: for containers that are sandboxes already."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from contextlib import AbstractContextManager
from pathlib import Path

from deskgym.envs.displays.x11 import X11Display
from deskgym.envs.errors import DeskgymError, MachineError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.guest.killing import kill_all
from deskgym.envs.guest.process_table import has_mark, process_table
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.machines.guest_runtime import build_guest_runtime
from deskgym.envs.machines.kernels import close_kernels
from deskgym.envs.machines.libraries import build_libraries
from deskgym.envs.machines.live import registry as live
from deskgym.envs.machines.locales import build_locale
from deskgym.envs.machines.start_slots import start_slot
from deskgym.envs.options import checked


class ProcessMachine(Machine):
    """Programs run as your own user and see your files: use it only where that does no harm.

    Its home folder is private and is what snapshots keep; nothing else of the host's files is restored. Limits of
    memory, disk and processes are not enforced.
    """

    kind = "process"
    runs_host_programs = True
    can = Machine.can | {"companions", "kernels", "session"}

    @checked
    def __init__(self, config: MachineConfig | None = None) -> None:
        super().__init__(config)
        self._process: subprocess.Popen[bytes] | None = None
        self._client: GuestClient | None = None
        self._display: X11Display | None = None
        self._folder: Path | None = None
        self._marker = ""
        self._owner = os.getpid()

    @property
    def home(self) -> Path:
        """The home folder, on the host. MachineError before ``start``."""
        if self._folder is None:
            raise MachineError("the machine is not started", "not_started")
        return self._folder / "home"

    def start(self) -> None:
        """Start the guest and its desktop; see ``Machine.start``. Does nothing while it is alive."""
        if not self.alive:
            self.stop()
            self._start(None)

    def _start(self, home: Path | None) -> None:
        self._owner = os.getpid()
        self._marker = uuid.uuid4().hex
        folder = self._folder = Path(tempfile.mkdtemp(prefix="deskgym-"))
        if home is None:
            (folder / "home").mkdir()
        else:
            shutil.copytree(home, folder / "home", symlinks=True)
        try:
            self._start_guest(folder)
        except BaseException as error:
            log = (folder / "guest.log").read_text(errors="replace").strip()[-2000:]
            self.stop()
            if isinstance(error, DeskgymError):
                raise MachineError(f"{error}; the guest's last words: {log or 'none'}", "start_failed") from error
            raise

    def _start_guest(self, folder: Path) -> None:
        guest = build_guest_runtime(self.config.plugins) / "deskgym" / "envs" / "guest"
        ours, theirs = socket.socketpair()
        with theirs, (folder / "guest.log").open("wb") as log:
            self._client = GuestClient(ours)
            self._process = subprocess.Popen(
                [
                    sys.executable, str(guest), "--fd", str(theirs.fileno()), "--marker", self._marker,
                    "--home", str(folder / "home"), "--state-dir", str(folder / "state"),
                    "--runtime-dir", str(folder / "run"), "--tmp-dir", str(folder / "tmp"), "--remove", str(folder),
                    *self._session_options(),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )  # fmt: skip
        self._client.hello()
        if self.config.screen_size is not None:
            self._display = X11Display.start(self._client, self.config.screen_size, self.config.glx)
            live.publish(self, authority=str(folder / "run" / "Xauthority"))

    def _session_options(self) -> list[str]:
        libraries = tuple(self.config.libraries)
        options = ["--libraries", str(build_libraries(libraries))] if libraries else []
        if self.config.locale is not None:
            options += ["--locale", self.config.locale, "--locale-path", str(build_locale(self.config.locale))]
        return options + (["--clock", self.config.clock] if self.config.clock is not None else [])

    def stop(self) -> None:
        """End all its processes and remove its folder; see ``Machine.stop``.

        Snapshots stay until they are dropped or this process ends. In a fork of the process that started it, it lets go
        of the machine and leaves it alone.
        """
        live.withdraw(self)
        if os.getpid() != self._owner:
            self._process = self._client = self._display = self._folder = None
            return
        if self._display is not None:
            self._display.close()
        if self._client is not None:
            self._client.close()  # the guest ends all that it started, and then itself
        if self._process is not None:
            try:
                self._process.wait(5.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            mark = f"DESKGYM_MACHINE={self._marker}".encode()
            kill_all(lambda: {p.pid for p in process_table() if p.state != "Z" and has_mark(p.pid, mark)})
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._process = self._client = self._display = self._folder = None

    @property
    def alive(self) -> bool:
        """See ``Machine.alive``."""
        return (
            self._client is not None
            and self._client.lost is None
            and self._process is not None
            and self._process.poll() is None
        )

    def snapshot(self) -> Snapshot:
        """Copy the home folder; see ``Machine.snapshot``. Programs are not kept."""
        path = Path(tempfile.mkdtemp(prefix="deskgym-snapshot-"))
        atexit.register(_remove_own, path, os.getpid())  # what nobody dropped goes with this process
        shutil.copytree(self.home, path / "home", symlinks=True)
        return Snapshot(self.kind, str(path))

    def start_slot(self) -> AbstractContextManager[object]:
        """See ``Machine.start_slot``: two machines per core are made ready at once."""
        return start_slot()

    @property
    def untouched(self) -> bool:
        """See ``Machine.untouched``."""
        return self.alive and self._client is not None and not self._client.touched

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Start anew with the home folder of the snapshot, or an empty one; see ``Machine.restore``."""
        if snapshot is not None and (snapshot.machine != self.kind or not os.path.isdir(f"{snapshot.path}/home")):
            raise ValueError(f"{snapshot} is not a {self.kind} machine's snapshot, or it was dropped")
        if snapshot is None and self.untouched and close_kernels(self.guest):
            return
        self.stop()
        self._start(None if snapshot is None else Path(snapshot.path) / "home")

    def drop(self, snapshot: Snapshot) -> None:
        """See ``Machine.drop``."""
        if snapshot.machine == self.kind and Path(snapshot.path).name.startswith("deskgym-snapshot-"):
            shutil.rmtree(snapshot.path, ignore_errors=True)

    @property
    def guest(self) -> GuestClient:
        """See ``Machine.guest``."""
        if self._client is None:
            raise MachineError("the machine is not started", "not_started")
        return self._client

    @property
    def display(self) -> X11Display:
        """See ``Machine.display``."""
        if self._display is None:
            raise MachineError("the machine has no display, or is not started", "not_started")
        return self._display


def _remove_own(path: Path, owner: int) -> None:
    """Remove a snapshot, unless this is a fork of the process that took it."""
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
