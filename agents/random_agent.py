"""An agent that acts at random."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import gymnasium

from deskgym.envs.actions import STOPS, Action, to_pyautogui
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.spaces import ComputerActionSpace, action_from_sample


class RandomAgent:
    """Plays random mouse and keyboard actions, never the end of an episode, which then runs to its step limit.

    They are samples of the ``"computer"`` action space, written as Python where the env takes code: a sample of the
    ``"code"`` space itself is a text that hardly ever parses. Equal tasks get equal actions.

    Args:
        seed: together with the task it fixes the actions.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self._space: ComputerActionSpace | None = None
        self._as_code = False

    def reset(self, env: gymnasium.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """Seed the samples."""
        desktop = env.unwrapped
        if not isinstance(desktop, DesktopEnv):
            raise TypeError(f"RandomAgent plays a DesktopEnv, got {type(desktop).__name__}")
        self._as_code = desktop.action_form == "code"
        self._space = ComputerActionSpace(desktop.screen_size)
        self._space.seed(self.seed + zlib.crc32(str(info.get("task", "")).encode()))

    def act(self, observation: Any) -> Any:
        """A random action."""
        if self._space is None:
            raise gymnasium.error.ResetNeeded("call reset() before act()")
        action = Action("done")
        while action.verb in STOPS:
            action = action_from_sample(self._space.sample())
        return to_pyautogui(action) if self._as_code else action
