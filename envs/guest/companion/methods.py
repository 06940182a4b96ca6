"""What the host can ask of the guest of a companion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deskgym.envs.guest.channel import WithDescriptor
from deskgym.envs.guest.commands import Commands
from deskgym.envs.guest.companion import data
from deskgym.envs.guest.companion.child import in_child
from deskgym.envs.guest.companion.daemons import Daemons
from deskgym.envs.guest.companion.http import ask
from deskgym.envs.guest.companion.link import Link
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.killing import kill_user
from deskgym.envs.guest.processes import Reaper

BASE = "/var/lib/deskgym-base"
"""Where a companion with users of its own keeps the frozen data."""
TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue")


class CompanionMethods:
    """The methods ``companion_NAME`` of the protocol."""

    def __init__(self, config: GuestConfig, reaper: Reaper, commands: Commands) -> None:
        self._config, self._reaper = config, reaper
        self._daemons = Daemons(config, reaper, commands)
        self._link = Link()
        self._base = f"{config.state_dir}/base" if config.uid is None else BASE

    async def start(self, **params: Any) -> dict[str, Any]:
        """Start a program of the service and wait until it is ready; see ``Daemons.start``."""
        return await self._daemons.start(**params)

    async def state(self) -> dict[str, Any]:
        """Which programs have ended, and what they wrote; see ``Daemons.state``."""
        self._reaper.reap()  # what has ended just now, too
        return self._daemons.state()

    async def stop(self, timeout: float, numbers: Sequence[int] | None = None) -> dict[str, Any]:
        """Stop programs in order; see ``Daemons.stop``."""
        self._link.close()
        return await self._daemons.stop(timeout, numbers)

    async def clear(self, user: str, folders: Sequence[str], timeout: float) -> dict[str, Any]:
        """Kill all processes of a system user, and delete what it has left; see ``data.clear``."""
        kill_user(self._config, user)
        return await self._as(user, timeout, data.clear, TEMPORARY, folders)

    def link(self, ports: Sequence[int]) -> dict[str, Any]:
        """Open the link to a desktop: the answer carries the desktop's end of it."""
        answer = WithDescriptor()
        answer.fd = self._link.open(ports)
        return answer

    async def quiet(self, timeout: float) -> dict[str, Any]:
        """Close the link and wait until the service works on nothing; see ``Link.quiet``."""
        return {"quiet": await self._link.quiet(timeout)}

    async def freeze(self, databases: Sequence[str], folders: Sequence[str], timeout: float) -> dict[str, Any]:
        """Copy the data to where it is rolled back from; see ``data.freeze``."""
        return await self._as("guest", timeout, data.freeze, self._base, databases, folders)

    async def roll_back(self, databases: Sequence[str], folders: Sequence[str], timeout: float) -> dict[str, Any]:
        """Roll the data back; see ``data.roll_back``."""
        return await self._as("guest", timeout, data.roll_back, self._base, databases, folders)

    async def fingerprint(self, databases: Sequence[str], folders: Sequence[str], timeout: float) -> dict[str, Any]:
        """A digest of the data; see ``data.fingerprint``."""
        return await self._as("guest", timeout, data.fingerprint, databases, folders)

    async def query(
        self, user: str, path: str, sql: str, parameters: Sequence[Any] | Mapping[str, Any], base: bool, timeout: float
    ) -> dict[str, Any]:
        """The rows of a query on a SQLite database, which it cannot change, or on the frozen copy of it."""
        if base:
            return await self._as("guest", timeout, data.query, data.frozen(self._base, path), sql, parameters)
        return await self._as(user, timeout, data.query, path, sql, parameters)

    async def execute(self, user: str, path: str, sql: str, timeout: float) -> dict[str, Any]:
        """Carry out statements on a SQLite database, all or none."""
        return await self._as(user, timeout, data.execute, path, sql)

    async def http(self, user: str, timeout: float, **request: Any) -> dict[str, Any]:
        """A request to the service; see ``http.ask``."""
        return await self._as(user, timeout, lambda: ask(timeout=timeout, **request))

    async def _as(self, user: str, timeout: float, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        return {"result": await in_child(self._config, self._reaper, user, timeout, function, *arguments)}
