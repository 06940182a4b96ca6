"""The trainer's end of one environment of a vector: what it was asked, what it answered, and what a loss means."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode

from deskgym.envs.errors import MachineError, fault_of
from deskgym.envs.vector.worker import Result

RESTARTS = 3  # of one worker in a row, without an answer between


class EnvClient(ABC):
    """One environment whose worker is elsewhere, and may be lost at any time.

    A worker that is lost costs its own episode, which truncates with ``info["fault"]`` of kind ``"worker_lost"``; a
    fresh worker serves the next one. A reset is asked for again.

    A subclass knows the way to the worker: it calls ``arrived`` when an answer comes and ``lost`` when none will.

    Args:
        index: which environment it is.
        mode: SAME_STEP's workers reset by themselves; NEXT_STEP's are asked to by the ``step`` after an episode's end.
        stats: counts ``lost_workers``.
        timeout: seconds until a silent worker counts as lost.

    Attributes:
        busy: something was asked, and the answer has not been taken.
        done: the answer is there.
        since: when it came, ``time.monotonic()``.
        deadline: when a worker that is still silent counts as lost.
    """

    def __init__(self, index: int, mode: AutoresetMode, stats: Counter[str], timeout: float) -> None:
        self.index, self.mode, self.stats, self.timeout = index, mode, stats, timeout
        self.busy = self.done = False
        self.since = self.deadline = 0.0
        self._value: Any = None
        self._error: Exception | None = None
        self._request: tuple[str, tuple[Any, ...]] = ("", ())
        self._number = 0
        self._over = False
        self._orphaned = ""  # why the worker of the episode was lost, where no step has told it yet
        self._ended: dict[str, Any] = {}  # of the episode that went with its worker, until the next one has begun
        self._mask: Any = None
        self._seed: int | None = None
        self._fresh = False
        self._losses = self._in_a_row = 0
        self._start()

    # --- what a subclass knows

    @abstractmethod
    def _start(self) -> None:
        """Start a worker."""

    @abstractmethod
    def _kill(self) -> None:
        """End the worker at once, with all that it has started."""

    @abstractmethod
    def _send(self, number: int, name: str, arguments: tuple[Any, ...]) -> None:
        """Send a request. Where the worker is lost already, it does nothing: that is found out later."""

    @abstractmethod
    def _blank(self) -> Any:
        """Make the observation one of nothing, and give it."""

    # --- for the vector

    @property
    def failed(self) -> bool:
        """Whether ``take`` would raise."""
        return self._error is not None

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> None:
        """Start a reset."""
        self._over, self._orphaned, self._ended = False, "", {}
        if seed is not None:
            self._seed = seed
        self._ask_reset(seed, options)

    def step(self, action: Any) -> None:
        """Start a step; or a reset, where the episode is over and NEXT_STEP wants one."""
        if self._over and self.mode == AutoresetMode.NEXT_STEP:
            self._ask_reset(None, None)
        elif self._orphaned:
            self.busy, self.done = True, False
            self._end_episode(self._orphaned)
        else:
            self.ask("step", action)

    def ask(self, name: str, *arguments: Any) -> None:
        """Send a request of ``deskgym.envs.vector.worker.REQUESTS``."""
        self._number += 1
        self._send(self._number, name, arguments)  # raises where they cannot travel
        self._request = name, arguments
        self.busy, self.done, self.deadline = True, False, time.monotonic() + self.timeout

    def take(self) -> Any:
        """The answer; a ``Result`` for a reset or a step. The environment is idle then.

        Raises:
            Exception: what was raised there; MachineError where the worker was lost and no episode can tell it.
        """
        value, self._value, error, self._error = self._value, None, self._error, None
        self.busy = self.done = False
        if error is not None:
            raise error
        return value

    # --- for the subclass

    def arrived(self, number: int, value: Any, error: Exception | None) -> None:
        """An answer has come; one to an earlier request is ignored."""
        if number != self._number or self.done:
            return
        self._in_a_row = 0
        if isinstance(value, Result):
            self._fresh = False
            if self._request[0] == "restore":
                self._orphaned, self._ended = "", {}
            self._over = value.terminated or value.truncated
            self._mask = value.info.get("action_mask")
            if self._ended:
                value.truncated = True
                value.info = {**self._ended, **value.info}
                self._ended = {}
        self._finish(value, error)

    def lost(self, why: str) -> None:
        """The worker ended, or is silent: replace it, and end its episode or ask for the reset again."""
        self._replace()
        name, arguments = self._request
        if self._in_a_row > RESTARTS:
            self._over = True
            self._finish(None, self._loss(f"{why}; so were the {RESTARTS} before it"))
        elif name == "step":
            self._end_episode(why)
        elif name == "reset":
            self._ask_reset(*arguments)
        else:
            self._orphaned = why
            self._finish(None, self._loss(why))

    def _replace(self) -> None:
        self._kill()
        self._losses += 1
        self._in_a_row += 1
        self.stats["lost_workers"] += 1
        self._start()
        self._fresh = True

    def _new_seed(self) -> int | None:
        """For a fresh worker, which knows nothing of its predecessor's stream: of the seed and the number of losses."""
        if self._seed is None:
            return None
        return int(np.random.SeedSequence([self._seed, self._losses]).generate_state(1)[0])

    def _loss(self, why: str) -> MachineError:
        return MachineError(f"the worker of environment {self.index} was lost: {why}", "worker_lost")

    def _finish(self, value: Any, error: Exception | None) -> None:
        self._value, self._error, self.done, self.since = value, error, True, time.monotonic()

    def _end_episode(self, why: str) -> None:
        """The step in which the worker was lost, as one whose machine broke."""
        fault = {"fault": fault_of(self._loss(why))}
        self._orphaned, nothing = "", self._blank()
        if self.mode == AutoresetMode.SAME_STEP:
            self._ended = {"final_info": fault, "final_obs": nothing}
            self._ask_reset(None, None)
            return
        self._over = True
        masks = {} if self._mask is None else {"action_mask": np.ones_like(self._mask)}
        self._finish(Result(truncated=True, info=fault | masks), None)

    def _ask_reset(self, seed: int | None, options: dict[str, Any] | None) -> None:
        self.ask("reset", self._new_seed() if seed is None and self._fresh else seed, options)
