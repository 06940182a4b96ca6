"""Gymnasium's TimeLimit truncates after a step, and tells nobody before: its last step must be evaluated, too."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
from gymnasium.wrappers import TimeLimit


def ends_with_this_step(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether a TimeLimit around an environment, as of ``gym.make(..., max_episode_steps=)``, ends its episode now.

    To be asked in ``env.step``: the wrapper is then among the callers, and nowhere else to be found.
    """
    frame = sys._getframe(1)
    while caller := frame.f_back:
        frame = caller
        if frame.f_code is TimeLimit.step.__code__:
            limit = frame.f_locals["self"]
            if limit.unwrapped is env and (limit._elapsed_steps or 0) + 1 >= limit._max_episode_steps:
                return True
    return False
