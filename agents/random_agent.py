"""An agent that acts at random."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Annotated, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from deskgym.agents.random_texts import random_text
from deskgym.envs.action.actions import STOPS, Action, to_pyautogui
from deskgym.envs.action.discrete import DiscreteActions
from deskgym.envs.action.spaces import ComputerActionSpace, action_from_sample
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import ActionError
from deskgym.envs.options import checked
from deskgym.task_suites.procedures.env import ProcedureEnv
from deskgym.task_suites.proving.env import ProverEnv
from deskgym.task_suites.table_analysis.env import TableAnalysisEnv


class RandomAgent:
    """Plays random mouse and keyboard actions, never the end of an episode, which then runs to its step limit.

    They are samples of the ``"computer"`` action space, written as Python where the env takes code: a sample of the
    ``"code"`` space is a text that hardly ever parses. Of the ``"discrete"`` space they are what can be done now:
    a verb, then what goes with it; an end only where nothing else can be done. In a conversation about tables they are
    lines of code, and for a choice a letter, which ends its turn. Of a theorem they are samples of its action space:
    well-formed, and no tactics. About procedures they are answers of the right form. Equal tasks get equal actions.

    Args:
        seed: together with the task it fixes the actions.
    """

    @checked
    def __init__(self, seed: Annotated[int, (0, None)] = 0) -> None:
        self.seed = seed
        self._desktop: DesktopEnv | TableAnalysisEnv | ProverEnv | ProcedureEnv | None = None
        self._space = ComputerActionSpace((64, 64))
        self._rng = np.random.default_rng(seed)

    def reset(self, env: gymnasium.Env[Any, Any], observation: Any, info: Mapping[str, Any]) -> None:
        """Seed the samples."""
        desktop = env.unwrapped
        if not isinstance(desktop, DesktopEnv | TableAnalysisEnv | ProverEnv | ProcedureEnv):
            kind = type(desktop).__name__
            raise TypeError(
                f"RandomAgent plays a DesktopEnv, a TableAnalysisEnv, a ProverEnv or a ProcedureEnv, got {kind}"
            )
        seed = self.seed + zlib.crc32(str(info.get("task", "")).encode())
        self._desktop, self._rng = desktop, np.random.default_rng(seed)
        if isinstance(desktop, DesktopEnv):
            self._space = ComputerActionSpace(desktop.screen_size)
            self._space.seed(seed)
        if isinstance(desktop, ProverEnv):
            desktop.action_space.seed(seed)

    def act(self, observation: Any) -> Any:
        """A random action."""
        if self._desktop is None:
            raise gymnasium.error.ResetNeeded("call reset() before act()")
        if isinstance(self._desktop, TableAnalysisEnv):
            return random_text(self._desktop, self._rng)
        if isinstance(self._desktop, ProcedureEnv):
            return self._desktop.guess(self._rng)
        if isinstance(self._desktop, ProverEnv):
            return self._desktop.action_space.sample()
        if self._desktop.discrete is not None:
            return self._discrete(self._desktop.discrete)
        action = Action("done")
        while action.verb in STOPS:
            action = action_from_sample(self._space.sample())
        return to_pyautogui(action) if self._desktop.actions.name == "code" else action

    def _discrete(self, discrete: DiscreteActions) -> NDArray[np.int64]:
        targets, arguments = discrete.joint()
        able = np.flatnonzero(targets.any(axis=1))
        going_on = [k for k in able if discrete.verbs[k].name not in (*STOPS, "answer")]
        if not len(able):
            raise ActionError("no verb can be done now")
        verb = self._rng.choice(going_on or able)
        chosen = (self._rng.choice(np.flatnonzero(part[verb])) for part in (targets, arguments))
        return np.array([verb, *chosen], np.int64)
