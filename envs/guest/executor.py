"""Runs code actions: keeps the zygote alive, hands it texts, and collects what the forks print."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from typing import Any

from .channel import Channel
from .commands import OUTPUT_CEILING
from .config import GuestConfig
from .errors import ExecutorFailed
from .processes import Collector, Reaper, kill_all, kill_job, members
from .zygote import run_zygote

_numbers = itertools.count(1)


class Executor:
    """The guest's side of the zygote. One action runs at a time."""

    def __init__(self, config: GuestConfig, reaper: Reaper, env: dict[str, str]) -> None:
        self._config, self._reaper, self._env = config, reaper, env
        self._loop = asyncio.get_running_loop()
        self._pid = 0
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
            run_zygote(self._config, theirs, env)
        theirs.close()
        self._pid, self._socket = pid, ours
        self._broken = False
        self._ready = self._loop.create_future()
        self._started: asyncio.Future[int] = self._loop.create_future()
        self._finished: asyncio.Future[int] = self._loop.create_future()
        self._channel = Channel(self._loop, ours.fileno(), self._on_message, self._on_end)

    def _on_message(self, message: dict[str, Any]) -> None:
        if "ready" in message and not self._ready.done():
            self._ready.set_result(None)
        elif "started" in message and not self._started.done():
            self._started.set_result(message["started"])
        elif "ended" in message and self._started.done() and message["ended"] == self._started.result():
            if not self._finished.done():
                self._finished.set_result(message["status"])

    def _on_end(self) -> None:
        self._broken = True
        if not self._ready.done():
            self._ready.set_exception(ExecutorFailed("the code executor ended while it started"))
            self._ready.exception()  # nobody may be waiting for it
        for future in (self._started, self._finished):
            if not future.done():
                future.set_result(-9)

    async def ready(self, deadline: float) -> None:
        """Wait until the zygote can fork. Raises ExecutorFailed."""
        try:
            await asyncio.wait_for(asyncio.shield(self._ready), deadline)
        except TimeoutError:
            raise ExecutorFailed(f"the code executor was not ready in {deadline:g} s") from None

    async def run(self, text: str, timeout: float = 30.0, output_limit: int = 1 << 16) -> dict[str, Any]:
        """Run a text as a Python script with the agent's rights.

        Programs that it started live on after it; forks of its own interpreter do not.

        Returns:
            ``stdout``, ``stderr`` (texts, each cut at the limit), ``status`` (minus a signal's number),
            ``timed_out``, ``truncated``.
        """
        if self._broken:
            self.start()
        await self.ready(20.0)
        limit = max(0, min(output_limit, OUTPUT_CEILING))
        job = f"code{next(_numbers)}"
        env = {**self._env, "DESKGYM_JOB": job}
        if self._config.marker:
            env["DESKGYM_MACHINE"] = self._config.marker
        self._started, self._finished = self._loop.create_future(), self._loop.create_future()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        out, err = Collector(self._loop, out_read, limit), Collector(self._loop, err_read, limit)
        request = {"text": text, "env": env, "cwd": self._config.home}
        try:
            await self._channel.send(request, (out_write, err_write))
        except OSError:
            self._on_end()
        finally:
            os.close(out_write)
            os.close(err_write)
        timed_out = False
        try:
            await asyncio.wait_for(asyncio.shield(self._finished), timeout)
        except TimeoutError:
            timed_out = True
        self._clean_up(job, timed_out)
        if timed_out:
            await asyncio.wait([self._finished], timeout=5.0)
        status = self._finished.result() if self._finished.done() else -9
        stdout, stderr = out.finish(), err.finish()
        return {
            "stdout": stdout.decode("utf-8", "replace"),
            "stderr": stderr.decode("utf-8", "replace"),
            "status": status,
            "timed_out": timed_out,
            "truncated": out.truncated or err.truncated,
        }

    def _clean_up(self, job: str, everything: bool) -> None:
        """End what an action left: all of it, or only the forks of its interpreter."""
        if not self._started.done():
            return
        root = self._started.result()
        zygote = _command_line(self._pid)

        def fork_of_it(pid: int) -> bool:
            return pid not in (self._pid, os.getpid()) and _command_line(pid) == zygote

        if everything:
            mark = f"DESKGYM_JOB={job}".encode()
            kill_job(
                self._config, lambda: members(root, mark) | {pid for pid in members(os.getpid()) if fork_of_it(pid)}
            )
        elif zygote:
            kill_all(lambda: {pid for pid in members(root) if fork_of_it(pid)})

    def stop(self) -> None:
        """End the zygote."""
        if self._socket is not None:
            self._channel.detach()
            self._socket.close()
            self._socket = None


def _command_line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
