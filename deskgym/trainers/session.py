"""One env as a trainer drives it: episodes that end with a score, with a fault, or unfinished."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from itertools import islice
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

import deskgym  # noqa: F401  (registers the environments)
from deskgym.envs.action.form import end_of
from deskgym.envs.errors import MachineError, SetupError, fault_of
from deskgym.envs.machine_env import MachineEnv
from deskgym.envs.options import checked

CONCLUDED = ("computer", "code")
"""Forms of action with a DONE that is always there."""

logger = logging.getLogger("deskgym.trainers")


class Session:
    """An env and the episode that it is in. Building one starts no machine; ``reset`` does.

    A ``fault`` is a machine that broke, or an evaluation that could not be carried out. Where its ``cause`` is
    ``"infrastructure"`` it is no failure of the policy: such an episode has no reward. Where it is ``"agent"``, the
    policy broke its own machine: the reward is what it had earned before, which is 0 but in a dialogue.

    Args:
        env_id: what ``gymnasium.make`` takes: an id, or an EnvSpec (with the wrappers that are around it).
        options: what else it takes.

    Attributes:
        env: the env with its wrappers.
        desktop: the ``DesktopEnv`` or ``TableAnalysisEnv`` inside.
        action_form: of the latter, such as ``"code"``.
        observation: the last one, or {} before the first.
        info: Gymnasium's info of the last reset or step.
        over: whether the episode has ended (or none has begun).
        truncated: whether it ended at a limit or by a fault.
        reward: the sum of the rewards so far; None if the infrastructure broke.
        fault: ``{"kind": ..., "message": ..., "cause": ...}`` of this episode, or None.

    Raises:
        TypeError: the env is not a MachineEnv.
    """

    @checked
    def __init__(self, env_id: str | EnvSpec = "deskgym/Science-v0", **options: Any) -> None:
        self.env: gymnasium.Env[Any, Any] = gymnasium.make(env_id, disable_env_checker=True, **options)
        if not isinstance(self.env.unwrapped, MachineEnv):
            raise TypeError(
                f"{env_id!r} is a {type(self.env.unwrapped).__name__}; legal are DesktopEnv and TableAnalysisEnv"
            )
        self.desktop: MachineEnv = self.env.unwrapped
        self.action_form = self.desktop.actions.name
        self.observation: Mapping[str, Any] = {}
        self.info: dict[str, Any] = {}
        self.over, self.truncated = True, False
        self.reward: float | None = 0.0
        self.fault: dict[str, str] | None = None

    def reset(self, seed: int | None = None, task: str | None = None, split: str | None = None, done: int = 0) -> None:
        """Begin an episode; ``task`` and ``split`` override the env's own.

        Args:
            seed: for ``env.reset``.
            task: a task id or a glob.
            split: ``"train"`` or ``"test"``.
            done: how many of the oracle's actions are done already: the episode begins in the middle of the task, and
                never at its end.

        Raises:
            ValueError: ``done`` is no number from 0 up.
            TaskError: no such task or split.
            SetupError: the task's programs did not come up.
            MachineError: no machine could be had.
        """
        if isinstance(done, bool) or not isinstance(done, int) or done < 0:
            raise ValueError(f"done={done!r}; legal is a number of the oracle's actions from 0 up")
        options = {name: value for name, value in (("task", task), ("split", split)) if value is not None}
        self.observation, self.info = {}, {}
        self.over, self.truncated, self.reward, self.fault = True, False, 0.0, None
        try:
            self.observation, self.info = self.env.reset(seed=seed, options=options)
        except (MachineError, SetupError) as error:
            self._note(fault_of(error))
            raise
        self.over = False
        for action in islice(self.desktop.oracle(), done) if done else ():
            if self.over or end_of(self.desktop.actions.parse(action))[0] is not None:
                break
            self.step(action)

    def step(self, action: Any) -> None:
        """Act.

        Raises:
            ActionError: the action is not legal (with ``invalid_action="feedback"`` it is a step that does nothing).
            ResetNeeded: the episode is over.
        """
        if self.over:
            raise gymnasium.error.ResetNeeded("the episode is over: only a reset begins another one")
        self.observation, reward, terminated, truncated, self.info = self.env.step(action)
        self._count(float(reward), terminated or truncated, truncated)

    def conclude(self) -> None:
        """End the episode now, by a DONE that all wrappers see (one per turn of a dialogue); nothing when it is over.

        A task that DONE ends is evaluated as at its step limit; one that asks for an answer or FAIL is not solved.

        Raises:
            ResetNeeded: there was none yet.
            ValueError: the action form has no DONE that is always there.
        """
        if self.desktop.task is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset() first")
        if not self.over and self.action_form not in CONCLUDED:
            raise ValueError(f"action={self.action_form!r} cannot be concluded; legal are {', '.join(CONCLUDED)}")
        while not self.over:
            self.step(self.desktop.done)

    def close(self) -> None:
        """Stop the machine; the score stays, and ``reset`` starts a new one. Idempotent."""
        self.over = True
        self.env.close()

    def _count(self, reward: float, over: bool, truncated: bool) -> None:
        self.over, self.truncated = over, truncated
        if self.reward is not None:
            self.reward += reward
        verdict = self.info.get("verdict") or {}
        if "fault" in self.info:
            self._note(self.info["fault"])
        elif verdict.get("error"):
            self._note({"kind": "evaluation", "message": verdict["error"], "cause": "infrastructure"})

    def _note(self, fault: Mapping[str, str]) -> None:
        self.fault, self.over = dict(fault), True
        task = self.desktop.task.id if self.desktop.task else None
        if fault["cause"] == "agent":
            logger.info("an episode of %s broke its machine: %s (%s)", task, fault["message"], fault["kind"])
            return
        self.reward = None
        logger.warning("an episode of %s has no reward: %s (%s)", task, fault["message"], fault["kind"])


def is_conversation(env_id: str) -> bool:
    """Whether an id stands for a ``TableAnalysisEnv``, which has no screen to observe."""
    from deskgym.task_suites import find_entry

    spec = gymnasium.registry.get(env_id)
    return spec is not None and "suite" in spec.kwargs and not find_entry(spec.kwargs["suite"]).display
