"""Runs a function in a fork of the guest: as another user, with a deadline, and without the price of an interpreter."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable
from typing import Any

import msgpack

from deskgym.envs.guest.config import GuestConfig
from deskgym.envs.guest.processes import Collector, Reaper, become, reset_signals

ANSWER_LIMIT = 12 << 20  # bytes; an answer to the host must fit into a frame


class ChildFailed(Exception):
    """What the function raised in the fork."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


async def in_child(
    config: GuestConfig, reaper: Reaper, user: str, timeout: float, function: Callable[..., Any], *arguments: Any
) -> Any:
    """Call ``function(*arguments)`` in a fork, as ``user``; its result must be what msgpack can carry.

    Raises:
        ChildFailed: it raised; with the exception's name as ``kind``.
        TimeoutError: it took longer than ``timeout`` seconds, and was killed.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _run(config, user, write, function, arguments)
    os.close(write)
    ended = reaper.watch(pid)
    answer = Collector(asyncio.get_running_loop(), read, ANSWER_LIMIT)
    try:
        await asyncio.wait_for(asyncio.shield(ended), timeout)
    except TimeoutError:
        if not ended.done():  # else it has just ended
            os.kill(pid, signal.SIGKILL)
            raise TimeoutError(f"{function.__name__} took longer than {timeout:g} s") from None
    finally:
        data = answer.finish()
        answer.close()
    if answer.truncated:
        raise ChildFailed(f"{function.__name__} gives more than {ANSWER_LIMIT >> 20} MiB", "OverflowError")
    try:
        outcome = msgpack.unpackb(data, raw=False)
    except ValueError:
        raise ChildFailed(
            f"{function.__name__} ended with {ended.result()} and no answer", "ChildProcessError"
        ) from None
    if "error" in outcome:
        raise ChildFailed(outcome["error"], outcome["kind"])
    return outcome["result"]


def _run(config: GuestConfig, user: str, write: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The fork's part; never returns."""
    try:
        gc.disable()  # objects of the guest must not be finalized here: they would close descriptors that are ours
        os.closerange(3, write)
        os.closerange(write + 1, 1 << 16)
        reset_signals()
        os.setsid()
        become(config, user)
        outcome = {"result": function(*arguments)}
    except BaseException as error:
        outcome = {"error": str(error) or type(error).__name__, "kind": type(error).__name__}
    try:
        with open(write, "wb") as pipe:
            pipe.write(msgpack.packb(outcome))
    finally:
        os._exit(0)
