"""A desktop on gVisor's kernel, which tells nobody who is at the other end of a Unix socket.

Whoever asks gets its own process and user: so the buses take the guest for the agent's user, and a relay before each
bus learns which process is at the other end of its connections.
"""

from __future__ import annotations

from deskgym.envs.guest.accessibility.bus import BUS, Bus, addresses
from deskgym.envs.guest.bus_relay import BusRelay
from deskgym.envs.guest.desktop import Desktop

_NOBODY = 65534


class GvisorDesktop(Desktop):
    """The guest's own desktop, with a relay before each bus."""

    _said = False  # to the session bus, what is in the environment of the programs that it starts

    async def start(self, width: int, height: int, glx: bool = False) -> int | None:
        """See ``Desktop.start``."""
        self._relays: dict[str, BusRelay] = {}
        return await super().start(width, height, glx)

    def _session_address(self) -> str:
        """Beside where programs look for it: there is the relay."""
        public = super()._session_address()
        if public not in self._relays:
            self._relay(public, f"{public}-itself")
        return f"{public}-itself"

    def _accessibility_address(self, own: str) -> str:
        public = f"unix:path={self._config.runtime_dir}/accessibility-bus"
        self._relay(public, own)
        return public

    def _relay(self, public: str, behind: str) -> None:
        (path,), (target, *_) = addresses(public), addresses(behind)
        self._relays[behind] = self._relays[public] = BusRelay(path, target, self._config.owner)

    async def _set_activation_environment(self) -> None:
        """See ``Desktop``. From then on nobody may: to the bus all are the same user."""
        await super()._set_activation_environment()
        self._said = True
        self._write_bus_config()
        await self.session.call(*BUS, "ReloadConfig")

    def _seen_as(self) -> int:
        return _NOBODY if self._said else self._config.owner[0]

    def _to_bus(self, address: str) -> Bus:
        relay = self._relays.get(address)
        return Bus(address, self._config.owner[0], {} if relay is None else relay.processes)
