"""What a service is, as data: the programs of a companion, when they are ready, and how their data is rolled back."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field
from typing import Annotated, Any

from deskgym.envs.options import CheckedFields, DiskMb, MemoryMb, Port, Processes, Seconds

Argv = tuple[str, ...]
Environment = tuple[tuple[str, str], ...]

_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*\Z")
_DATABASE = re.compile(r"[a-z_][a-z0-9_]{0,50}\Z")


@dataclass(frozen=True)
class Ready(CheckedFields):
    """When a program of a service counts as ready: all that is given holds.

    Attributes:
        port: it accepts connections on 127.0.0.1 at this port.
        http: ``GET`` of this path at ``port`` is answered with a status below 400.
        file: this path is there.
        sql: this query gives at least one row in the service's first database.
        command: this command, run as the service's user, ends with 0.
        timeout: seconds from its start.
    """

    port: Port | None = None
    http: str | None = None
    file: str | None = None
    sql: str | None = None
    command: Argv = ()
    timeout: Seconds = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.port or self.file or self.sql or self.command):
            raise ValueError("a service's program needs a condition of readiness: port, file, sql or command")
        if self.http is not None and (self.port is None or not self.http.startswith("/")):
            raise ValueError(
                f"ready: http={self.http!r}; legal is a path such as '/', with the port that it is asked of"
            )


@dataclass(frozen=True)
class Daemon(CheckedFields):
    """One program of a service, which runs until the service is stopped.

    Attributes:
        command: program and arguments; it stays in the foreground.
        ready: when the next one may be started, and in the end the task's setup.
        user: whom it runs as; "" is the service's user.
        environment: variables added to the companion's own.
        folder: working folder.
        restart: end it before every roll-back and start it again after that, because what it keeps in memory must not
            outlive the episode. At the first start it comes after all others, once the data is frozen: so it may write
            by itself, as a scheduler does. A database server that data is rolled back through cannot be restarted.
    """

    command: Argv
    ready: Ready
    user: str = ""
    environment: Environment = ()
    folder: str = "/"
    restart: bool = False


@dataclass(frozen=True)
class Sqlite(CheckedFields):
    """A SQLite database, rolled back by SQLite's backup while the service has it open.

    Attributes:
        path: its file.
    """

    path: str


@dataclass(frozen=True)
class Postgresql(CheckedFields):
    """A PostgreSQL database, rolled back by renaming a spare copy, which is made ahead from a template.

    Connections to it are ended, so the service must connect again by itself. Grants and settings of the database itself
    are not copied, those of its schemas and tables are.

    Attributes:
        database: its name.
        user: the system user whose local connections need no password.
        role: the role that it connects as, which may create databases; "" is the user's name.
        socket: the folder of the server's socket.
        port: of the server.
        reader: a system user with a role of its name in ``pg_read_all_data``, as which queries are asked; "" asks them
            as ``role``. Name one where the agent may create functions or types: a query may run them.
    """

    database: str
    user: str = "postgres"
    role: str = ""
    socket: str = "/run/postgresql"
    port: Port = 5432
    reader: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _DATABASE.match(self.database):
            raise ValueError(f"database={self.database!r}; legal are lower-case letters, digits and _, 51 at most")


@dataclass(frozen=True)
class Files(CheckedFields):
    """A folder, or one file, rolled back by copying back what has changed.

    Attributes:
        path: where it is.
    """

    path: str


@dataclass(frozen=True)
class Restore(CheckedFields):
    """Data that only the service's own commands can roll back. They run as the service's user.

    Attributes:
        command: rolls it back.
        fingerprint: prints what is equal for equal data; () takes nothing of it into the fingerprint.
    """

    command: Argv
    fingerprint: Argv = ()


Data = Sqlite | Postgresql | Files | Restore


@dataclass(frozen=True)
class SharedFolder(CheckedFields):
    """A folder that a service and the desktop share. Every episode finds in it what it held before the first daemon.

    What the agent writes belongs to ``"agent"`` (uid 1000) in the companion too. Symbolic links in it are followed in
    neither machine. Each episode gets a new folder, mounted at the same path: where a daemon keeps a file in it open,
    or has its working folder in it, the next reset replaces the companion.

    Attributes:
        path: where it is in the companion, outside of /home and /tmp.
        desktop_path: where it is on the desktop, in a folder in which the agent may make one.
        size_mb: what both machines may write to it, in MiB, on top of their own disk.
        owner: whom the folder, and what it holds at first, belong to; the agent writes to folders of ``"agent"`` only.
    """

    path: str
    desktop_path: str
    size_mb: Annotated[int, (1, 4096)] = 16
    owner: str = "agent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path.startswith(("/home/", "/tmp/")):
            raise ValueError(
                f"the shared folder {self.path} is in a folder of the agent's; legal are paths such as /opt/flows/dags"
            )


@dataclass(frozen=True)
class ServiceSpec(CheckedFields):
    """A service that tasks use: a web application with its database, say. It runs in a companion of the desktop.

    It is data only: hashable, and companions are kept by it.

    Attributes:
        name: as in ``setup.companions[name]``.
        daemons: its programs, started in this order, each once the one before is ready; those with ``restart`` last.
        ports: what the desktop reaches on 127.0.0.1.
        data: what is rolled back before every episode; the first ``Sqlite`` or ``Postgresql`` is what ``sql`` asks.
        shared: folders that the desktop has too.
        agent_users: system users that run what the agent has written, such as ``"games"``. Before every roll-back all
            their processes are killed, and what they left in /tmp, /var/tmp, /dev/shm and in queues, semaphores and
            shared memory is deleted; so their daemons are those with ``restart``.
        watch: more files and folders that no episode may change: where one does, the companion is replaced.
        user: whom its programs run as: ``"agent"`` (the companion's ordinary user, uid 1000), ``"guest"`` (root in the
            companion) or a system user such as ``"postgres"``.
        layers: recipes of the prepared layers that lie under the companion's files, tool environments among them.
        files: path and text of files that are written before anything runs.
        before: commands that run to their end before the first program starts, as the service's user.
        secrets: names of environment variables that get a random value in every companion, such as a password of the
            administrator; see ``Companion.secrets``.
        uncounted: globs of paths that answer when there is news, such as ``"/poll/*"``: a page does not count as
            loading because of them.
        memory_mb: memory of all its processes and written files together, in MiB.
        disk_mb: what it may write in all, in MiB.
        processes: how many processes and threads may live at once.

    Raises:
        ValueError: a value is not legal; the message says what is.
    """

    name: str
    daemons: tuple[Daemon, ...]
    ports: tuple[Port, ...] = ()
    data: tuple[Data, ...] = ()
    shared: tuple[SharedFolder, ...] = ()
    agent_users: tuple[str, ...] = ()
    watch: tuple[str, ...] = ()
    user: str = "agent"
    layers: tuple[Any, ...] = ()
    files: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    before: tuple[Argv, ...] = ()
    secrets: tuple[str, ...] = ()
    uncounted: tuple[str, ...] = ()
    memory_mb: MemoryMb = 1024
    disk_mb: DiskMb = 1024
    processes: Processes = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.match(self.name):
            raise ValueError(f"a service's name is such as 'shop', got {self.name!r}")
        if not self.daemons:
            raise ValueError(f"the service {self.name!r} has no daemons: give at least one program to start")
        for name in self.secrets:
            if not _VARIABLE.match(name):
                raise ValueError(f"the service {self.name!r} has the secret {name!r}; legal are names of variables")
        for name in self.agent_users:
            if name in ("agent", "guest", "root"):
                raise ValueError(
                    f"the service {self.name!r} has {name!r} among its agent_users; legal are system users such as "
                    "'games': let the daemons that run what the agent has written be of one"
                )
        for daemon in self.daemons:
            if (daemon.user or self.user) in self.agent_users and not daemon.restart:
                raise ValueError(
                    f"the service {self.name!r} starts {daemon.command[0]} as {daemon.user or self.user}, one of "
                    "agent_users, who are cleared away before every roll-back: such a daemon needs restart=True"
                )
        for path in self.paths:
            if not path.startswith("/") or posixpath.normpath(path) != path:
                raise ValueError(
                    f"the service {self.name!r} has the path {path!r}; legal are absolute ones, normalised"
                )

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths that it names."""
        data = [item.path for item in self.data if isinstance(item, Sqlite | Files)]
        shared = [path for folder in self.shared for path in (folder.path, folder.desktop_path)]
        return (*data, *shared, *self.watch, *(path for path, _ in self.files))
