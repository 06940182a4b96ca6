"""The programs of a service: started, waited for, watched and stopped in order."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.guest.commands import Commands
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.killing import kill_all
from deskgym.envs.guest.process_table import members
from deskgym.envs.guest.processes import Reaper
from deskgym.envs.guest.services import Service

POLL = 0.01
LOG_BYTES = 1 << 16


class Daemons:
    """Programs by number, in the order of their start."""

    def __init__(self, config: GuestConfig, reaper: Reaper, commands: Commands) -> None:
        self._config, self._reaper, self._commands = config, reaper, commands
        self._started: dict[int, Service] = {}

    async def start(
        self,
        number: int,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        user: str,
        ready: Mapping[str, Any],
        timeout: float,
    ) -> dict[str, Any]:
        """Start one, and wait until ``port`` accepts connections, ``http`` is answered and ``file`` is there.

        Raises:
            StartFailed: it ended, or was not ready in time; says what was awaited, and has its last words.
        """
        service = Service.start(
            self._config,
            self._reaper,
            argv,
            env=self._commands.environment(env, user),
            user=user,
            cwd=cwd,
            log_bytes=LOG_BYTES,
        )
        self._started[number] = service
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while missing := await _missing(**ready):
            if service.ended.done() or loop.time() > end:
                raise service.failure(f"was not ready within {timeout:g} s: {missing}")
            await asyncio.sleep(POLL)
        if service.ended.done():
            raise service.failure("ended at once")
        return {"pid": service.pid}

    def state(self) -> dict[str, Any]:
        """Which have ended, as a text with their last words or "", and the end of what all of them wrote."""
        ended = [
            f"{service.name} ended with {service.ended.result()}; its last words: "
            f"{service.last_words()[-1500:] or 'none'}"
            for service in self._started.values()
            if service.ended.done()
        ]
        log = "\n".join(f"{service.name}: {service.last_words()}" for service in self._started.values())
        return {"ended": "; ".join(ended), "log": log}

    async def stop(self, timeout: float, numbers: Sequence[int] | None = None) -> dict[str, Any]:
        """End all or some, the last one first: SIGTERM, and SIGKILL for what is left after ``timeout`` s in all."""
        killed = []
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        for number in sorted(self._started if numbers is None else numbers, reverse=True):
            service = self._started.pop(number)
            if not service.ended.done():
                try:
                    os.killpg(service.pid, signal.SIGTERM)
                except ProcessLookupError:
                    pass
                await asyncio.wait([service.ended], timeout=max(0.0, end - loop.time()))
            if not service.ended.done():
                killed.append(service.name)
            pid = service.pid
            kill_all(lambda pid=pid: members(pid))  # type: ignore[misc]
        return {"killed": killed}


async def _missing(port: int | None = None, http: str | None = None, file: str | None = None) -> str:
    """What of it does not hold yet, and what was seen; "" when all holds."""
    if file is not None and not os.path.exists(file):
        return f"there is no {file}"
    if port is None:
        return ""
    try:
        async with asyncio.timeout(5.0):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                if http is None:
                    return ""
                writer.write(f"GET {http} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
                line = (await reader.readline()).decode("latin-1").strip()
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        return f"port {port}: {error or 'no answer'}"
    words = line.split()
    if len(words) > 1 and words[1].isdigit() and int(words[1]) < 400:
        return ""
    return f"GET {http} at port {port} was answered with {line or 'nothing'}"
