"""The learner's end of an environment in a Ray actor."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from deskgym.envs.errors import MachineError, fault_of
from deskgym.envs.ray.actor import BESIDE, Episode
from deskgym.envs.vector.client import RESTARTS, EnvClient
from deskgym.envs.vector.memory import blank

START = 120.0  # seconds until an actor that a node has room for must run


@dataclass(frozen=True)
class Actors:
    """How a ``RemoteEnv`` gets its actor.

    Attributes:
        ray: the module.
        start: makes the actor of an environment, by its index.
        no_room: the error for an actor that no node has room for.
        space: of one observation.
    """

    ray: Any
    start: Callable[[int], Any]
    no_room: Callable[[], MachineError]
    space: spaces.Space[Any]


class RemoteEnv(EnvClient):
    """One environment in a Ray actor.

    Args:
        index: which environment it is.
        mode: when its worker resets; see ``EnvClient``.
        stats: counts ``lost_workers``, and as ``failed_starts`` actors that were placed on a node that was gone.
        timeout: seconds until a silent worker counts as lost.
        actors: where its actor comes from.

    Attributes:
        actors: where its actor comes from.
        actor: the handle of the one now.
        placed: the reference to the actor's ``Place``; it is there when the actor runs.
        pending: the reference to the answer to what was asked last.
        observation: the last one.
        plays: the references to the episodes that are under way or not yet taken, oldest first.
        begun: when the first of them began at the latest, ``time.monotonic()``.
        started: when the actor was asked for.
    """

    def __init__(self, index: int, mode: AutoresetMode, stats: Counter[str], timeout: float, actors: Actors) -> None:
        self.actors = actors
        self.observation: Any = blank(actors.space)
        self.plays: deque[Any] = deque()
        self._plays = 0
        self.begun, self._wanted = 0.0, time.monotonic()
        super().__init__(index, mode, stats, timeout)

    @property
    def runs(self) -> bool:
        """Whether a node had room for the actor."""
        return bool(self.actors.ray.wait([self.placed], timeout=0)[0])

    def lost(self, why: str) -> None:
        """The actor ended, or is silent: see ``EnvClient``. One that never ran costs nothing: another is started."""
        if self._start_again():
            self._send(self._number, *self._request)
        else:
            super().lost(why)

    def receive(self) -> None:
        """Take the answer, which is there; or find out that none will come."""
        try:
            number, value, observation, problem = self.actors.ray.get(self.pending)
        except self.actors.ray.exceptions.RayTaskError as error:  # the answer could not be sent, say
            self.arrived(self._number, None, error)
            return
        except self.actors.ray.exceptions.RayError as loss:
            self.lost(short(loss))
            return
        if observation is not None:
            self.observation = observation
        self.arrived(number, value, problem)

    def check(self) -> None:
        """Find out whether the actor has been silent for too long."""
        if self.done or time.monotonic() < self.deadline:
            return
        if self.runs:
            self.lost(f"it was silent for {self.timeout:g} s")
        else:
            self._finish(None, self.actors.no_room())

    def end(self, timeout: float) -> None:
        """Let the actor stop its machines, within ``timeout`` seconds, and end it."""
        with suppress(Exception):  # Ray may have been shut down before, and the actor with it
            if self.runs:
                self.actors.ray.wait([self.pending], timeout=timeout)
        self._kill()

    def ask_to_close(self) -> None:
        """Let the actor stop its machines when it has done what it is at."""
        with suppress(Exception):
            self._send(0, "close", ())

    # --- whole episodes

    def play(self, policy: Any, weights: Any, seed: int | None, options: Any) -> Any:
        """Queue an episode, see ``EnvServer.play``; the reference to it."""
        self._over = True
        if seed is not None:
            self._seed = seed
        if self._fresh and seed is None:
            seed = self._new_seed()
        self._fresh = False
        if not self.plays:
            self.begun = time.monotonic()
        self._plays += 1
        self.plays.append(self.actor.play.remote(self._plays, policy, weights, seed, options))
        return self.plays[-1]

    def stop_playing(self) -> None:
        """End the episode under way after its step, and play none of those that are queued."""
        self.plays.clear()
        with suppress(Exception):  # Ray may have been shut down before
            self.actor.stop.options(concurrency_group=BESIDE).remote(self._plays)

    def take_episode(self) -> Episode | None:
        """The oldest episode, when it is there; None where the actor ended before it began to play.

        Where it was lost with its worker it has a fault. Then, and where it is None, nothing is queued any more.

        Raises:
            MachineError: no episode could be begun, for the fourth time in a row.
        """
        ref = self.plays.popleft()
        self.begun = time.monotonic()
        try:
            episode: Episode = self.actors.ray.get(ref)
        except self.actors.ray.exceptions.RayTaskError:  # the policy raised, or the environment could not be built
            raise
        except self.actors.ray.exceptions.RayError as error:
            if self._start_again():
                self.plays.clear()
                return None
            return self.lose_episode(short(error))
        if episode.actions or not episode.fault:
            self._in_a_row = 0
        else:
            self._in_a_row += 1
            self._give_up(episode.fault["message"])
        return episode

    def lose_episode(self, why: str) -> Episode:
        """Replace the worker, and say what became of the episode that it was playing."""
        self.plays.clear()
        self._replace()
        self._give_up(why)
        return Episode(self.index, truncated=True, fault=fault_of(self._loss(why)))

    def _give_up(self, why: str) -> None:
        if self._in_a_row > RESTARTS:
            raise MachineError(f"environment {self.index} could not play, {RESTARTS + 1} times in a row: {why}")

    # --- the way to the worker

    def _start_again(self) -> bool:
        """Start another actor in the place of one that never ran: its node was gone, and Ray did not know it yet."""
        ran = self.runs and not isinstance(_outcome(self.actors.ray, self.placed), Exception)
        if ran or time.monotonic() > self._wanted + START:
            return False
        self.stats["failed_starts"] += 1
        self._kill()
        self._start()
        self._fresh = True
        return True

    def _replace(self) -> None:
        self._wanted = time.monotonic()
        super()._replace()

    def _start(self) -> None:
        self.started = time.monotonic()
        self.actor = self.actors.start(self.index)
        self.placed = self.pending = self.actor.place.remote()

    def _send(self, number: int, name: str, arguments: tuple[Any, ...]) -> None:
        self.pending = self.actor.serve.remote(number, name, arguments)

    def _kill(self) -> None:
        with suppress(Exception):  # it may be dead, and Ray shut down
            self.actors.ray.kill(self.actor)

    def _blank(self) -> Any:
        self.observation = blank(self.actors.space)
        return self.observation


def _outcome(ray: Any, ref: Any) -> Any:
    try:
        return ray.get(ref)
    except ray.exceptions.RayError as error:
        return error


def short(error: Exception) -> str:
    """The beginning of one of Ray's errors, which explain at length."""
    return " ".join(str(error).split())[:300]
