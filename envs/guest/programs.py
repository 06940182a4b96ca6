"""Launches programs of the agent's user, and waits for what shows that they are ready."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.guest.commands import Commands
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.desktop import Desktop
from deskgym.envs.guest.errors import LaunchFailed
from deskgym.envs.guest.processes import Collector, Reaper, has_job, has_mark, kill_job, process_table, spawn

LAST_WORDS = 8192


class Programs:
    """Starts programs that live on, and keeps the last of what they write."""

    def __init__(self, config: GuestConfig, reaper: Reaper, commands: Commands) -> None:
        self._config, self._reaper, self._commands = config, reaper, commands
        self._logs: dict[int, Collector] = {}
        self._living: dict[int, str] = {}

    async def launch(
        self,
        desktop: Desktop | None,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        wait: Mapping[str, Any] | None = None,
        timeout: float = 30.0,
        user: str = "agent",
    ) -> dict[str, Any]:
        """Start a program, and wait until all that ``wait`` names is there.

        Args:
            desktop: where it appears.
            argv: program and arguments.
            env: variables added to the session's.
            cwd: working folder; the home folder if None.
            wait: ``{"window": {"title": regex, "class": regex}}``, ``{"app": accessible name}`` and
                ``{"node": {"role": ..., "name": exact, "pattern": regex}}``, any of them together.
            timeout: seconds until LaunchFailed.
            user: "agent" or "guest".

        Returns:
            ``pid``, and ``window`` if one was waited for.

        Raises:
            LaunchFailed: it ended with an error, or did not get ready in time.
        """
        wait = dict(wait or {})
        if unknown := set(wait) - {"window", "app", "node"}:
            raise ValueError(f"wait has unknown keys {sorted(unknown)}; legal are 'window', 'app' and 'node'")
        if wait and desktop is None:
            raise LaunchFailed(f"{argv[0]} cannot be waited for: there is no desktop")
        before = {window["id"] for window in desktop.screen.windows.all()} if wait and desktop else set()
        pid, ended, log = self._start(argv, env, cwd, user)
        if not wait or desktop is None:
            await asyncio.wait([ended], timeout=0.0)
            return {"pid": pid}
        waiting = asyncio.ensure_future(self._ready(desktop, wait, before, timeout))
        failing = asyncio.ensure_future(_failure(ended))
        try:
            await asyncio.wait([waiting, failing], return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return {"pid": pid, **waiting.result()}
            why = f"it ended with {ended.result()} before {_wanted(wait)} was there"
        except TimeoutError as error:
            why = str(error)
        finally:
            waiting.cancel()
            failing.cancel()
        while log.read():
            pass
        words = log.data.decode("utf-8", "replace").strip()
        raise LaunchFailed(f"{argv[0]}: {why}; its last words: {words or 'none'}")

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, user: str
    ) -> tuple[int, asyncio.Future[int], Collector]:
        log_read, log_write = os.pipe()
        null = os.open("/dev/null", os.O_RDONLY)
        try:
            pid = spawn(
                self._config,
                argv,
                env=self._commands.environment(env, user),
                cwd=cwd or self._config.home,
                user=user,
                stdio=(null, log_write, log_write),
            )
        except BaseException:
            os.close(log_read)
            raise
        finally:
            os.close(null)
            os.close(log_write)
        log = Collector(asyncio.get_running_loop(), log_read, LAST_WORDS, keep_tail=True)
        self._logs = {number: kept for number, kept in self._logs.items() if not kept.closed}
        self._logs[pid] = log
        ended = self._reaper.watch(pid)
        self._living[pid] = os.path.basename(argv[0])
        ended.add_done_callback(lambda _: self._living.pop(pid, None))
        return pid, ended, log

    def living(self, name: str) -> int | None:
        """The process of the first launched program of that name that has not ended, or None.

        It is the process that was launched and no other: its number is not given away before it is reaped here.
        """
        return next((pid for pid, its_name in self._living.items() if its_name == name), None)

    def end_others(self, desktop: Desktop | None, keep: Sequence[str] = ()) -> dict[str, Any]:
        """End all of the agent's processes but the desktop and the launched programs named, with their children.

        For evaluators: nothing of the agent's may paint over, type into or answer for what they read.
        """
        kept = {pid for pid, name in self._living.items() if name in keep}
        own = desktop.own if desktop is not None else set()
        ended: set[int] = set()

        def others() -> set[int]:
            table = [seen for seen in process_table() if seen.state not in "ZX"]
            family = set(kept)
            while more := {seen.pid for seen in table if seen.parent in family} - family:
                family |= more
            safe = {1, os.getpid()} | own | family
            found = {seen.pid for seen in table if seen.pid not in safe and self._is_agents(seen.pid)}
            ended.update(found)
            return found

        kill_job(self._config, others)
        return {"ended": len(ended)}

    def _is_agents(self, pid: int) -> bool:
        if self._config.uid is None:  # a process machine: what was started here has its mark
            return has_mark(pid, f"DESKGYM_MACHINE={self._config.marker}".encode()) and has_job(pid)
        try:
            return os.stat(f"/proc/{pid}").st_uid == self._config.uid
        except OSError:
            return False

    def last_words(self, pid: int) -> dict[str, Any]:
        """The end of what a launched program wrote to stdout and stderr."""
        log = self._logs.get(pid)
        return {"text": "" if log is None else log.data.decode("utf-8", "replace")}

    async def _ready(
        self, desktop: Desktop, wait: Mapping[str, Any], before: set[int], timeout: float
    ) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        found: dict[str, Any] = {}
        if "window" in wait:
            window = wait["window"]
            found["window"] = await desktop.screen.windows.wait_for(
                window.get("title"), window.get("class"), False, timeout, before
            )
        if "app" in wait or "node" in wait:
            node = wait.get("node") or {}
            pattern = node.get("pattern")
            await desktop.reader.wait_for(
                wait.get("app"),
                role=node.get("role"),
                name=node.get("name") if pattern is None else re.compile(pattern),
                deadline=max(0.0, end - loop.time()),
            )
        return found


async def _failure(ended: asyncio.Future[int]) -> None:
    """Return when a program ended with an error: one that hands over to another and ends well may be ready later."""
    if await asyncio.shield(ended) == 0:
        await asyncio.get_running_loop().create_future()


def _wanted(wait: Mapping[str, Any]) -> str:
    return " and ".join(f"{key} {value!r}" for key, value in wait.items())
