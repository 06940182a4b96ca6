"""A worker of a vector in a process of this host."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import forkserver
from multiprocessing.connection import wait
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import CloudpickleWrapper

from deskgym.envs.vector.client import EnvClient
from deskgym.envs.vector.memory import Observations, blank
from deskgym.envs.vector.worker import serve

_context = multiprocessing.get_context("forkserver")
PRELOADED = ["deskgym.envs.vector.worker", "deskgym.envs.machines.sandbox.machine", "deskgym.task_suites", "cv2"]
"""What the process that workers are forked from imports: none of them needs to, and they share its memory."""


class EnvProcess(EnvClient):
    """One environment in a process of its own.

    Args:
        index: which it is.
        mode: when it resets; see ``EnvClient``.
        stats: counts ``lost_workers``.
        timeout: seconds until a silent worker counts as lost.
        make: builds the environment.
        observations: where its observations go.
    """

    def __init__(
        self,
        index: int,
        mode: AutoresetMode,
        stats: Counter[str],
        timeout: float,
        make: Callable[[], gymnasium.Env[Any, Any]],
        observations: Observations,
    ) -> None:
        self._make, self._observations = CloudpickleWrapper(make), observations
        super().__init__(index, mode, stats, timeout)

    def receive(self) -> None:
        """Take what has come: an answer, or the news that the worker has ended."""
        try:
            self.arrived(*self._pipe.recv())
        except (EOFError, OSError) as error:
            self.lost(f"its process ended ({type(error).__name__})")

    def ask_to_close(self) -> None:
        """Let the worker end when it has done what it is at."""
        self._send(0, "close", ())

    def end(self, timeout: float) -> None:
        """Wait for the worker's end, and kill it after ``timeout`` seconds."""
        self._process.join(timeout)
        self._kill()

    def _start(self) -> None:
        self._pipe, theirs = _context.Pipe()
        arguments = (self.index, self._make, theirs, self._observations, self.mode, dict(os.environ))
        self._process = _context.Process(target=serve, args=arguments, name=f"deskgym-env-{self.index}")
        with _without_main(), theirs:
            self._process.start()

    def _kill(self) -> None:
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()
        self._pipe.close()

    def _send(self, number: int, name: str, arguments: tuple[Any, ...]) -> None:
        with suppress(OSError):
            self._pipe.send((number, name, arguments))

    def _blank(self) -> Any:
        nothing = blank(self._observations.space)
        self._observations.write(self.index, nothing)
        return nothing


def prepare_workers() -> None:
    """Start what workers are forked from, unless it runs: a process that knows ``PRELOADED``."""
    _context.set_forkserver_preload(PRELOADED)
    with _without_main():
        forkserver.ensure_running()


def wait_for(envs: Sequence[EnvProcess], end: float | None) -> None:
    """Wait until some of them have answered, the first of their deadlines has come, or ``end``; take the answers."""
    until = min(env.deadline for env in envs)
    until = until if end is None else min(until, end)
    ready = wait([env._pipe for env in envs], max(until - time.monotonic(), 0.0))
    now = time.monotonic()
    for env in envs:
        if env._pipe in ready:
            env.receive()
        elif now >= env.deadline:
            env.lost(f"it was silent for {env.timeout:g} s")


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the main module while a process is started, so that a script needs no ``if __name__ == "__main__"``.

    What is defined there travels by value (cloudpickle); multiprocessing would run the whole script again.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
