"""One session of a kernel: its process, what that starts, and how both are asked, copied and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time
from typing import Any

from deskgym.envs.guest.channel import Channel
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import KernelFailed
from deskgym.envs.guest.executor.forks import Forks
from deskgym.envs.guest.kernel.cleanup import processes_of, strangers
from deskgym.envs.guest.killing import kill_all, signal_agent
from deskgym.envs.guest.process_table import members
from deskgym.envs.guest.protocol import unpack_flat

GRACE = 1.0
"""Seconds that a cell gets to notice that it was interrupted, before the whole session is killed."""

COPYING = 10.0
"""Seconds that a kernel's process gets to be forked."""

ENDING = 5.0
"""Seconds that killed processes get to be gone."""


class Session:
    """One kernel process and what it starts.

    Args:
        config: of the guest.
        folder: its working folder.
        mark: of its processes, in their environment.

    Attributes:
        folder: the same.
        ended: it was told to end.
        pid: the kernel process.
        root: the first process, of which this one may be a copy.
    """

    def __init__(self, config: GuestConfig, folder: str, mark: bytes) -> None:
        self.folder = folder
        self.ended = False
        self.pid = self.root = 0
        self._config, self._mark = config, mark
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[dict[str, Any] | None] | None = None
        self._gone = False

    async def start(self, forks: Forks, request: dict[str, Any]) -> None:
        """Have a fresh process. Raises KernelFailed."""
        theirs = self._connect()
        self.pid, _ = await forks.fork(request, (theirs,))
        self.root = self.pid
        if not self.pid:
            raise KernelFailed("the interpreter that kernels are forks of has ended")

    async def copy(self, cwd: str = "", live: bool = False) -> tuple[Session, str]:
        """Another session, whose process stands where this one's does; and its working folder.

        Args:
            cwd: its working folder, where this one's is not to be it.
            live: it is to go on, and not to stand still.

        Raises:
            KernelFailed: the kernel has ended, or did not do it.
        """
        other = Session(self._config, self.folder, self._mark)
        theirs = other._connect()
        other._answer = self._loop.create_future()
        before = self.living()
        try:
            answer, late = await self.ask({"op": "hold", "cwd": cwd, "live": live}, COPYING, (theirs,))
            if answer is None or late or "error" in answer:
                raise KernelFailed(f"the kernel could not be copied: {(answer or {}).get('error', 'it has ended')}")
            hello = await asyncio.wait_for(other._answer, COPYING) or {}
            other.pid, other.root = int(hello.get("held", 0)), self.root
            if other.pid not in (new := self.living() - before):  # its word
                raise KernelFailed("the copy of the kernel is none of the session's processes")
            if strange := strangers(other.pid, new, self._config.libraries):  # a fork may run code of the agent's
                raise KernelFailed(f"the copy of the kernel has what cannot be copied: {', '.join(strange[:5])}")
        except BaseException as error:
            other.disconnect()
            kill_all(lambda: self.living() - before)
            if isinstance(error, TimeoutError | TypeError | ValueError):
                raise KernelFailed(f"the copy of the kernel does not answer: {error}") from error
            raise
        other._answer = None
        return other, str(answer.get("cwd", self.folder))

    def _connect(self) -> int:
        """Make the connection; gives the process's end, which the caller closes."""
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._channel = Channel(self._loop, ours.fileno(), self._on_message, self._on_end, unpack_flat)
        return theirs.detach()

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
                os.kill(self.pid, signal.SIGINT)
                await asyncio.wait_for(asyncio.shield(self._answer), GRACE)
            except (TimeoutError, ProcessLookupError):
                self._on_end()
        answer, self._answer = self._answer.result(), None
        return answer, late

    async def end(self, spared: frozenset[int] = frozenset()) -> None:
        """Kill all of it, but for these processes.

        Raises:
            KernelFailed: some of it lives on.
        """
        self.disconnect()
        if not self.pid:
            return
        if self._config.uid is not None and not spared:
            signal_agent(self._config, signal.SIGKILL)
        kill_all(lambda: self.living() - spared)
        end = time.monotonic() + ENDING
        while left := self.living() - spared:
            if time.monotonic() > end:
                raise KernelFailed(f"processes of a session cannot be ended: {sorted(left)[:5]}")
            await asyncio.sleep(0.01)

    def disconnect(self) -> None:
        """Ask no more; its process ends by itself, if it serves."""
        self.ended = True
        self._channel.detach()
        self._socket.close()

    def living(self) -> set[int]:
        """Its processes, and those of its copies: where the agent has a user of its own, all of that user's."""
        if self._config.uid is None:
            return members(self.root, self._mark)
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
