"""The programs that make up a desktop, started and watched by the guest."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import StartFailed
from deskgym.envs.guest.processes import Collector, Reaper, spawn


class Service:
    """One running program of the desktop, with the last of what it wrote to stderr.

    Attributes:
        pid: its process.
        ended: its return code, once it has ended.
    """

    def __init__(self, name: str, pid: int, ended: asyncio.Future[Any], log: Collector) -> None:
        self.name, self.pid, self.ended, self._log = name, pid, ended, log

    @classmethod
    def start(
        cls,
        config: GuestConfig,
        reaper: Reaper,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        user: str,
        pass_fds: Sequence[int] = (),
        cwd: str = "/",
        log_bytes: int = 4096,
    ) -> Service:
        """Start a program; the last ``log_bytes`` that it writes are kept. Raises StartFailed when there is none."""
        log_read, log_write = os.pipe()
        null = os.open("/dev/null", os.O_RDWR)
        try:
            pid = spawn(
                config, argv, env=env, cwd=cwd, user=user, stdio=(null, log_write, log_write), pass_fds=pass_fds
            )
        except OSError as error:
            os.close(log_read)
            raise StartFailed(f"{argv[0]} cannot be started: {error}") from error
        finally:
            os.close(null)
            os.close(log_write)
        loop = asyncio.get_running_loop()
        log = Collector(loop, log_read, log_bytes, keep_tail=True)
        return cls(os.path.basename(argv[0]), pid, reaper.watch(pid), log)

    def last_words(self) -> str:
        """The end of what it wrote to stderr."""
        while self._log.read():
            pass
        return self._log.data.decode("utf-8", "replace").strip()

    def failure(self, what: str) -> StartFailed:
        """The error to raise because this service did not do ``what``."""
        state = f"ended with {self.ended.result()}" if self.ended.done() else "still runs"
        return StartFailed(f"{self.name} {what}; it {state}; its last words: {self.last_words() or 'none'}")


async def first_line(service: Service, fd: int, deadline: float) -> str:
    """What a service writes to a pipe to say that it is ready; closes the pipe.

    Raises:
        StartFailed: it ended, or did not do so in ``deadline`` seconds.
    """
    loop = asyncio.get_running_loop()
    line = bytearray()
    done: asyncio.Future[Any] = loop.create_future()

    def read() -> None:
        piece = os.read(fd, 4096)
        line.extend(piece)
        if (not piece or b"\n" in line) and not done.done():
            done.set_result(None)

    loop.add_reader(fd, read)
    try:
        await asyncio.wait((done, service.ended), timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
    finally:
        loop.remove_reader(fd)
        os.close(fd)
    if b"\n" not in line:
        raise service.failure("did not say that it was ready")
    return line.decode().strip()
