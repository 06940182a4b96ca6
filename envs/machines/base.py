"""What a Machine is: a computer that can be started, snapshotted, restored and stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from deskgym.envs.errors import MachineError
from deskgym.envs.options import DiskMb, MemoryMb, Processes, check_session

if TYPE_CHECKING:
    from deskgym.envs.displays.base import Display
    from deskgym.envs.guest.client import GuestClient
    from deskgym.envs.provision.companions import Companion


@dataclass(frozen=True)
class MachineConfig:
    """What a machine may have.

    Attributes:
        screen_size: width and height of its display in pixels, or None for a machine without one.
        memory_mb: memory of all its processes and written files together, in MiB. It is a limit and reserves nothing,
            so it may be above what the host has; so may ``disk_mb``.
        disk_mb: what it may write in all, in MiB.
        processes: how many processes and threads may live in it at once.
        libraries: distributions of the host's Python, such as ``"pandas"``, that code in its kernels can import, with
            all that they need; or, where it takes layers, one folder of libraries inside, such as a tool environment's.
        glx: the X server offers GLX, which takes it 50 MiB and 60 ms more. Programs that draw with OpenGL do so with
            EGL (Qt does here), and need it only where they know nothing but GLX.
        layers: prepared layers, as host folders, that lie read-only under what the machine writes, later ones over
            earlier ones; see ``deskgym.envs.provision.layers``.
        plugins: import paths of the packages that are added to its guest, such as ``"my_suite.guest"``. They are loaded
            before its kernels open; ``Kernel.call`` calls their functions.
        locale: of its session, such as ``"en_US.UTF-8"``; None is what the host has of English in UTF-8, or C.
        clock: when its programs believe that it was started, such as ``"2024-05-01T09:00"`` (UTC), or None for the
            truth.
    """

    screen_size: tuple[int, int] | None = (1920, 1080)
    memory_mb: MemoryMb = 4096
    disk_mb: DiskMb = 1024
    processes: Processes = 512
    glx: bool = False
    libraries: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()
    locale: str | None = None
    clock: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for what is no locale or no time."""
        check_session(self.locale, self.clock)


LIMITS = ("memory_mb", "disk_mb", "processes", "glx", "libraries", "layers", "locale", "clock")
"""What ``machine_options`` of an environment sets in the config; the rest are arguments of the machine's class."""


UNSAVABLE = "unsavable"
"""The kind of a MachineError where a machine cannot save what runs in it, however much room there is."""


