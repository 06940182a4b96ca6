"""Branching: save, restore and fork an episode at any step, with what all wrappers inside keep of it."""

from __future__ import annotations

from typing import Any, Self

import gymnasium

from deskgym.envs import branching
from deskgym.envs.options import checked
from deskgym.envs.states import SavedState
from deskgym.wrappers.base import MachineWrapper


class Branching(MachineWrapper):
    """Put it around all other wrappers: it keeps the last observation, and saves what they keep of an episode.

    ``env.unwrapped`` has the same three methods, for the environment without its wrappers.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> from deskgym.wrappers import Branching
        >>> env = Branching(gym.make("deskgym/Science-v0", task="kalgebra/tab"))  # doctest: +SKIP
        >>> observation, info = env.reset(seed=0)  # doctest: +SKIP
        >>> state = env.save_state()  # doctest: +SKIP
        >>> env.step(env.action_space.sample())  # doctest: +SKIP
        >>> observation, info = env.restore_state(state)  # doctest: +SKIP
        >>> for one in env.fork(4):  # doctest: +SKIP
        ...     one.close()
    """

    @checked
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any]) -> None:
        super().__init__(env)
        self._observation: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset the env, or restore the state of ``options={"state": state}``."""
        if options and "state" in options:
            return self.restore_state(**self.inner.asked_state(options), seed=seed)
        observation, info = self.env.reset(seed=seed, options=options)
        self._observation = observation
        return observation, info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step the env."""
        step = self.env.step(action)
        self._observation = step[0]
        return step

    def memory(self) -> dict[str, Any]:
        """Nothing: another one around it gives what was observed."""
        return {}

    def save_state(self) -> SavedState:
        """The episode as it is now, wrappers included; see ``MachineEnv.save_state``.

        Raises:
            StateError: a wrapper keeps what cannot be copied; the message names it.
        """
        return branching.save(self.env, self._observation)

    def restore_state(
        self, state: SavedState, *, strict: bool = True, seed: int | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Be where a state was saved, with the observation that was given there; see ``MachineEnv.restore_state``."""
        observation, info = branching.restore(self.env, state, strict=strict, seed=seed)
        self._observation = observation
        return observation, info

    def fork(self, n: int, *, strict: bool = True) -> list[Self]:
        """``n`` environments with the same wrappers that stand where this one does; see ``MachineEnv.fork``."""
        with self.save_state() as state:
            return branching.fork_from(self, n, lambda env: env.restore_state(state, strict=strict))
