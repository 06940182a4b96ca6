"""One session of a kernel: its process, what that starts, and how both are asked and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from typing import Any

from deskgym.envs.guest.channel import Channel
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import KernelFailed
from deskgym.envs.guest.executor.forks import Forks
from deskgym.envs.guest.kernel.cleanup import processes_of
from deskgym.envs.guest.processes import kill_all, members, signal_agent
from deskgym.envs.guest.protocol import unpack_flat

GRACE = 1.0
"""Seconds that a cell gets to notice that it was interrupted, before the whole session is killed."""


class Session:
    """One kernel process and what it starts.

    Attributes:
        folder: its working folder.
        ended: it was told to end.
    """

    def __init__(self, config: GuestConfig, forks: Forks, folder: str, mark: bytes) -> None:
        self.folder = folder
        self.ended = False
        self._config, self._forks, self._mark = config, forks, mark
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[dict[str, Any] | None] | None = None
        self._gone = False
        self._pid = 0

    async def start(self, request: dict[str, Any]) -> None:
        """Have the kernel's process. Raises KernelFailed."""
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._channel = Channel(self._loop, ours.fileno(), self._on_message, self._on_end, unpack_flat)
        self._pid, self._exit = await self._forks.fork(request, (theirs.detach(),))
        if not self._pid:
            raise KernelFailed("the interpreter that kernels are forks of has ended")

    async def ask(
        self, request: dict[str, Any], timeout: float, fds: tuple[int, ...] = ()
    ) -> tuple[dict[str, Any] | None, bool]:
        """The kernel's answer, or None if it is gone; and whether it had to be interrupted."""
        self._answer = self._loop.create_future()
        late = False
        try:
            if self._gone:
                self._on_end()
            else:
                await asyncio.wait_for(self._channel.send(request, fds), timeout)
        except (OSError, TimeoutError):
            self._on_end()
        finally:
            for fd in fds:
                os.close(fd)
        try:
            await asyncio.wait_for(asyncio.shield(self._answer), timeout)
        except TimeoutError:
            late = True
            try:
                os.kill(self._pid, signal.SIGINT)
                await asyncio.wait_for(asyncio.shield(self._answer), GRACE)
            except (TimeoutError, ProcessLookupError):
                self._on_end()
        answer, self._answer = self._answer.result(), None
        return answer, late

    async def end(self) -> None:
        """Kill all of it.

        Raises:
            KernelFailed: some of it lives on.
        """
        self.ended = True
        self._channel.detach()
        self._socket.close()
        if self._pid:
            if self._config.uid is not None:
                signal_agent(self._config, signal.SIGKILL)
            kill_all(self._living)
            await asyncio.wait([self._exit], timeout=5.0)
            if left := self._living():
                raise KernelFailed(f"processes of a session cannot be ended: {sorted(left)[:5]}")

    def _living(self) -> set[int]:
        """Its processes: where the agent has a user of its own, all of that user's."""
        if self._config.uid is None:
            return members(self._pid, self._mark)
        return processes_of(self._config.uid)

    def _on_message(self, message: Any) -> None:
        if self._answer is None or self._answer.done():
            self._channel.detach()  # a kernel speaks when it is asked; this is code of the agent's, and might not stop
            self._on_end()
        else:
            self._answer.set_result(message)

    def _on_end(self) -> None:
        self._gone = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
