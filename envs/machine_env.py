"""MachineEnv: what DesktopEnv and KernelEnv have in common for whoever drives them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from gymnasium.utils import EzPickle
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from deskgym.envs.action.actions import RefusedAction
from deskgym.envs.action.form import ActionForm, Performed, touches
from deskgym.envs.clock import Clock
from deskgym.envs.episode import FinalState, TaskLike
from deskgym.envs.episode_runner import EpisodeRunner
from deskgym.envs.errors import ActionError, InvalidAction, MachineError, near
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.options import PlainSpec
from deskgym.envs.provision.pool import WarmPool
from deskgym.envs.rendering import METADATA, Window
from deskgym.envs.stateful import StatefulEnv
from deskgym.envs.states import Done

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
"""What Gymnasium's ``step`` returns: observation, reward, terminated, truncated, info."""


class MachineEnv(PlainSpec, StatefulEnv, EzPickle):
    """An environment whose episodes take place on a machine.

    Args:
        actions: what an action means.
        episodes: tasks, machines that are ready for them, and how episodes end.
        render_mode: None, ``"rgb_array"`` or ``"human"``.
        invalid_action: ``"raise"`` or ``"feedback"``.

    Attributes:
        performed: what the last step carried out.
        guards: what a wrapper forbids: each is called with what is about to be carried out, and may raise ActionError.

    Raises:
        ValueError: an argument is not legal; the message says what is.
    """

    metadata: dict[str, Any] = METADATA

    def __init__(
        self, actions: ActionForm, episodes: EpisodeRunner, *, render_mode: str | None, invalid_action: str
    ) -> None:
        if render_mode not in (None, "human", "rgb_array"):
            raise ValueError(f"render_mode={render_mode!r}; legal are None, 'human' and 'rgb_array'")
        if invalid_action not in ("raise", "feedback"):
            raise ValueError(f"invalid_action={invalid_action!r}; legal are 'raise' and 'feedback'")
        self.actions, self.episodes = actions, episodes
        self.action_space = actions.space
        self.render_mode, self.invalid_action = render_mode, invalid_action
        self._window = Window() if render_mode == "human" else None
        if self._window is not None:
            self.metadata = {**METADATA, "render_modes": ["human", "rgb_array"]}
        self.performed: Performed = ()
        self._log: list[Done] = []
        self.guards: list[Callable[[Performed], None]] = []

    def render(self) -> NDArray[np.uint8] | None:
        """What there is to see now: uint8 (height, width, 3) RGB.

        None without a render mode, and for ``"human"``, whose window ``reset`` and ``step`` keep up to date.
        """
        return self._frame() if self.render_mode == "rgb_array" else None

    def conclude(self) -> tuple[float, bool, dict[str, Any]]:
        """End the episode now, evaluated as at its step limit; for wrappers with limits of their own.

        Returns:
            The reward, whether the episode was truncated by this (a machine that breaks truncates too), and the info.
        """
        self.episodes.require_running()
        clock = Clock()
        try:
            reward = self._end_now()
        except MachineError as error:
            _, reward, _, _, info = self._fault(error, clock)
            return reward, True, info
        clock.lap("evaluate")
        return reward, True, self._info(clock.timing)

    @abstractmethod
    def oracle(self) -> Iterator[Any]:
        """Actions that solve the current task, in the env's action form.

        Take a step with each before the next is asked for: it is made up from what the screen shows then.

        Examples:
            ``for action in env.unwrapped.oracle(): obs, reward, terminated, truncated, info = env.step(action)``
        """

    @abstractmethod
    def attempt(self, attempt: str | Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """Actions of one of the current task's wrong attempts by name (raises KeyError), or of any other script."""

    def _script(self, attempt: str | Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        known = self.episodes.current.wrong_attempts
        if isinstance(attempt, str) and attempt not in known:
            legal = ", ".join(map(repr, known)) or "none"
            raise KeyError(f"no wrong attempt {attempt!r}; this task has {legal}{near(attempt, known)}")
        return known[attempt] if isinstance(attempt, str) else attempt

    @property
    @abstractmethod
    def done(self) -> Any:
        """The action that says that the task is done."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What a recording must know of this environment: ``screen_size``, ``action_form``, ``observation``, ..."""

    def prefetch(self, *, seed: int | None = None, options: Mapping[str, str | None] | None = None) -> None:
        """Prepare for the next ``reset``, where there is a pool (``pool={"depth": 1}``); else nothing happens.

        The first ``step`` of an episode does it for a ``reset`` without arguments, if this one had none and nothing
        else was asked for before.

        Args:
            seed: what the next ``reset`` will be called with.
            options: what it will be called with, too.

        Raises:
            ValueError: an option is not legal.
        """
        self.episodes.prefetch(self.np_random if seed is None else np_random(seed)[0], options)

    def close(self) -> None:
        """Stop the machine and remove all that it left on the host. Idempotent; ``reset`` starts a new one."""
        self.episodes.close()
        if self._window is not None:
            self._window.close()

    @property
    def task(self) -> TaskLike | None:
        """The task of the present or the last episode; None before the first ``reset``."""
        return self.episodes.task

    @property
    def verdict(self) -> Verdict | None:
        """What the evaluation of the final state said; None before the episode's end, and after a fault."""
        return self.episodes.verdict

    @property
    def final(self) -> FinalState | None:
        """The state that was evaluated."""
        return self.episodes.final

    @property
    def step_limit(self) -> int:
        """Steps until this episode truncates."""
        return self.episodes.step_limit

    @property
    def max_steps(self) -> int | None:
        """The step limit that was asked for; None takes the task's own. It can be set."""
        return self.episodes.max_steps

    @max_steps.setter
    def max_steps(self, limit: int | None) -> None:
        self.episodes.max_steps = limit

    @property
    def pool(self) -> WarmPool:
        """What prepares the next episodes' machines."""
        return self.manager.pool

    def take_settings(self, other: MachineEnv) -> None:
        """Have what was set in another environment of this kind since it was built."""
        self.max_steps, self.invalid_action = other.max_steps, other.invalid_action

    @abstractmethod
    def _end_now(self) -> float:
        """Evaluate the episode as at its step limit; gives the reward. Raises MachineError."""

    @abstractmethod
    def _frame(self) -> NDArray[np.uint8]:
        """What ``render`` gives. Raises MachineError."""

    def picture(self) -> NDArray[np.uint8] | None:
        """What a recording shows of an episode without a screen; None where there is nothing to see."""
        return None

    def _show(self) -> None:
        """Bring the window up to date, where there is one. Raises MachineError."""
        if self._window is not None:
            self._window.show(self._frame())

    @abstractmethod
    def _observe_nothing(self) -> dict[str, Any]:
        """What is observed of a machine that broke."""

    def _info(self, timing: Mapping[str, float]) -> dict[str, Any]:
        return self.episodes.info(timing)

    def _fault(self, error: MachineError, clock: Clock) -> Step:
        """The machine broke: the episode is truncated, and nothing of the machine is seen."""
        fault = self.episodes.fail(error)
        clock.lap("fault")
        info = self._info(clock.timing) | {"fault": fault}
        return self._observe_nothing(), 0.0, False, True, info

    def _read(self, action: Any) -> tuple[Performed, str | None]:
        """What an action stands for, and None; or nothing, and why it is invalid.

        Raises:
            ActionError: it is not legal, and ``invalid_action="raise"``.
        """
        try:
            if isinstance(action, RefusedAction):
                raise action.error
            performed = self.actions.parse(action)
            for guard in self.guards:
                guard(performed)
        except ActionError as error:
            if self.invalid_action == "raise" and not isinstance(error, InvalidAction):
                raise
            return (), str(error)
        self.episodes.acted |= touches(performed)
        return performed, None
