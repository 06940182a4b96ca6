"""Companions: machines beside the desktop's in which services run out of the agent's reach.

The desktop reaches a service's ports on 127.0.0.1 through a relay in its guest, which also knows when a page is loading
(``deskgym.envs.guest.relay``). A companion stays up from episode to episode; its data is rolled back.
"""

from __future__ import annotations

import base64
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deskgym.envs.clock import Clock
from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import AnswerTooLarge, GuestCallError, MachineError, ServiceDown, ServiceError
from deskgym.envs.machines.base import CommandResult, Machine
from deskgym.envs.provision import postgresql
from deskgym.envs.provision.companion_folders import DATA_TIMEOUT, CompanionFolders
from deskgym.envs.provision.service_answers import HttpAnswer, Row
from deskgym.envs.provision.services import (
    Files,
    Postgresql,
    Ready,
    Restore,
    ServiceSpec,
    Sqlite,
)

GRACE = 0.1  # seconds that requests of the last episode have to end by themselves
QUIET_TIMEOUT = 1.0  # seconds that a service may still work on them once their connections to databases are ended
STOP_TIMEOUT = 5.0  # seconds that its programs have to end
BODY_LIMIT = 8 << 20
POLL = 0.05


class Companion:
    """A machine without a display in which one service runs, for one desktop at a time.

    Args:
        spec: the service.
        machine: where it runs; it is started by ``start`` and belongs to the companion.

    Attributes:
        secrets: the random values of ``spec.secrets``, by name.
        timing: ms of the last roll-back, per phase.
        started: whether ``start`` was called.
    """

    def __init__(self, spec: ServiceSpec, machine: Machine) -> None:
        self.spec, self.machine = spec, machine
        self.secrets = {name: secrets.token_hex(16) for name in spec.secrets}
        self.timing: dict[str, float] = {}
        self.started = False
        self._fingerprint = ""
        self._postgresql = [item for item in spec.data if isinstance(item, Postgresql)]
        self._restores = [item for item in spec.data if isinstance(item, Restore)]
        self._databases = [item.path for item in spec.data if isinstance(item, Sqlite)]
        self._folders = [item.path for item in spec.data if isinstance(item, Files)]
        self._shared = CompanionFolders(spec, machine, self._succeed, self._on_guest)

    # --- its life

    def start(self) -> None:
        """Start the machine and the service, and freeze its data.

        Raises:
            ServiceError: a program did not get ready; with its last words.
            MachineError: the machine could not be had.
        """
        self.started = True
        self.machine.start()
        try:
            for path, text in self.spec.files:
                self.machine.put(path, text.encode())
        except GuestCallError as error:
            raise ServiceError(f"the service {self.spec.name!r}: {error}") from error
        for command in self.spec.before:
            self._succeed(command, "before its start")
        if self.spec.shared:
            self._shared.keep()
            self._shared.renew()
        for number in self._numbers(restart=False):
            self._start(number)
        self._on_guest("freeze", DATA_TIMEOUT, databases=self._databases, folders=self._folders)
        for database in self._postgresql:
            postgresql.freeze(self, database)
        self._fingerprint = self._digest([postgresql.fingerprint(self, database) for database in self._postgresql])
        for number in self._numbers(restart=True):  # now only: they work on the data by themselves
            self._start(number)

    def stop(self, in_order: bool = True) -> None:
        """Stop the service in order, and end the machine. Idempotent; never raises because something is broken.

        Args:
            in_order: False kills it, where its machine isolates: its data is not needed any more.
        """
        if self.machine.alive and (in_order or not self.machine.isolates):
            try:
                self._on_guest("stop", STOP_TIMEOUT)
            except (MachineError, ServiceError):
                pass
        self._shared.forget()
        self.machine.stop()

    @property
    def alive(self) -> bool:
        """Whether its machine lives; costs no round trip."""
        return self.started and self.machine.alive

    def require_running(self) -> None:
        """Raises ServiceDown, with its last words, when one of its programs has ended."""
        if ended := self.machine.guest.call("companion_state")["ended"]:
            raise ServiceDown(f"the service {self.spec.name!r} is down: {ended}")

    def log(self) -> str:
        """The end of what its programs wrote, 64 KiB each at most; "" when its machine is gone."""
        try:
            return str(self.machine.guest.call("companion_state")["log"])
        except MachineError:
            return ""

    def attach(self, desktop: Machine) -> None:
        """Let a desktop reach the service's ports on 127.0.0.1, and its shared folders.

        A desktop before it reaches the ports no more, and has the folders of its own episode.

        Raises:
            MachineError: the desktop cannot have companions.
        """
        for shared, folder in self._shared.detached.items():
            made = desktop.run(["mkdir", "-p", shared.desktop_path])
            if made.returncode:
                raise MachineError(f"the desktop has no room for the shared folder: {_tail(made.stderr)}", "companion")
            desktop.attach_shared_folder(folder, shared.desktop_path)
        self._shared.forget()
        if not desktop.isolates or not self.spec.ports:
            return  # they share the host's network
        _, link = self.machine.guest.call_with_fd("companion_link", ports=list(self.spec.ports))
        if link is None:
            raise MachineError(f"the companion of {self.spec.name!r} gave no link", "companion")
        try:
            desktop.guest.call_giving_fd(
                link, "relay", ports=list(self.spec.ports), uncounted=list(self.spec.uncounted)
            )
        except GuestCallError as error:
            raise MachineError(
                f"the desktop cannot reach the service {self.spec.name!r}: {error}", "companion"
            ) from error
        finally:
            os.close(link)

    # --- its data

    def roll_back(self) -> None:
        """Make its data what it was after the start, for the next desktop; the last one must be gone.

        Raises:
            ServiceError: it is not as it was: a program has ended or goes on working, or the fingerprint differs. Only
                a fresh companion helps.
            MachineError: the machine broke.
        """
        clock = Clock()
        self.timing = clock.timing
        self.require_running()
        restarted = self._numbers(restart=True)
        self._end_requests(restarted)
        clock.lap("quiet")
        if self._databases or self._folders:
            self._on_guest("roll_back", DATA_TIMEOUT, databases=self._databases, folders=self._folders)
        databases = [postgresql.roll_back(self, database) for database in self._postgresql]
        for item in self._restores:
            self._succeed(item.command, "rolling back its data")
        if self.spec.shared:
            self._shared.renew()
        clock.lap("data")
        found = self._digest(databases)
        clock.lap("fingerprint")
        for database in self._postgresql:
            postgresql.make_spare(self, database)
        for number in restarted:
            self._start(number)
        self.require_running()
        if found != self._fingerprint:
            raise ServiceError(f"the data of the service {self.spec.name!r} is not what it was after its roll-back")

    def _end_requests(self, restarted: Sequence[int]) -> None:
        """Have the service end its work for the last episode: else it may change data that is rolled back."""
        if restarted:
            self._on_guest("stop", 0.0, numbers=restarted)
        for user in self.spec.agent_users:
            self._on_guest("clear", DATA_TIMEOUT, user=user, folders=self._folders)
        if self._on_guest("quiet", GRACE)["quiet"]:
            return
        for database in self._postgresql:
            postgresql.close(self, database)
        if not self._on_guest("quiet", QUIET_TIMEOUT)["quiet"]:
            raise ServiceError(f"{self.spec.name!r} still worked for the last episode after {QUIET_TIMEOUT:g} s")

    def _digest(self, databases: Sequence[str]) -> str:
        """What is equal for equal data and equal watched files, given the fingerprints of its PostgreSQL databases."""
        folders = [*self._folders, *self.spec.watch]
        parts = [self._on_guest("fingerprint", DATA_TIMEOUT, databases=self._databases, folders=folders)["result"]]
        parts += [self._succeed(item.fingerprint, "its fingerprint") for item in self._restores if item.fingerprint]
        return "\n".join([*map(str, parts), *databases])

    # --- for hooks and evaluators

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        timeout: float = 30.0,
        stdin: bytes = b"",
        user: str = "",
    ) -> CommandResult:
        """Run a command in the companion, by default as the service's user; see ``Machine.run``."""
        env = {**self.secrets, **(env or {})}
        user = user or self.spec.user
        return self.machine.run(argv, env=env, cwd=cwd, timeout=timeout, stdin=stdin, user=user, output_limit=6 << 20)

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        database: str | None = None,
        base: bool = False,
        timeout: float = 30.0,
    ) -> list[Row]:
        """The rows of a query, which cannot change anything.

        Args:
            query: one statement.
            parameters: for SQLite's placeholders; PostgreSQL takes none.
            database: path or name of one of the service's databases; the first one if None.
            base: ask the data as it was before the episode.
            timeout: seconds.

        Returns:
            JSON-able values by column name; bytes are ``{"base64": text}``. Of two columns of one name the last counts.

        Raises:
            ServiceError: the query failed; says why.
        """
        found = self._database(database)
        if isinstance(found, Postgresql):
            if parameters:
                raise ValueError("parameters are for SQLite: write the values into the query")
            return postgresql.query(self, found, query, base, timeout)
        rows = self._on_guest(
            "query", timeout, user=self.spec.user, path=found.path, sql=query, parameters=parameters, base=base
        )
        return list(rows["result"])

    def execute(self, statements: str, *, database: str | None = None, timeout: float = 30.0) -> None:
        """Carry out SQL statements, all or none: for hooks. Raises ServiceError."""
        found = self._database(database)
        if isinstance(found, Postgresql):
            postgresql.execute(self, found, statements, timeout)
        else:
            user = self.spec.user
            self._on_guest("execute", timeout, user=user, path=found.path, sql=statements)

    def http(
        self,
        method: str,
        path: str,
        *,
        body: bytes | str = b"",
        headers: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        port: int | None = None,
        timeout: float = 30.0,
    ) -> HttpAnswer:
        """Ask the service by HTTP, from inside the companion. Redirects are not followed.

        Args:
            method: such as ``"GET"``.
            path: with its query.
            body: of the request; a text is sent in UTF-8.
            headers: of the request.
            auth: name and password, sent as HTTP's basic authentication.
            port: the service's first one if None; one that the desktop does not reach is legal too.
            timeout: seconds.

        Raises:
            ServiceError: it did not answer.
        """
        if port is None:
            if not self.spec.ports:
                raise ServiceError(f"the service {self.spec.name!r} has no ports: say which one to ask")
            port = self.spec.ports[0]
        sent = dict(headers or {})
        if auth is not None:
            sent["Authorization"] = "Basic " + base64.b64encode(":".join(auth).encode()).decode()
        data = body.encode() if isinstance(body, str) else body
        answer = self._on_guest(
            "http", timeout, user=self.spec.user, method=method, port=port, path=path, headers=sent, body=data,
            limit=BODY_LIMIT,
        )["result"]  # fmt: skip
        return HttpAnswer(**answer)

    def put(self, path: str, source: bytes | str | Path, *, mode: int | None = None, owner: str = "agent") -> None:
        """Write a file, or copy one of the host, into the companion; see ``Machine.put``."""
        self.machine.put(path, source, mode=mode, owner=owner)

    def get(self, path: str, *, limit: int = 64 << 20) -> bytes:
        """Read one file; see ``Machine.get``."""
        return self.machine.get(path, limit=limit)

    # --- internals

    def _numbers(self, restart: bool) -> list[int]:
        return [number for number, daemon in enumerate(self.spec.daemons) if daemon.restart == restart]

    def _start(self, number: int) -> None:
        daemon = self.spec.daemons[number]
        ready, user = daemon.ready, daemon.user or self.spec.user
        deadline = Deadline(ready.timeout, self.machine.slowness)
        probes = {"port": ready.port, "http": ready.http, "file": ready.file}
        self._on_guest(
            "start", ready.timeout, number=number, argv=list(daemon.command),
            env={**self.secrets, **dict(daemon.environment)}, cwd=daemon.folder, user=user, ready=probes,
        )  # fmt: skip
        while True:
            seen = self._unready(ready, deadline)
            if not seen:
                return
            self.require_running()
            if deadline.over:
                raise ServiceError(
                    f"the service {self.spec.name!r} was not ready within {ready.timeout:g} s: {seen}; it wrote "
                    f"{self.log()[-2000:] or 'nothing'}"
                )
            time.sleep(POLL)

    def _unready(self, ready: Ready, deadline: Deadline) -> str:
        if ready.command:
            done = self.run(ready.command, timeout=max(0.1, deadline.left))
            if done.returncode != 0:
                return f"{' '.join(ready.command)} ended with {done.returncode}: {_tail(done.stderr or done.stdout)}"
        if ready.sql:
            try:
                return "" if self.sql(ready.sql, timeout=max(0.1, deadline.left)) else f"{ready.sql} gives no row"
            except ServiceError as error:
                return str(error)
        return ""

    def _succeed(self, command: Sequence[str], when: str, user: str = "") -> str:
        try:
            done = self.run(command, timeout=DATA_TIMEOUT * 4, user=user)
        except GuestCallError as error:
            raise ServiceError(f"the service {self.spec.name!r}, {when}: {error}") from error
        if done.returncode != 0:
            raise ServiceError(
                f"the service {self.spec.name!r}, {when}: {' '.join(command)} ended with {done.returncode}; it wrote "
                f"{_tail(done.stderr or done.stdout) or 'nothing'}"
            )
        return done.stdout.decode(errors="replace")

    def _database(self, name: str | None) -> Sqlite | Postgresql:
        known = {
            item.path if isinstance(item, Sqlite) else item.database: item
            for item in self.spec.data
            if isinstance(item, Sqlite | Postgresql)
        }
        if not known or (name is not None and name not in known):
            raise ServiceError(
                f"the service {self.spec.name!r} has no database {name or ''!r}; it has {', '.join(known) or 'none'}"
            )
        return next(iter(known.values())) if name is None else known[name]

    def _on_guest(self, method: str, timeout: float, /, **params: Any) -> dict[str, Any]:
        try:
            return self.machine.guest.call(f"companion_{method}", timeout + 10.0, timeout=timeout, **params)
        except GuestCallError as error:
            if error.kind == "OverflowError":
                raise AnswerTooLarge(f"the service {self.spec.name!r}: {error}") from error
            raise self.failure(str(error)) from error

    def failure(self, why: str) -> ServiceError:
        """The error to raise because it did not do something: ``ServiceDown`` where one of its programs has ended."""
        ended = self.machine.guest.call("companion_state")["ended"]
        if not ended:
            return ServiceError(f"the service {self.spec.name!r}: {why}")
        down = "" if ended in why else f"; it is down: {ended}"
        return ServiceDown(f"the service {self.spec.name!r}: {why}{down}")


def _tail(output: bytes, limit: int = 1000) -> str:
    return output[-limit:].decode(errors="replace").strip()
