"""The guest's side of kernels: opens a session, hands it cells, and leaves nothing of it behind.

A session is one kernel process, all that it starts, and a working folder. When it ends, its processes are killed, its
folder and all that it wrote elsewhere are removed, so that the next session finds the machine as the first one did.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import signal
import stat
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from deskgym.envs.guest.commands import OUTPUT_CEILING
from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.errors import KernelFailed
from deskgym.envs.guest.executor.forks import Forks
from deskgym.envs.guest.kernel.cleanup import SessionCleanup, strangers
from deskgym.envs.guest.kernel.process import preload, run_kernel
from deskgym.envs.guest.kernel.session import Session
from deskgym.envs.guest.killing import kill_all
from deskgym.envs.guest.processes import Collector, Reaper

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
ENDING = 1.0  # seconds that a process which was killed may take
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Held:
    """A session that stands still.

    Attributes:
        session: its process waits.
        files: a copy of its folder.
        cwd: its working folder.
    """

    session: Session
    files: str
    cwd: str


class Kernels:
    """One session at a time, and any number that stand still."""

    def __init__(self, config: GuestConfig, reaper: Reaper, env: dict[str, str]) -> None:
        self._config, self._env = config, env
        self._loop = asyncio.get_running_loop()
        self._forks: Forks | None = None
        self._preloaded: tuple[str, ...] = ()
        self._cleanup = SessionCleanup(config)
        self._session: Session | None = None
        self._held: dict[int, Held] = {}

    async def warm(self, preload_also: Sequence[str] = (), deadline: float = 60.0) -> dict[str, Any]:
        """Have an interpreter ready, within ``deadline`` seconds, that has loaded what kernels use and these modules.

        Returns:
            ``libraries``: the folder of the libraries, or None.
        """
        more = tuple(name for name in preload_also if name not in self._preloaded)
        if self._forks is None or more:
            if self._forks is not None:
                self._forks.stop()
            self._preloaded += more
            self._forks = Forks(
                self._config, self._env, partial(preload, self._config, self._preloaded), run_kernel, "the kernel"
            )
        await self._forks.ready(deadline)
        return {"libraries": self._config.libraries}

    async def open(
        self,
        files: Mapping[str, bytes] | None = None,
        cells: Sequence[str] = (),
        preload_also: Sequence[str] = (),
        memory_mb: int = 2048,
        disk_mb: int = 256,
        timeout: float = 30.0,
        deadline: float = 60.0,
    ) -> dict[str, Any]:
        """Open a session in place of the present one; what is held stays.

        Args:
            files: of its working folder, by name.
            cells: run first, their output dropped.
            preload_also: modules that the interpreter has loaded already, beside the usual ones.
            memory_mb: of each of its processes.
            disk_mb: of each file that it writes.
            timeout: seconds for all cells together.
            deadline: seconds for the interpreter to be ready.

        Returns:
            ``ms``: how long each cell took.

        Raises:
            KernelFailed: a cell failed; the message has its traceback.
        """
        await self._end()
        await self.warm(preload_also, deadline)
        assert self._forks is not None
        number = next(_numbers)
        folder = f"{self._cleanup.prepare()}/session-{number}"
        _fill(self._config, folder, files or {})
        env = {
            **self._env, "HOME": folder, "TMPDIR": f"{folder}/.tmp", "DESKGYM_JOB": f"kernel{number}",
        }  # fmt: skip
        if self._config.marker:
            env["DESKGYM_MACHINE"] = self._config.marker
        self._session = Session(self._config, folder, f"DESKGYM_JOB=kernel{number}".encode())
        request = {"env": env, "cwd": folder, "memory_mb": memory_mb, "disk_mb": disk_mb}
        await self._session.start(self._forks, request)
        end, took = time.monotonic() + timeout, []
        for cell in cells:
            start = time.perf_counter()
            answer = await self.run(cell, max(0.01, end - time.monotonic()), 4096, echo=False)
            if answer["status"] != "ok":
                raise KernelFailed(f"{answer['status']}: {answer['trace'][-2000:]}\nin the cell\n{cell[:2000]}")
            took.append((time.perf_counter() - start) * 1000)
        return {"ms": took}

    async def run(
        self, text: str, seconds: float = 30.0, output_limit: int = 1 << 16, echo: bool = True
    ) -> dict[str, Any]:
        """Run a cell, which is interrupted after ``seconds``: the user's own limit, the same on slow machines.

        Returns:
            ``status``: ``"ok"``, ``"error"`` (with ``trace``), ``"timeout"`` (it was interrupted, the session lives) or
            ``"died"`` (the session is gone); ``stdout`` and ``stderr``, each cut at the limit; ``truncated``.
        """
        session = self._living()
        limit = max(0, min(output_limit, OUTPUT_CEILING))
        out_read, out_write = os.pipe()
        err_read, err_write = os.pipe()
        out, err = Collector(self._loop, out_read, limit), Collector(self._loop, err_read, limit)
        request = {"op": "run", "text": text, "echo": echo}
        answer, late = await session.ask(request, seconds, (out_write, err_write))
        status = "died" if answer is None else "timeout" if late else answer.get("status")
        stdout, stderr = out.finish(), err.finish()
        if answer is None:
            await self._end()
        return {
            "status": status if status in ("ok", "error", "timeout") else "died",
            "trace": _text(answer, "trace") if answer else "",
            "late": late,
            "stdout": stdout.decode("utf-8", "replace"),
            "stderr": stderr.decode("utf-8", "replace"),
            "truncated": out.truncated or err.truncated,
        }

    async def ask(self, request: dict[str, Any], timeout: float = 30.0) -> dict[str, Any]:
        """Ask the kernel for something else than a cell: ``call``, ``forget``, ``picture``.

        Raises:
            KernelFailed: it could not do it in time, or died of it.
        """
        answer, late = await self._living().ask(request, timeout)
        if answer is None or late:
            await self._end()
            raise KernelFailed(f"the kernel {'gave no answer in time' if late else 'ended'}: {request.get('op')}")
        if "error" in answer:
            raise KernelFailed(_text(answer, "error"))
        return answer

    async def put(self, name: str, data: bytes) -> dict[str, Any]:
        """Write a file into the session's folder."""
        session = self._living()
        _write(self._config, session.folder, name, data)
        return {}

    async def get(self, name: str, limit: int = 8 << 20) -> dict[str, Any]:
        """Read a file of the session's folder.

        Raises:
            KernelFailed: it is not there, no regular file, or larger.
        """
        path = _below(self._living().folder, name)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise KernelFailed(f"{name!r}: {error.strerror}") from error
        with open(fd, "rb") as file:
            about = os.fstat(fd)
            real = os.path.realpath(f"/proc/self/fd/{fd}")
            inside = real.startswith(os.path.realpath(self._living().folder) + "/")
            if not stat.S_ISREG(about.st_mode) or about.st_size > limit or not inside:
                raise KernelFailed(f"{name!r} is no regular file of at most {limit} bytes in the session's folder")
            return {"data": file.read(limit)}

    async def hold(self) -> dict[str, Any]:
        """Keep the session as it is now, while it goes on: a copy of its process, and one of its folder.

        Returns:
            ``number``: for ``resume`` and ``release``.

        Raises:
            KernelFailed: it could not be done; or it has what a fork does not copy, such as threads, other processes,
                open files, or files outside its folder.
        """
        session = self._living()
        others = self._spared()
        if strange := [
            *strangers(session.pid, session.living() - others, self._config.libraries),
            *self._cleanup.strays(),
        ]:
            raise KernelFailed(f"the session has what cannot be copied: {', '.join(strange[:5])}")
        number = next(_numbers)
        files = self._cleanup.keep(session.folder, f"held-{number}")
        try:
            copy, cwd = await session.copy()
        except BaseException:
            shutil.rmtree(files, ignore_errors=True)
            raise
        self._held[number] = Held(copy, files, cwd)
        return {"number": number}

    async def resume(self, number: int) -> dict[str, Any]:
        """Go on from what is held, in place of the present session; it stays held.

        Raises:
            KernelFailed: it is not there any more.
        """
        held = self._held.get(number)
        if held is None:
            raise KernelFailed(f"there is no held session {number}")
        await self._end()
        try:
            self._cleanup.put_back(held.files, os.path.basename(held.session.folder))
            self._session, _ = await held.session.copy(held.cwd, live=True)
        except BaseException:
            kill_all(lambda: held.session.living() - self._spared())
            self._cleanup.remove()
            raise
        return {}

    async def release(self, number: int) -> dict[str, Any]:
        """Let go of what is held, and wait until it has ended. Idempotent."""
        held = self._held.pop(number, None)
        if held is not None:
            pid, end = held.session.pid, time.monotonic() + ENDING
            with suppress(ProcessLookupError):
                if pid in held.session.living():
                    os.kill(pid, signal.SIGKILL)
            held.session.disconnect()
            shutil.rmtree(held.files, ignore_errors=True)
            while pid in held.session.living() and time.monotonic() < end:  # else it is a stranger to the next ``hold``
                await asyncio.sleep(0.001)
        return {}

    async def close(self) -> dict[str, Any]:
        """End the session, if there is one, and all that is held, and remove all that they left. Idempotent.

        Raises:
            KernelFailed: something of it could not be removed: the machine must be started anew.
        """
        for number in list(self._held):
            await self.release(number)
        await self._end()
        return {}

    async def _end(self) -> None:
        """End the session, if there is one, and remove all that it left; what is held stays. Raises KernelFailed."""
        if self._session is not None:
            await self._session.end(self._spared())
            self._cleanup.remove()
            self._session = None  # only now: what fails here is tried again, and fails again

    def _spared(self) -> frozenset[int]:
        return frozenset(held.session.pid for held in self._held.values())

    def _living(self) -> Session:
        if self._session is None or self._session.ended:
            raise KernelFailed("there is no kernel: open one")
        return self._session


