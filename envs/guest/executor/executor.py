"""Runs code actions: keeps the zygote alive, hands it texts, and collects what the forks print."""

from __future__ import annotations

import asyncio
import itertools
import os
from typing import Any

from deskgym.envs.guest.commands import OUTPUT_CEILING
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.executor import action
from deskgym.envs.guest.executor.forks import Forks
from deskgym.envs.guest.killing import kill_all, kill_job
from deskgym.envs.guest.process_table import members
from deskgym.envs.guest.processes import Collector, Reaper
from deskgym.envs.guest.step import CodeRequest

_numbers = itertools.count(1)


class Executor:
    """Runs texts in forks of a warm interpreter, one at a time."""

    def __init__(self, config: GuestConfig, reaper: Reaper, env: dict[str, str]) -> None:
        self._config, self._reaper, self._env = config, reaper, env
        self._loop = asyncio.get_running_loop()
        self._forks = Forks(config, env, action.preload, action.run_action, "the code executor")

    def start(self) -> None:
        """Fork the zygote from this process."""
        self._forks.start()

    async def ready(self, deadline: float) -> None:
        """Wait until the zygote can fork. Raises ExecutorFailed."""
        await self._forks.ready(deadline)

    async def run(self, code: CodeRequest) -> dict[str, Any]:
        """Run a text as a Python script with the agent's rights.

        Programs that it started live on after it; forks of its own interpreter do not.

        Returns:
            A ``CodeResult`` as its message.
        """
        await self.ready(20.0)
        limit = max(0, min(code.output_limit, OUTPUT_CEILING))
        job = f"code{next(_numbers)}"
        env = {**self._env, "DESKGYM_JOB": job}
        if self._config.marker:
            env["DESKGYM_MACHINE"] = self._config.marker
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        out, err = Collector(self._loop, out_read, limit), Collector(self._loop, err_read, limit)
        request = {"text": code.text, "env": env, "cwd": self._config.home}
        pid, finished = await self._forks.fork(request, (out_write, err_write))
        timed_out = False
        try:
            await asyncio.wait_for(asyncio.shield(finished), code.timeout)
        except TimeoutError:
            timed_out = True
        self._clean_up(pid, job, timed_out)
        if timed_out:
            await asyncio.wait([finished], timeout=5.0)
        status = finished.result() if finished.done() else -9
        stdout, stderr = out.finish(), err.finish()
        return {
            "stdout": stdout.decode("utf-8", "replace"),
            "stderr": stderr.decode("utf-8", "replace"),
            "status": status,
            "timed_out": timed_out,
            "truncated": out.truncated or err.truncated,
        }

    def _clean_up(self, root: int, job: str, everything: bool) -> None:
        """End what an action left: all of it, or only the forks of its interpreter."""
        if not root:
            return
        own = (self._forks.pid, os.getpid())
        zygote = _command_line(self._forks.pid)

        def fork_of_it(pid: int) -> bool:
            return pid not in own and _command_line(pid) == zygote

        if everything:
            mark = f"DESKGYM_JOB={job}".encode()
            kill_job(
                self._config, lambda: members(root, mark) | {pid for pid in members(os.getpid()) if fork_of_it(pid)}
            )
        elif zygote:
            kill_all(lambda: {pid for pid in members(root) if fork_of_it(pid)})

    def stop(self) -> None:
        """End the zygote."""
        self._forks.stop()


def _command_line(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""
