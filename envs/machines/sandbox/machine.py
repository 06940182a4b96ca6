"""The sandbox: a throwaway copy-on-write desktop of the host's own userland, in one OCI container."""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.envs.errors import GuestCallError, GuestLost, MachineError
from deskgym.envs.machines.base import Machine, MachineConfig, Snapshot
from deskgym.envs.machines.guest_runtime import build_guest_runtime, find_interpreter
from deskgym.envs.machines.kernels import close_kernels
from deskgym.envs.machines.libraries import build_libraries
from deskgym.envs.machines.live import registry as live
from deskgym.envs.machines.locales import build_locale
from deskgym.envs.machines.sandbox import snapshots
from deskgym.envs.machines.sandbox.host import GVISOR
from deskgym.envs.machines.sandbox.host_setup import enforced_limits, find_setup
from deskgym.envs.machines.sandbox.log import LOG_SIZE, sealed_log
from deskgym.envs.machines.sandbox.masks import hidden_paths
from deskgym.envs.machines.sandbox.prepared import hold, release
from deskgym.envs.machines.sandbox.shared_folders import mount_folder
from deskgym.envs.machines.sandbox.spec import Parts, build_spec
from deskgym.envs.machines.sandbox.supervision import Started, SupervisorClient, has_ended, supervisor
from deskgym.envs.machines.start_slots import start_slot
from deskgym.envs.options import checked

if TYPE_CHECKING:
    from deskgym.envs.displays.base import Display
    from deskgym.envs.guest.client import GuestClient

START_TIMEOUT = 20.0  # seconds
STOP_TIMEOUT = 20.0
CLEARING = 15.0
REUSES = 100
"""Episodes that one desktop is kept for at most: whatever nobody thought of ends then."""


