"""Launches programs of the agent's user, and waits for what shows that they are ready."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.guest.commands import Commands
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.desktop import Desktop
from deskgym.envs.guest.errors import LaunchFailed
from deskgym.envs.guest.killing import kill_job
from deskgym.envs.guest.launched import Family, LaunchedPrograms
from deskgym.envs.guest.process_table import has_job, has_mark, process_table, uid_of
from deskgym.envs.guest.processes import Collector, Reaper, spawn
from deskgym.envs.guest.readiness import Conditions, wait_until_ready
from deskgym.envs.guest.undumpable import make_undumpable

LAST_WORDS = 8192
_SETTINGS = {"GSETTINGS_BACKEND": "memory"}
"""A program's settings are its own: with those of the session, the agent opens GTK's inspector and edits any widget."""


class Programs:
    """Starts programs that live on, and keeps the last of what they write."""

    def __init__(self, config: GuestConfig, reaper: Reaper, commands: Commands) -> None:
        self._config, self._reaper, self._commands = config, reaper, commands
        self._logs: dict[int, Collector] = {}
        self.launched = LaunchedPrograms(reaper)

    async def launch(
        self,
        desktop: Desktop | None,
        argv: Sequence[str],
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        wait: Mapping[str, Any] | None = None,
        place: Sequence[int] | str | None = None,
        timeout: float = 30.0,
        user: str = "agent",
    ) -> dict[str, Any]:
        """Start a program, and wait until all that ``wait`` names is there.

        Args:
            desktop: where it appears.
            argv: program and arguments.
            env: variables added to the session's.
            cwd: working folder; the home folder if None.
            wait: what shows that it is ready; see ``guest.readiness``. All that is given must be there.
            place: where the window shall be: ``[x, y, width, height]``, or ``"maximized"``; needs ``wait["window"]``.
            timeout: seconds until LaunchFailed.
            user: "agent" or "guest".

        Returns:
            ``pid``, and ``window`` if one was waited for.

        Raises:
            LaunchFailed: it ended with an error, or did not get ready in time.
        """
        conditions = Conditions.from_dict(wait or {})
        if place is not None and conditions.window is None:
            raise ValueError("place needs a window to wait for")
        if conditions.need_desktop and desktop is None:
            raise LaunchFailed(f"{argv[0]} cannot be waited for: there is no desktop")
        looks = desktop is not None and conditions.window is not None
        before = {(w["id"], w["pid"]) for w in desktop.screen.windows.all()} if desktop and looks else set()
        family, ended, log = self._start(argv, env, cwd, user)
        if not wait:
            await asyncio.wait([ended], timeout=0.0)
            return {"pid": family.pid}
        ready = wait_until_ready(desktop, family, conditions, before, place, timeout)
        waiting = asyncio.ensure_future(ready)
        failing = asyncio.ensure_future(_failure(ended))
        try:
            await asyncio.wait([waiting, failing], return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return {"pid": family.pid, **waiting.result()}
            why = f"it ended with {ended.result()} before {conditions} was there"
        except TimeoutError as error:
            why = str(error)
        finally:
            waiting.cancel()
            failing.cancel()
            self._close(family)
        while log.read():
            pass
        words = log.data.decode("utf-8", "replace").strip()
        raise LaunchFailed(f"{argv[0]}: {why}; its last words: {words or 'none'}")

    def agent_begins(self) -> None:
        """The agent has its turn now: what the programs have started since their launch is shut to it as they are."""
        for family in self.launched.distrust(self._config.uid):
            self._close(family)

    def _close(self, family: Family) -> None:
        """Know a program's processes by what they are now, and let nobody trace them."""
        new = family.adopt()
        if self._config.uid is not None:
            for pid in new:
                make_undumpable(pid)

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str] | None, cwd: str | None, user: str
    ) -> tuple[Family, asyncio.Future[int], Collector]:
        full_env = self._commands.environment({**_SETTINGS, **(env or {})}, user)
        log_read, log_write = os.pipe()
        null = os.open("/dev/null", os.O_RDONLY)
        try:
            pid = spawn(
                self._config,
                argv,
                env=full_env,
                cwd=cwd or self._config.home,
                user=user,
                stdio=(null, log_write, log_write),
            )
        except BaseException as error:
            os.close(log_read)
            if isinstance(error, FileNotFoundError) and error.filename == argv[0]:
                raise LaunchFailed(
                    f"no program {argv[0]!r} in the machine; install its package, and name it in a program's `packages`"
                ) from error
            raise
        finally:
            os.close(null)
            os.close(log_write)
        log = Collector(asyncio.get_running_loop(), log_read, LAST_WORDS, keep_tail=True)
        self._logs = {number: kept for number, kept in self._logs.items() if not kept.closed}
        self._logs[pid] = log
        family = self.launched.add(pid, os.path.basename(argv[0]), f"DESKGYM_JOB={full_env['DESKGYM_JOB']}")
        ended = self._reaper.watch(pid)
        return family, ended, log

    def end_others(self, desktop: Desktop | None, keep: Sequence[str] | None = None) -> dict[str, Any]:
        """End all of the agent's processes but the desktop and the launched programs, with their children.

        ``keep`` names the launched programs that stay; None keeps them all.

        For evaluators: nothing of the agent's may paint over, type into or answer for what they read.
        """
        found = self.launched.all() if keep is None else [self.launched.find(name) for name in keep]
        kept = [family for family in found if family]
        own = desktop.own if desktop is not None else {}
        ended: set[int] = set()

        def others() -> set[int]:
            table = [seen for seen in process_table() if seen.state not in "ZX"]
            safe = {1, os.getpid()}.union(*(family.members(table) for family in kept))
            safe |= {seen.pid for seen in table if own.get(seen.pid) == seen.started}
            found = {seen.pid for seen in table if seen.pid not in safe and self._is_agents(seen.pid)}
            ended.update(found)
            return found

        kill_job(self._config, others)
        return {"ended": len(ended)}

    def _is_agents(self, pid: int) -> bool:
        if self._config.uid is None:  # a process machine: what was started here has its mark
            return has_mark(pid, f"DESKGYM_MACHINE={self._config.marker}".encode()) and has_job(pid)
        return uid_of(pid) == self._config.uid

    def last_words(self, pid: int) -> dict[str, Any]:
        """The end of what a launched program wrote to stdout and stderr."""
        log = self._logs.get(pid)
        return {"text": "" if log is None else log.data.decode("utf-8", "replace")}


async def _failure(ended: asyncio.Future[int]) -> None:
    """Return when a program ended with an error: one that hands over to another and ends well may be ready later."""
    if await asyncio.shield(ended) == 0:
        await asyncio.get_running_loop().create_future()