@dataclass(frozen=True)
class CommandResult:
    """How a command inside a machine ended. A command that fails is a result, never an exception.

    Attributes:
        returncode: exit status; minus the signal's number if a signal ended it.
        stdout: what it wrote, cut at the output limit.
        stderr: the same for standard error.
        timed_out: it ran past its timeout, and its process group was killed.
        truncated: it wrote more than the limit; the rest was dropped.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False


@dataclass(frozen=True)
class Snapshot:
    """A frozen state of a machine's files that machines of the same kind can be restored to.

    Attributes:
        machine: the kind of machine that made it, such as ``"sandbox"``.
        path: where it is kept on the host; it is deleted by ``Machine.drop``.
        layers: the prepared layers that lie under it, wherever it is restored.
    """

    machine: str
    path: str
    layers: tuple[str, ...] = ()


def no_layers(kind: str, layers: Sequence[str]) -> MachineError:
    """What is raised where such a machine is asked for these prepared layers and takes none."""
    return MachineError(
        f"machine={kind!r} takes no prepared layers, and {', '.join(layers)} is asked for: use machine='sandbox'",
        kind="not_supported",
    )


class Machine(ABC):
    """A computer that can be started, snapshotted, restored and stopped.

    One owner drives it from one thread. ``start`` may be called again after ``stop``. Any method but ``stop`` raises
    ``MachineError`` when the machine is broken; what a *command* does wrong is in its ``CommandResult``.

    Write another one by implementing the abstract methods, and run
    ``deskgym.envs.machines.conformance`` over it.
    """

    kind: str  # the name that users choose it by, as in ``gym.make(..., machine="sandbox")``
    isolates: bool = (
        False  # whether what runs in it sees neither the host's files, processes and network nor another machine's
    )
    enforces: frozenset[str] = frozenset()
    """The limits of its config that it enforces, ``"memory"``, ``"disk"`` and ``"processes"``; and
    ``"program_isolation"`` where the agent's code can trace no program that a hook has launched."""

    runs_host_programs: bool = False
    """Whether programs in it are those that are installed on its host."""

    can: frozenset[str] = frozenset({"commands", "snapshots", "fresh"})
    """What it can do: ``"commands"``: it has a guest that runs commands and moves files; ``"snapshots"``: it can be
    restored to one; ``"fresh"``: ``start`` and ``restore(None)`` give all its files as new; ``"programs"``: its
    snapshots keep running programs: a restore to one goes on where the snapshot was taken; ``"kernels"``: kernels
    run in it, with the config's libraries; ``"layers"``: it takes prepared layers; ``"companions"``: services can run
    beside it; ``"shared_folders"``: it can have folders in common with them; ``"session"``: its session has the
    config's locale and clock."""

    companions: Mapping[str, Companion] = MappingProxyType({})
    """The services that run beside it, by name, while a task that needs them runs on it."""

    baselines: Mapping[str, Any] = MappingProxyType({})
    """What the checks of the task that runs on it read when its setup was done, by key; kept on the host."""

    slowness: float = 1.0
    """How many times slower programs run in it than on its host. Deadlines of what they do, and the times of settling,
    are given for a machine as fast as its host, and multiplied by this; those of code actions are the user's own."""

    rests: bool = False
    """Whether a step waits until programs have come to rest (``SettlePolicy.rest``), whatever its policy says: they
    react so late that a screen which does not change says little."""

    def __init__(self, config: MachineConfig | None = None) -> None:
        self.config = config or MachineConfig()
        if self.config.layers and "layers" not in self.can:
            raise no_layers(self.kind, self.config.layers)

    @classmethod
    def variant(cls, options: Mapping[str, Any]) -> type[Machine]:
        """The class that machines with these further arguments are of: it, as a rule."""
        return cls

    @abstractmethod
    def start(self) -> None:
        """Boot it afresh, with a desktop if the config has a screen; returns when guest and display answer.

        Does nothing while it is alive; starts a broken one anew.
        """

    @abstractmethod
    def stop(self) -> None:
        """End it and remove all that it left on the host. Idempotent; never raises because it is broken."""

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it is started and its guest's process lives; costs no round trip."""

    @property
    def host_lost(self) -> bool:
        """Whether what runs it on the host has gone: that it broke is then no doing of the agent's."""
        return False

    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Freeze the files as they are now. Running programs are kept only by machines that say so."""

    @abstractmethod
    def restore(self, snapshot: Snapshot | None = None) -> None:
        """Return to the snapshot, or to a fresh start for None; the machine is started afterwards.

        Raises:
            ValueError: the snapshot is of another kind of machine or was dropped.
        """

    @abstractmethod
    def drop(self, snapshot: Snapshot) -> None:
        """Delete a snapshot from the host. Idempotent."""

    @property
    def untouched(self) -> bool:
        """Whether ``restore(None)`` of it costs next to nothing, because nothing but kernels has been used in it."""
        return False

    @property
    def reusable(self) -> bool:
        """Whether ``restore(None)`` of it may keep its desktop, so that it is worth keeping."""
        return False

    @property
    @abstractmethod
    def guest(self) -> GuestClient:
        """The connection to the guest; MachineError before ``start``."""

    @property
    @abstractmethod
    def display(self) -> Display:
        """The display; MachineError before ``start`` or where the config has no screen."""

    def start_slot(self) -> AbstractContextManager[object]:
        """Held while the machine is made ready for an episode: waits where too many others of this host are.

        Nothing is waited for by default; see ``deskgym.envs.machines.start_slots``.
        """
        return nullcontext()

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = 30.0,
        output_limit: int = 1 << 20,
        stdin: bytes = b"",
        user: str = "agent",
    ) -> CommandResult:
        """Run a command to its end inside the machine.

        Args:
            argv: program and arguments; no shell is involved.
            env: variables added to the desktop session's own.
            cwd: working folder; the user's home if None.
            timeout: seconds until its whole process group is killed.
            output_limit: bytes kept of stdout and of stderr, each.
            stdin: what it reads.
            user: ``"agent"`` (uid 1000 where the machine has users), ``"guest"`` (its own, privileged inside), or a
                user of the machine's /etc/passwd.

        Raises:
            GuestCallError: there is no such program or folder.
        """
        return self.guest.run(
            argv, env=env, cwd=cwd, timeout=timeout, output_limit=output_limit, stdin=stdin, user=user
        )

    def put(self, path: str, source: bytes | str | Path, *, mode: int | None = None, owner: str = "agent") -> None:
        """Write a file (bytes), or copy a host file or folder (str or Path), to an absolute path inside.

        Missing parent folders are made, and belong to the same owner.

        Args:
            path: where.
            source: what.
            mode: of a file; the host file's own, or 0o644, if None.
            owner: ``"agent"``, ``"guest"`` (the agent can read it, if the mode lets it, but not change it) or a user of
                the machine's system, such as ``"postgres"``. In the agent's own folders all belongs to the agent.

        Raises:
            GuestCallError: there is no such owner, or it cannot own what is there.
        """
        self.guest.put(path, source, mode=mode, owner=owner)

    def get(self, path: str, *, limit: int = 64 << 20) -> bytes:
        """Read one file.

        Raises:
            GuestCallError: it is missing, not a regular file, or larger than ``limit`` bytes.
        """
        return self.guest.get(path, limit=limit)

    def get_folder(self, path: str, destination: Path, *, limit: int = 256 << 20) -> None:
        """Copy a folder to the host: regular files and folders only, no links, never outside ``destination``."""
        self.guest.get_folder(path, destination, limit=limit)

    def make_shared_folder(self, path: str, size_mb: int) -> int:
        """Mount an empty folder, which another machine can have too, at a path of this one, a folder.

        What was mounted there by this method before is gone here, and must not be in use any more.

        Args:
            path: absolute, without symbolic links.
            size_mb: most MiB of what is written to it, in all machines that have it.

        Returns:
            A descriptor for ``attach_shared_folder`` of the other machine; the caller closes it.

        Raises:
            MachineError: it cannot be done; says why.
        """
        raise NotImplementedError

    def attach_shared_folder(self, folder: int, path: str) -> None:
        """Mount at a path, a folder, what ``make_shared_folder`` of another machine gave, until this one stops.

        Raises:
            MachineError: it cannot be done; says why.
        """
        raise NotImplementedError

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
