"""Runs one command to its end: the guest's ``run``."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.killing import kill_job
from deskgym.envs.guest.process_table import members
from deskgym.envs.guest.processes import Collector, Reaper, spawn, system_user

OUTPUT_CEILING = 6 << 20
"""Most bytes of stdout and of stderr that an answer can carry."""

_numbers = itertools.count(1)


class Commands:
    """Runs commands, one after the other."""

    def __init__(self, config: GuestConfig, reaper: Reaper, env: dict[str, str]) -> None:
        self.env = env
        self._config, self._reaper = config, reaper

    def environment(self, more: Mapping[str, str] | None, user: str) -> dict[str, str]:
        """The session's environment with ``more`` in it, and with a mark by which the job can be found."""
        env = {**self.env, **(more or {}), "DESKGYM_JOB": str(next(_numbers))}
        if self._config.marker:
            env["DESKGYM_MACHINE"] = self._config.marker
        if user == "guest" and self._config.uid is not None:
            env.update(HOME="/root", USER="root", LOGNAME="root")
        elif user not in ("agent", "guest"):
            if self._config.uid is None:
                raise ValueError(f"user is {user!r}: it must be 'agent' or 'guest' on a machine without other users")
            env.update(HOME=system_user(user)[2], USER=user, LOGNAME=user)
        return env

    async def run(
        self,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        timeout: float = 30.0,
        output_limit: int = 1 << 20,
        stdin: bytes = b"",
        user: str = "agent",
    ) -> dict[str, Any]:
        """Run a command; see ``Machine.run``."""
        loop = asyncio.get_running_loop()
        limit = max(0, min(output_limit, OUTPUT_CEILING))
        full_env = self.environment(env, user)
        in_read, in_write = os.pipe()
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        try:
            pid = spawn(
                self._config,
                argv,
                env=full_env,
                cwd=cwd or self._config.home,
                user=user,
                stdio=(in_read, out_write, err_write),
            )
        except BaseException:
            for fd in (in_write, out_read, err_read):
                os.close(fd)
            raise
        finally:
            for fd in (in_read, out_write, err_write):
                os.close(fd)
        ended = self._reaper.watch(pid)
        feeding = loop.create_task(feed(in_write, stdin))
        out, err = Collector(loop, out_read, limit), Collector(loop, err_read, limit)
        timed_out = False
        try:
            await asyncio.wait_for(asyncio.shield(ended), timeout)
        except TimeoutError:
            timed_out = True
            mark = f"DESKGYM_JOB={full_env['DESKGYM_JOB']}".encode()
            kill_job(self._config, lambda: members(pid, mark))
            await asyncio.wait([ended], timeout=5.0)
        finally:
            feeding.cancel()
        stdout, stderr = out.finish(), err.finish()
        return {
            "returncode": ended.result() if ended.done() else -9,
            "stdout": stdout,
            "stderr": stderr,
            "timed_out": timed_out,
            "truncated": out.truncated or err.truncated,
        }


async def feed(fd: int, data: bytes) -> None:
    """Write ``data`` into a pipe as fast as it is read, and close it."""
    loop = asyncio.get_running_loop()
    os.set_blocking(fd, False)
    view = memoryview(data)
    try:
        while view:
            try:
                view = view[os.write(fd, view) :]
            except BlockingIOError:
                room = loop.create_future()
                loop.add_writer(fd, _set, room)
                try:
                    await room
                finally:
                    loop.remove_writer(fd)
    except OSError:
        pass  # nobody reads it any more
    finally:
        os.close(fd)


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