def _text(answer: Mapping[str, Any], key: str) -> str:
    return str(answer.get(key, ""))[:20_000]


def _fill(config: GuestConfig, folder: str, files: Mapping[str, bytes]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for path in (folder, f"{folder}/.tmp"):
        os.makedirs(path)
        _own(config, path)
    for name, data in files.items():
        _write(config, folder, name, data)


def _write(config: GuestConfig, folder: str, name: str, data: bytes) -> None:
    """Write a file. Folders on its way are made; no link is followed, even if one is put there at this moment."""
    *parents, last = os.path.relpath(_below(folder, name), folder).split("/")
    at = os.open(folder, _FOLDER)
    try:
        for part in parents:
            outer, at = at, _enter(config, at, part)
            os.close(outer)
        with suppress(FileNotFoundError):
            os.unlink(last, dir_fd=at)
        fd = os.open(last, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644, dir_fd=at)
    finally:
        os.close(at)
    with open(fd, "wb") as file:
        file.write(data)
        if config.uid is not None:
            os.fchown(fd, *config.owner)


def _enter(config: GuestConfig, at: int, name: str) -> int:
    """Open a folder in another one; it is made where it is not there, or something else is."""
    try:
        return os.open(name, _FOLDER, dir_fd=at)
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=at)
    os.mkdir(name, dir_fd=at)
    if config.uid is not None:
        os.chown(name, *config.owner, dir_fd=at, follow_symlinks=False)
    return os.open(name, _FOLDER, dir_fd=at)


def _below(folder: str, name: str) -> str:
    path = os.path.normpath(os.path.join(folder, name))
    if not path.startswith(folder + "/"):
        raise ValueError(f"{name!r} is not below the session's folder")
    return path


def _own(config: GuestConfig, path: str) -> None:
    if config.uid is not None:
        os.chown(path, *config.owner, follow_symlinks=False)