class SandboxMachine(Machine):
    r"""A desktop made of the host's own programs, in its own namespaces.

    It sees the host's /usr, /etc and /opt through overlays, so that what it writes is its own and is gone when it
    stops, and what programs need of /var; the host's homes and work folders are not there. It has no network but its
    own loopback. What it keeps from the agent, and what it does not, is in ``docs/sandbox.md``.

    Args:
        config: what it may have.
        runtime: the OCI runtime: ``"runc"`` or ``"crun"``. With ``"runsc"``, gVisor's, ``create_machine`` builds a
            ``GvisorMachine``.
        hide: more folders and files of the host, below /usr, /etc or /opt, that it must not see.
        reuse: where the agent's code has not run, a fresh start clears the desktop of what did, compares it with how it
            began, and keeps it, up to ``REUSES`` times; for tasks whose programs let nobody run code. See
            ``docs/sandbox.md``.

    Attributes:
        reused: how many fresh starts kept the desktop.
        not_reused: why the last one did not, or "".

    Example:
        >>> with SandboxMachine(MachineConfig(screen_size=None)) as machine:  # doctest: +SKIP
        ...     machine.run(["id", "-un"]).stdout
        b'user\n'
    """

    kind = "sandbox"
    runs_host_programs = True
    isolates = True
    can = Machine.can | {"companions", "kernels", "layers", "session", "shared_folders"}

    @classmethod
    def variant(cls, options: Mapping[str, Any]) -> type[Machine]:
        """Machines of gVisor are of a class of their own."""
        if cls is SandboxMachine and options.get("runtime") == GVISOR:
            from deskgym.envs.machines.sandbox.gvisor import GvisorMachine

            return GvisorMachine
        return cls

    @checked
    def __init__(
        self,
        config: MachineConfig | None = None,
        *,
        runtime: str = "runc",
        hide: Sequence[str | Path] = (),
        reuse: bool = False,
    ) -> None:
        super().__init__(config)
        self.reuse, self.reused, self.not_reused = reuse, 0, ""
        self._uses = 0  # of the desktop that there is
        self.enforces = enforced_limits()
        self.runtime = runtime
        if runtime == GVISOR and type(self) is SandboxMachine:
            raise ValueError("runtime='runsc' needs create_machine('sandbox', runtime='runsc'), or GvisorMachine")
        self._hide = tuple(hide)
        for path in hide:
            if not os.path.isabs(path):
                raise ValueError(f"hide={str(path)!r}; legal are absolute paths, such as '/opt/secret'")
        self._name = ""
        self._supervisor: SupervisorClient | None = None
        self._started: Started | None = None
        self._owner = 0
        self._log = -1
        self._layers: Path | None = None
        self._below: Path | None = None
        self._prepared: tuple[str, ...] = ()
        self._held: list[int] = []
        self._shared: set[str] = set()
        self._guest: GuestClient | None = None
        self._display: Display | None = None

    def start(self) -> None:
        """Boot it; see ``Machine.start``. Does nothing while it is alive.

        Raises:
            MachineError: kind ``"not_installed"``, ``"not_allowed"`` or ``"start_failed"``, with what to do about it.
        """
        if self.alive:
            return
        self.restore(None)

    def _boot(self, below: Path | None, layers: Sequence[str]) -> None:
        # Imported here, so that a list of machines can be had without them.
        from deskgym.envs.guest.client import GuestClient

        host = find_setup(self.runtime)
        runtime = build_guest_runtime(self.config.plugins)  # first: without room for it nothing else is begun
        self._owner = os.getpid()
        self._shared.clear()
        if below is not None:
            snapshots.hold(below)
            self._below = below
        self._prepared, self._held = tuple(layers), hold(layers)
        self._supervisor = supervisor(host.runtime, host.options, host.ids)
        self._name = f"{self._supervisor.folder.name}-{secrets.token_hex(3)}"
        if not host.tmpfs_layers:
            self._layers = snapshots.make_layers(self._supervisor.scratch, host.ids)
        names = tuple(self.config.libraries)
        libraries = build_libraries(names) if names and not names[0].startswith("/") else None
        parts = Parts(
            name=self._name,
            config=self.config,
            ids=host.ids,
            rootfs=host.rootfs,
            guest=runtime,
            libraries=libraries,
            locale=build_locale(self.config.locale) if self.config.locale is not None else None,
            interpreter=find_interpreter(),
            limits=host.limits,
            below=below,
            hidden=hidden_paths(self._hide),
            layers=self._layers,
            prepared=self._prepared,
        )
        bundle = self._supervisor.folder / self._name
        bundle.mkdir(mode=0o700)
        (bundle / "config.json").write_text(json.dumps(self._specify(parts)))
        self._log = sealed_log()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._started = self._supervisor.start(
                    self._name,
                    theirs,
                    self._log,
                    START_TIMEOUT,
                    watched_mb=0 if host.limits.cgroups else self.config.memory_mb,
                )
            except BaseException:
                ours.close()
                raise
        self._guest = GuestClient(ours, self.slowness, self.rests)
        try:
            self._guest.hello(START_TIMEOUT * self.slowness)
        except GuestLost as error:
            raise MachineError(
                f"the sandbox's guest did not answer: {error}; it said: {self.log() or 'nothing'}", kind="start_failed"
            ) from error
        if self.config.screen_size is not None:
            self._display = self._open_display(self._guest, self.config.screen_size)

    def _specify(self, parts: Parts) -> dict[str, Any]:
        """The OCI configuration of the container."""
        return build_spec(parts)

    def _open_display(self, guest: GuestClient, size: tuple[int, int]) -> Display:
        """Start the guest's desktop."""
        from deskgym.envs.displays.x11 import X11Display

        display = X11Display.start(guest, size, self.config.glx)
        live.publish(self, init=self.init_pid)
        self._uses = 0
        if self.reuse:
            guest.call("stand", CLEARING)
        return display

    def stop(self) -> None:
        """End it; see ``Machine.stop``."""
        live.withdraw(self)
        display, self._display = self._display, None
        guest, self._guest = self._guest, None
        started, self._started = self._started, None
        machine_supervisor, self._supervisor = self._supervisor, None
        layers, self._layers = self._layers, None
        below, self._below = self._below, None
        log, self._log = self._log, -1
        for part in (display, guest):
            close = getattr(part, "close", None)
            if close is not None and os.getpid() == self._owner:
                close()
        if machine_supervisor is not None and os.getpid() == self._owner:
            machine_supervisor.end(self._name, started, STOP_TIMEOUT)
            if layers is not None:
                with suppress(OSError, RuntimeError, subprocess.SubprocessError):  # else the supervisor does it
                    snapshots.remove_folder(layers, find_setup(self.runtime).ids)
        if below is not None and os.getpid() == self._owner:
            snapshots.release(below, find_setup(self.runtime).ids)
        if os.getpid() == self._owner:
            release(self._held)
        for fd in (log, started.pidfd if started else -1):
            if fd >= 0:
                os.close(fd)

    @property
    def alive(self) -> bool:
        """Whether it is started and its guest's process lives."""
        if self._started is None or self._supervisor is None or os.getpid() != self._owner:
            return False
        if self._guest is None or self._guest.lost:
            return False
        return not has_ended(self._started.pidfd) and self._supervisor.alive

    @property
    def host_lost(self) -> bool:
        """Whether its supervisor has gone; see ``Machine.host_lost``."""
        return self._supervisor is not None and not self._supervisor.alive

    @property
    def init_pid(self) -> int:
        """The host's process id of the machine's PID 1, the guest.

        Raises:
            MachineError: it is not started.
        """
        if self._started is None:
            raise self._broken()
        return self._started.pid

    def snapshot(self) -> Snapshot:
        """Freeze the files; see ``Machine.snapshot``. Programs are not kept, and are not stopped meanwhile.

        It has /usr, /etc, /var, /opt, /home and /tmp, and lasts until it is dropped or this process ends.
        """
        if not self.alive or self._started is None or self._supervisor is None:
            raise self._broken()
        ids = find_setup(self.runtime).ids
        return snapshots.take(self._started.pid, self._supervisor.scratch, ids, self._below, self._prepared)

    def start_slot(self) -> AbstractContextManager[object]:
        """See ``Machine.start_slot``: two machines per core are made ready at once."""
        return start_slot()

    @property
    def untouched(self) -> bool:
        """See ``Machine.untouched``."""
        return self.alive and self._below is None and self._guest is not None and not self._guest.touched

    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Return to the snapshot, or to a fresh start; see ``Machine.restore``."""
        if snapshot is None and self.untouched and close_kernels(self.guest):
            return
        if snapshot is None and self.reuse and self.alive and self._clear():
            return
        below = None if snapshot is None else snapshots.folder_of(snapshot)
        layers = self.config.layers if snapshot is None else snapshot.layers
        self.stop()
        self._boot_or_stop(below, layers)

    def _boot_or_stop(self, below: Path | None, layers: Sequence[str]) -> None:
        """Start it; where that fails, nothing is left. Raises MachineError."""
        try:
            self._boot(below, layers)
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            self.stop()
            raise MachineError(f"the sandbox did not start: {error}", kind="start_failed") from error
        except BaseException:
            self.stop()
            raise

    @property
    def reusable(self) -> bool:
        """See ``Machine.reusable``."""
        return self.reuse and self.alive and not self._stands_in_the_way()

    def _stands_in_the_way(self) -> str:
        """Why the desktop cannot be kept for another episode, as far as that is known without a look at it."""
        if self.config.screen_size is None:
            return "there is no desktop"
        if self._guest is None or self._guest.ran_code:
            return "the agent's code has run"
        if self._below is not None or self._shared or self.companions or self.config.clock is not None:
            return "it has files, folders, services or a time of its own"
        return f"it was reused {REUSES} times" if self._uses >= REUSES else ""

    def _clear(self) -> bool:
        """Clear the desktop of an episode; whether it is as it was when it began."""
        why = self._stands_in_the_way()
        if not why:
            try:
                why = str(self.guest.call("clear", CLEARING).get("why", "it does not say"))
            except (GuestCallError, GuestLost) as error:
                why = str(error)
        self.not_reused = why
        if why:
            return False
        self._uses += 1
        self.reused += 1
        self.baselines = {}
        return True

    def drop(self, snapshot: Snapshot) -> None:
        """Delete a snapshot; see ``Machine.drop``. Machines of this process that run on it may go on."""
        try:
            folder = snapshots.folder_of(snapshot)
        except ValueError:
            return
        snapshots.drop(folder, find_setup(self.runtime).ids)

    def make_shared_folder(self, path: str, size_mb: int) -> int:
        """See ``Machine.make_shared_folder``."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            state = "again" if path in self._shared else "new"
            self._mount(theirs.fileno(), "make", path, str(size_mb), state)
            self._shared.add(path)
            return socket.recv_fds(ours, 1, 1, socket.MSG_CMSG_CLOEXEC)[1][0]

    def attach_shared_folder(self, folder: int, path: str) -> None:
        """See ``Machine.attach_shared_folder``."""
        self._mount(folder, "attach", path)

    def _mount(self, fd: int, operation: str, path: str, *arguments: str) -> None:
        if not self.alive or self._started is None:
            raise self._broken()
        mount_folder(self._started.pidfd, fd, operation, path, *arguments)

    @property
    def guest(self) -> GuestClient:
        """The connection to the guest."""
        if self._guest is None or not self.alive:
            raise self._broken()
        return self._guest

    @property
    def display(self) -> Display:
        """The display."""
        if self._display is None or not self.alive:
            if self.alive and self.config.screen_size is None:
                raise MachineError("this sandbox has no screen: its config's screen_size is None", kind="no_display")
            raise self._broken()
        return self._display

    def __del__(self) -> None:
        if getattr(self, "_started", None) is not None and os.getpid() == self._owner:
            warnings.warn(f"a sandbox was never stopped: {self._name}", ResourceWarning, stacklevel=2)
            with suppress(Exception):  # the interpreter may be half gone; then the supervisor ends it anyway
                self.stop()

    def log(self) -> str:
        """What the runtime and the guest wrote to stderr since the start, at most 64 KiB."""
        if self._log < 0:
            return ""
        return os.pread(self._log, LOG_SIZE, 0).rstrip(b"\0").decode(errors="replace").strip()

    def _broken(self) -> MachineError:
        if self._started is None:
            return MachineError("the sandbox is not started: call start() first", kind="not_started")
        if os.getpid() != self._owner:
            return MachineError("the sandbox belongs to the process that started it", kind="foreign_process")
        lost = self._guest.lost if self._guest is not None else None
        why = f" ({lost})" if lost else ""
        why += f"; it said: {log[-500:]}" if (log := self.log()) else ""
        return GuestLost(f"the sandbox has died{why}")
