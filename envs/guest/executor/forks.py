"""The guest's side of a zygote: starts it, asks it for forks, and hears how they ended."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import Any

from deskgym.envs.guest.channel import Channel
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import ExecutorFailed
from deskgym.envs.guest.executor.zygote import Child, run_zygote


class Forks:
    """Forks of a warm interpreter. One is asked for at a time; several may live.

    Args:
        config: for the forks.
        env: the zygote's environment.
        preload: loads what they need; called in the zygote.
        child: what a fork does with its request.
        noun: for messages, such as ``"the code executor"``.

    Attributes:
        pid: the zygote's.
    """

    def __init__(
        self, config: GuestConfig, env: dict[str, str], preload: Callable[[], None], child: Child, noun: str
    ) -> None:
        self.pid = 0
        self._config, self._env, self._preload, self._child, self._noun = config, env, preload, child, noun
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._broken = True

    def start(self) -> None:
        """Fork the zygote from this process."""
        self.stop()
        ours, theirs = socket.socketpair()
        env = {**self._env}
        if self._config.marker:
            env["DESKGYM_MACHINE"] = self._config.marker
        pid = os.fork()
        if pid == 0:
            run_zygote(self._config, theirs, env, self._preload, self._child)
        theirs.close()
        self.pid, self._socket = pid, ours
        self._broken = False
        self._ready = self._loop.create_future()
        self._started: asyncio.Future[tuple[int, asyncio.Future[int]]] = self._loop.create_future()
        self._ends: dict[int, asyncio.Future[int]] = {}
        self._channel = Channel(self._loop, ours.fileno(), self._on_message, self._on_end)

    async def ready(self, deadline: float) -> None:
        """Wait until the zygote can fork; starts it where it is not there. Raises ExecutorFailed."""
        if self._broken:
            self.start()
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), deadline)
        except TimeoutError:
            raise ExecutorFailed(f"{self._noun} was not ready in {deadline:g} s") from None

    async def fork(self, request: dict[str, Any], fds: tuple[int, ...]) -> tuple[int, asyncio.Future[int]]:
        """Ask for a fork; ``fds`` are sent to it, and closed here.

        Returns:
            Its pid, and its exit status to come (minus a signal's number). The pid is 0 where there was none.
        """
        self._started = self._loop.create_future()
        try:
            await self._channel.send(request, fds)
        except OSError:
            self._on_end()
        finally:
            for fd in fds:
                os.close(fd)
        return await self._started

    def stop(self) -> None:
        """End the zygote."""
        if self._socket is not None:
            self._channel.detach()
            self._socket.close()
            self._socket = None
        self._broken = True

    def _on_message(self, message: dict[str, Any]) -> None:
        if "ready" in message and not self._ready.done():
            self._ready.set_result(None)
        elif "started" in message and not self._started.done():
            pid, end = message["started"], self._loop.create_future()
            self._ends[pid] = end
            self._started.set_result((pid, end))
        elif "ended" in message:
            ended = self._ends.pop(message["ended"], None)
            if ended is not None and not ended.done():
                ended.set_result(message["status"])

    def _on_end(self) -> None:
        self._broken = True
        if not self._ready.done():
            self._ready.set_exception(ExecutorFailed(f"{self._noun} ended while it started"))
            self._ready.exception()  # nobody may be waiting for it
        if not self._started.done():
            gone: asyncio.Future[int] = self._loop.create_future()
            gone.set_result(-9)
            self._started.set_result((0, gone))
        for ended in self._ends.values():
            if not ended.done():
                ended.set_result(-9)
        self._ends.clear()
