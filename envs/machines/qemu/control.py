"""The control connection of a QEMU: commands and events over QMP."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from functools import cache
from typing import Any, TypeVar

from deskgym.envs.errors import MachineError

T = TypeVar("T")


class Control:
    """A QMP session; its owner calls it from one thread.

    Args:
        sock: a connected socket to QEMU's monitor; the control owns it from now on.
        on_event: called with an event's name and data, in another thread.
        timeout: seconds for QEMU to greet.

    Raises:
        MachineError: QEMU does not greet.
    """

    def __init__(self, sock: socket.socket, on_event: Callable[[str, Mapping[str, Any]], None], timeout: float) -> None:
        from qemu.qmp import QMPClient

        sock.setblocking(False)
        self._loop = _loop(os.getpid())
        self._client = QMPClient("deskgym")
        self._client.logger.disabled = True  # what it would say is in our errors
        self._on_event = on_event
        self._listening: asyncio.Task[None] | None = None
        self._await(self._open(sock), timeout, "greet")

    async def _open(self, sock: socket.socket) -> None:
        self._listening = asyncio.ensure_future(self._listen())
        await self._client.connect(sock)

    async def _listen(self) -> None:
        async for event in self._client.events:
            data = event.get("data")
            self._on_event(str(event["event"]), data if isinstance(data, dict) else {})

    def execute(self, command: str, timeout: float = 20.0, /, **arguments: Any) -> Any:
        """Execute a QMP command and return what it returns.

        Args:
            command: such as ``"query-status"``.
            timeout: seconds.
            arguments: with underscores for QMP's hyphens.

        Raises:
            MachineError: kind ``"qemu_refused"`` with QEMU's words, or ``"qemu_lost"``.
        """
        named = {name.replace("_", "-"): value for name, value in arguments.items()}
        return self._await(self._client.execute(command, named or None), timeout, command)

    def close(self) -> None:
        """End the session. Idempotent; does not wait."""
        if self._listening is not None:
            listening, self._listening = self._listening, None
            asyncio.run_coroutine_threadsafe(self._end(listening), self._loop)

    async def _end(self, listening: asyncio.Task[None]) -> None:
        listening.cancel()
        try:
            await self._client.disconnect()
        except Exception:  # noqa: S110 - it is gone already, however it went
            pass

    def _await(self, work: Coroutine[Any, Any, T], timeout: float, what: str) -> T:
        from qemu.qmp import ExecuteError, QMPError

        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(timeout)
        except ExecuteError as error:
            raise MachineError(f"QEMU refused {what!r}: {error}", kind="qemu_refused") from error
        except FutureTimeout as error:
            future.cancel()
            raise MachineError(f"QEMU did not answer {what!r} within {timeout:g} s", kind="qemu_lost") from error
        except (QMPError, OSError, EOFError, asyncio.CancelledError) as error:
            raise MachineError(f"QEMU is gone ({what!r}: {error})", kind="qemu_lost") from error


@cache
def _loop(pid: int) -> asyncio.AbstractEventLoop:
    """The event loop of this process's QMP sessions, in a thread of its own; a fork gets another one."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="deskgym-qmp", daemon=True).start()
    return loop
