"""What runs in a Ray actor: one environment, that answers requests or plays whole episodes with a policy beside it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import MachineError, SetupError, fault_of
from deskgym.envs.machines.doctor import doctor
from deskgym.envs.vector.worker import Result, Worker, sendable

Env = gymnasium.Env[Any, Any]
BESIDE = "beside"  # the concurrency group of what runs while the actor plays


class Policy(Protocol):
    """What ``DistributedEnvs.episodes`` takes: a callable that travels to each actor once (by cloudpickle)."""

    def __call__(self, observation: Any, info: dict[str, Any]) -> tuple[Any, Any]:
        """Choose an action.

        Args:
            observation: what the environment showed.
            info: what it said; with ``action_mask`` where there are masks.

        Returns:
            The action, and what the learner wants to know about it (a log-probability, say), or None.
        """
        ...


class LearnedPolicy(Policy, Protocol):
    """A policy whose weights change."""

    def set_weights(self, weights: Any) -> None:
        """Take over what the learner gave to ``DistributedEnvs.set_weights``. Its arrays are read-only: copy them."""
        ...


@dataclass
class Episode:
    """One episode of T steps.

    Attributes:
        env_id: which environment played it.
        observations: T + 1 of them, the first from the reset.
        infos: T + 1 of them; the last one has the verdict.
        actions: T.
        rewards: float64 (T,).
        extras: T, what the policy said beside each action.
        terminated: it ended by DONE, FAIL or ANS.
        truncated: it ended otherwise.
        fault: None, or its kind, message and cause where the machine broke, or its worker or node was lost. What had
            been played is there if the machine broke, and lost with the worker.
        version: how often ``set_weights`` had been called for the weights that it was played with.
        node: Ray's id of the node.
    """

    env_id: int
    observations: list[Any] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    extras: list[Any] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    fault: dict[str, Any] | None = None
    version: int = 0
    node: str = ""

    def __len__(self) -> int:
        return len(self.actions)

    def add(self, observation: Any, result: Result) -> None:
        """Append what a reset or a step gave."""
        self.observations.append(observation)
        self.infos.append(result.info)

    @property
    def verdict(self) -> dict[str, Any] | None:
        """``info["verdict"]`` of the last step; None after a fault."""
        return self.infos[-1].get("verdict") if self.infos else None


@dataclass(frozen=True)
class Place:
    """Where an actor runs."""

    node: str
    host: str
    pid: int


class EnvServer:
    """The class of the actors.

    Args:
        index: which of the environments this is.
        make: builds it.
        mode: see ``DesktopVectorEnv``.
    """

    def __init__(self, index: int, make: Callable[[], Env], mode: AutoresetMode) -> None:
        self.index, self._make, self._mode = index, make, mode
        self._env: Env | None = None
        self._worker: Worker | None = None
        self._policy: Any = None
        self._policy_id = self._version = self._stopped = 0

    def place(self) -> Place:
        """Where this is; the answer says that the actor runs."""
        import ray

        return Place(ray.get_runtime_context().get_node_id(), socket.gethostname(), os.getpid())

    def examine(self) -> str:
        """What keeps this host from running the environment's machines, and how to mend it; "" if nothing does."""
        desktop = self.env.unwrapped
        if not isinstance(desktop, DesktopEnv) or desktop.machine.kind != "sandbox":
            return ""
        failed = [check for check in doctor.examine() if check.status == "fail"]
        return "; ".join(f"{check.name}: {check.found}" + (f" ({check.fix})" if check.fix else "") for check in failed)

    def serve(self, number: int, name: str, arguments: tuple[Any, ...]) -> tuple[int, Any, Any, Exception | None]:
        """Answer a request of ``deskgym.envs.vector.worker``, or ``"close"``.

        Returns:
            The request's number, the answer, the observation where it is a new one, and what was raised.
        """
        try:
            if name == "close":
                self.close()
                return number, None, None, None
            self.worker.observation = None
            value = self.worker.respond(name, arguments)
            return number, value, self.worker.observation, None
        except Exception as error:
            return number, None, None, sendable(error)

    def play(
        self,
        number: int,
        policy: tuple[int, Sequence[Any]],
        weights: tuple[int, Sequence[Any]],
        seed: int | None,
        options: Any,
    ) -> Episode:
        """Play an episode; an empty one where it was stopped.

        Args:
            number: of the episode, from 1.
            policy: its number, and a list with the reference to it; fetched where the number is a new one.
            weights: their version and a list with the reference to them; version 0 has none.
            seed: what the reset is given.
            options: what it is given, too.
        """
        if number <= self._stopped:
            return Episode(self.index)
        self._update(policy, weights)
        player = Worker(self.env, AutoresetMode.DISABLED)
        episode = Episode(self.index, version=self._version, node=self.place().node)
        try:
            result = player.reset(seed, options)
        except (MachineError, SetupError) as error:
            episode.truncated, episode.fault = True, fault_of(error)
            return episode
        episode.add(player.observation, result)
        rewards = []
        while not (result.terminated or result.truncated):
            if number <= self._stopped:
                return Episode(self.index)
            action, extra = self._policy(player.observation, result.info)
            result = player.step(action)
            episode.actions.append(action)
            episode.extras.append(extra)
            rewards.append(result.reward)
            episode.add(player.observation, result)
        episode.rewards = np.array(rewards, np.float64)
        episode.terminated, episode.truncated = result.terminated, result.truncated
        episode.fault = result.info.get("fault")
        return episode

    def stop(self, number: int) -> None:
        """Play no episode up to this number: one under way ends after its step. Runs beside ``play``.

        This is not ``ray.cancel``: where that is faster than the task it cancels, the actor goes on waiting for the
        task, and fails with all that is asked of it later.
        """
        self._stopped = max(self._stopped, number)

    def close(self) -> None:
        """Stop the environment's machines."""
        if self._env is not None:
            self._env.close()

    @property
    def env(self) -> Env:
        """The environment, built when it is first needed."""
        if self._env is None:
            self._env = self._make()
        return self._env

    @property
    def worker(self) -> Worker:
        """What does the requests."""
        if self._worker is None:
            self._worker = Worker(self.env, self._mode)
        return self._worker

    def _update(self, policy: tuple[int, Sequence[Any]], weights: tuple[int, Sequence[Any]]) -> None:
        import ray

        if policy[0] != self._policy_id:
            self._policy_id, self._policy, self._version = policy[0], ray.get(policy[1][0]), 0
        if weights[0] != self._version:
            self._policy.set_weights(ray.get(weights[1][0]))
            self._version = weights[0]
