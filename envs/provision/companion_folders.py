"""A companion's shared folders: empty but for what they had at first, for each desktop."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from deskgym.envs.machines.base import Machine
from deskgym.envs.provision.services import ServiceSpec, SharedFolder

DATA_TIMEOUT = 30.0  # seconds for freezing data, and for rolling it back


class CompanionFolders:
    """The shared folders of a service.

    Args:
        spec: the service.
        machine: the companion's.
        succeed: runs a command in it, given when that is and its user.
        on_guest: calls a method of its guest.

    Attributes:
        detached: descriptors of those that the next desktop gets.
    """

    def __init__(
        self, spec: ServiceSpec, machine: Machine, succeed: Callable[..., str], on_guest: Callable[..., Any]
    ) -> None:
        self.spec, self.machine = spec, machine
        self.detached: dict[SharedFolder, int] = {}
        self._succeed, self._on_guest = succeed, on_guest

    def keep(self) -> None:
        """Keep what shared folders have now, for all episodes."""
        for shared in self.spec.shared:
            owner = {"agent": "user", "guest": "root"}.get(shared.owner, shared.owner)
            folder = ["install", "-d", "-m", "755", shared.path]
            for command in (folder, ["chown", "-hR", f"{owner}:", shared.path]):
                self._succeed(command, "its shared folder", "guest")
        self._on_guest("freeze", DATA_TIMEOUT, databases=[], folders=[shared.path for shared in self.spec.shared])

    def renew(self) -> None:
        """Make shared folders anew, with what they had at first: nothing that an agent left there is met again."""
        self.forget()
        for shared in self.spec.shared:
            self.detached[shared] = self.machine.make_shared_folder(shared.path, shared.size_mb)
        self._on_guest("roll_back", DATA_TIMEOUT, databases=[], folders=[shared.path for shared in self.spec.shared])

    def forget(self) -> None:
        """Close those that no desktop has taken. Idempotent."""
        while self.detached:
            os.close(self.detached.popitem()[1])
