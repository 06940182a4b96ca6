"""TimeLimitSeconds: episodes end after so many seconds, whatever their steps were."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import gymnasium

from deskgym.envs.options import checked_after
from deskgym.wrappers.base import DesktopWrapper
from deskgym.wrappers.recording.record_episode import RecordEpisode
from deskgym.wrappers.reward.partial_credit import PartialCredit


class TimeLimitSeconds(DesktopWrapper):
    """Truncates an episode at the first step that ends ``seconds`` after ``reset`` did, and evaluates it.

    What the agent thinks counts as well as what the desktop does. The reward and ``info["verdict"]`` are those of the
    step limit. ``info["time_left"]`` is what is left, in seconds, from ``reset`` on. A step is not cut short: the last
    one may end late.

    Args:
        env: not with RecordEpisode or PartialCredit inside, which would miss the end: they go outside.
        seconds: above 0.

    Raises:
        ValueError: an argument is not legal.

    Examples:
        >>> import gymnasium as gym, deskgym
        >>> env = TimeLimitSeconds(gym.make("deskgym/Science-v0"), 60)  # doctest: +SKIP
    """

    @checked_after
    def __init__(self, env: gymnasium.Env[dict[str, Any], Any], seconds: float) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, seconds=seconds)
        super().__init__(env)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
            raise ValueError(f"seconds={seconds!r}; legal is a number above 0")
        while isinstance(env, gymnasium.Wrapper):
            if isinstance(env, PartialCredit | RecordEpisode):
                name = type(env).__name__
                raise ValueError(f"{name} would not see that the time is up: put it outside of TimeLimitSeconds")
            env = env.env
        self.seconds = float(seconds)
        self._deadline = math.inf

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Reset; the time runs from here on."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._deadline = time.monotonic() + self.seconds
        return observation, {**info, "time_left": self.seconds}

    def memory(self) -> dict[str, Any]:
        """The seconds that are left: a saved state costs none."""
        return {"left": self._deadline - time.monotonic()}

    def recall(self, memory: Mapping[str, Any]) -> None:
        """The time runs on from there."""
        self._deadline = time.monotonic() + memory["left"]

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Step; when the time is up, end the episode and evaluate it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        left = self._deadline - time.monotonic()
        if left <= 0 and not (terminated or truncated):
            reward, truncated, ending = self.desktop.conclude()
            timing = {**info.get("timing", {}), **ending.get("timing", {})}
            info = {**info, **ending, "timing": timing}
        return observation, reward, terminated, truncated, {**info, "time_left": max(0.0, left)}
