"""MachineEnv: what all environments on machines share: drawing a task, a machine that is ready for it, and its end.

``DesktopEnv`` adds a display, ``AnalysisEnv`` a kernel.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle
from gymnasium.utils.seeding import np_random

from deskgym.envs.action.actions import STOPS, Action
from deskgym.envs.action.discrete import InvalidAction
from deskgym.envs.clock import Clock
from deskgym.envs.episode import FinalState, Stop, TaskLike, TaskSource
from deskgym.envs.errors import ActionError, GuestLost, MachineError
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.live import registry as live
from deskgym.envs.observation.elements import cut_text
from deskgym.envs.observation.spaces import TEXT_LENGTHS, empty_observation
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig, WarmPool

Performed = Sequence[Action] | str


class MachineEnv(gymnasium.Env[dict[str, Any], Any], EzPickle):
    """An environment whose episodes take place on a machine.

    It draws tasks, gets machines that are ready for them, ends episodes with a verdict, and survives machines that
    break. A subclass says what an action does and what is observed, and sets the spaces.

    Args:
        suite: where the tasks come from.
        builder: builds machines by what tasks need.
        task: a task id, a glob over ids, or None for any; what it leaves open is drawn by the seed.
        split: ``"train"``, ``"test"`` or None for both.
        max_steps: step limit; None takes the task's own.
        render_mode: of ``metadata["render_modes"]``, or None.
        invalid_action: ``"raise"`` or ``"feedback"``.
        pool: the keys of ``deskgym.envs.provision.pool.PoolConfig``, or None.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(
        self,
        suite: TaskSource,
        builder: MachineBuilder,
        *,
        task: str | None,
        split: str | None,
        max_steps: int | None,
        render_mode: str | None,
        invalid_action: str,
        pool: Mapping[str, Any] | None,
    ) -> None:
        self.suite, self.task_pattern, self.split = suite, task, split
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode={render_mode!r}; legal are None and 'rgb_array'")
        if invalid_action not in ("raise", "feedback"):
            raise ValueError(f"invalid_action={invalid_action!r}; legal are 'raise' and 'feedback'")
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"max_steps={max_steps!r}; legal is None or a number from 1 up")
        suite.draw(np.random.default_rng(0), task, split)  # an unknown task or split is an error now, not in reset
        self.max_steps, self.render_mode, self.invalid_action = max_steps, render_mode, invalid_action
        self.task: TaskLike | None = None
        self.verdict: Verdict | None = None
        self.final: FinalState | None = None
        self.performed: Performed = ()
        """What the last step carried out: actions in screen pixels, or a text such as a program."""
        self.guards: list[Callable[[Performed], None]] = []
        """What a wrapper forbids: each is called with what is about to be carried out, and may raise ActionError."""
        self.stats: Counter[str] = Counter()
        """How often what has happened: see ``docs/vector.md``."""
        self.manager = MachineManager(builder, self._settle, PoolConfig.from_dict(pool), self.stats)
        self._feedback = ""
        self._steps = 0
        self._over = True
        self._foreseen = False  # the next reset's machine is in the making, or cannot be known

    # --- what a subclass says

    @abstractmethod
    def _parse(self, action: Any) -> Performed:
        """What an action means. Raises ActionError or InvalidAction."""

    @abstractmethod
    def _carry_out(self, performed: Performed) -> tuple[dict[str, Any], dict[str, float]]:
        """Do it; gives the observation after it, and ms per phase. Raises MachineError."""

    @abstractmethod
    def _look(self, settled: bool) -> tuple[dict[str, Any], dict[str, float]]:
        """The first observation, and ms per phase of it. Raises MachineError."""

    @abstractmethod
    def _observe(self) -> dict[str, Any]:
        """The observation of what was seen last."""

    def _settle(self, machine: Machine) -> object:
        """Wait until a machine that was set up has settled."""
        return None

    def _begin(self, task: TaskLike) -> None:
        """An episode begins; there is no machine for it yet."""

    def _last_look(self) -> None:
        """The final state is about to be evaluated."""

    def _more_info(self) -> dict[str, Any]:
        """What else is in ``info``."""
        return {}

    def _step_info(self, performed: Performed) -> dict[str, Any]:
        """What else is in a step's ``info``."""
        return {}

    # --- Gymnasium's five, but for render

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a task, get a machine that is as new, run the task's setup and observe.

        Args:
            seed: seeds the draw of the task and of its parameters.
            options: ``{"task": id or glob}`` and ``{"split": name}`` override the env's own for this episode.

        Raises:
            TaskError: no such task or split.
            SetupError: the task's setup failed, on three fresh machines.
            MachineError: no machine could be had, after three tries.
        """
        first, plain = self.task is None, seed is None and not options
        super().reset(seed=seed)
        options = options or {}
        unknown = set(options) - {"task", "split"}
        if unknown:
            raise ValueError(f"unknown reset options {sorted(unknown)}; legal are 'task' and 'split'")
        for name, value in options.items():
            if not isinstance(value, str | None):
                raise ValueError(f"reset option {name}={value!r}; legal is a text or None")
        task = self._draw(self.np_random, options)
        self._steps, self._feedback, self._over = 0, "", True
        self.verdict = self.final = None
        self.task, self.performed = task, ()
        self._begin(task)
        ready, (observation, reading), timing = self.manager.open(task, self._look)
        live.describe(self.machine, task.id)
        self._over = False
        self._foreseen = not (first or plain)  # resets with arguments are likely to be followed by others with such
        info = self._info(timing | {f"observe_{k}": v for k, v in reading.items()})
        return observation, info | {"stats": dict(self.stats), "prepared": dict(ready.timing)}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action and observe.

        An ActionError or an InvalidAction given as the action stands for one that a wrapper refused, and is treated as
        it would be if it were raised here.

        Raises:
            ActionError: the action is not legal; nothing was done (unless ``invalid_action="feedback"``).
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over: call reset() before step()")
        clock = Clock()
        if not self._foreseen:
            self.prefetch()
        invalid = None
        try:
            if isinstance(action, ActionError | InvalidAction):
                raise action
            self.performed = self._allowed(self._parse(action))
        except InvalidAction as error:
            self.performed, invalid = (), str(error)
        except ActionError as error:
            if self.invalid_action == "raise":
                raise
            self.performed, invalid = (), str(error)
        clock.lap("parse")
        self._steps += 1
        parsed = self.performed
        last = parsed[-1] if parsed and not isinstance(parsed, str) else None
        stop: Stop | None = last.verb if last and last.verb in STOPS else None  # type: ignore[assignment]
        truncated = False
        try:
            observation, timing = self._carry_out(parsed)
            if invalid:
                self._feedback = invalid
                observation = self._with_feedback(observation)
            clock.lap("act")
            if stop is None and self._at_limit():
                stop, truncated = "limit", True
            reward = self._finish(stop, last.text if last and stop == "answer" else None) if stop else 0.0
            if stop:
                clock.lap("evaluate")
            if stop and not self._over:
                observation = self._observe()
        except MachineError as error:
            return self._fault(error, clock)
        info = self._info(clock.timing | timing) | self._step_info(parsed)
        if invalid:
            info["invalid_action"] = invalid
        return observation, reward, self._over and not truncated, self._over and truncated, info

    def close(self) -> None:
        """Stop the machine and remove all that it left on the host. Idempotent; ``reset`` starts a new one."""
        self._over = True
        self.manager.close()

    # --- beyond Gymnasium

    @property
    def machine(self) -> Machine:
        """The present episode's machine."""
        return self.manager.machine

    @property
    def pool(self) -> WarmPool:
        """What prepares the next episodes' machines."""
        return self.manager.pool

    def conclude(self) -> tuple[float, bool, dict[str, Any]]:
        """End the episode now, evaluated as at its step limit; for wrappers with limits of their own.

        Returns:
            The reward, whether the episode was truncated by this (a machine that breaks truncates too), and the info.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over already")
        clock = Clock()
        try:
            reward = self._finish("limit", None, last=True)
        except MachineError as error:
            _, reward, _, _, info = self._fault(error, clock)
            return reward, True, info
        clock.lap("evaluate")
        return reward, True, self._info(clock.timing)

    def prefetch(self, *, seed: int | None = None, options: Mapping[str, str | None] | None = None) -> None:
        """Prepare for the next ``reset``, where there is a pool.

        The first ``step`` of an episode does it for a ``reset`` without arguments, if this one had none and nothing
        else was asked for before.

        Args:
            seed: what the next ``reset`` will be called with.
            options: likewise.
        """
        self._foreseen = True
        if self.pool.config.depth:
            random = copy.deepcopy(self.np_random) if seed is None else np_random(seed)[0]
            self.pool.want([self._draw(random, options or {}) for _ in range(self.pool.config.depth)])

    @property
    def step_limit(self) -> int:
        """Steps until this episode truncates."""
        return self._current().max_steps if self.max_steps is None else self.max_steps

    @abstractmethod
    def oracle(self) -> Iterator[Any]:
        """Actions that solve the current task, in the env's action form; observe between them.

        Examples:
            ``for action in env.unwrapped.oracle(): obs, reward, terminated, truncated, info = env.step(action)``
        """

    @abstractmethod
    def attempt(self, attempt: str | Callable[[Any], Iterator[Any]]) -> Iterator[Any]:
        """Actions of one of the current task's wrong attempts by name (raises KeyError), or of any other script."""

    @property
    @abstractmethod
    def done(self) -> Any:
        """The action that says that the task is done."""

    # --- internals

    def _draw(self, random: np.random.Generator, options: Mapping[str, str | None]) -> TaskLike:
        return self.suite.draw(random, options.get("task", self.task_pattern), options.get("split", self.split))

    def _current(self) -> TaskLike:
        if self.task is None:
            raise gymnasium.error.ResetNeeded("there is no task yet: call reset() first")
        return self.task

    def _allowed(self, parsed: Performed) -> Performed:
        for guard in self.guards:
            guard(parsed)
        return parsed

    def _at_limit(self) -> bool:
        return self._steps >= self.step_limit

    def _with_feedback(self, observation: dict[str, Any]) -> dict[str, Any]:
        if "feedback" in observation:
            observation["feedback"] = cut_text(self._feedback, TEXT_LENGTHS["feedback"])
        return observation

    def _finish(self, stop: Stop, answer: str | None, last: bool = False) -> float:
        """Evaluate the final state and end the episode, if it has no more turns or this is to be its ``last``."""
        task = self._current()
        self._last_look()
        self.final = self._final_state(stop, answer)
        self._judged(task.evaluate(self.final))
        self._over = True
        assert self.verdict is not None
        return self.verdict.score

    def _final_state(self, stop: Stop, answer: str | None) -> FinalState:
        task = self._current()
        clean_machine = self.manager.clean_machine
        return FinalState(self.machine, stop, answer, task.id, task.seed, self._steps, clean_machine=clean_machine)

    def _judged(self, verdict: Verdict) -> None:
        """Take over an evaluation's verdict, and count it. Raises GuestLost where the machine broke meanwhile."""
        if verdict.error and not self.machine.alive:
            raise GuestLost(f"the machine broke while the episode was evaluated: {verdict.error}")
        self.verdict = verdict
        self.stats["episodes"] += 1
        self.stats["evaluation_errors"] += verdict.error is not None

    def _fault(self, error: MachineError, clock: Clock) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """The machine broke: the episode is truncated, and nothing of the machine is left."""
        self.manager.fail(error)
        self._over = True
        clock.lap("fault")
        observation = empty_observation(self.observation_space)
        if "instruction" in observation and self.task is not None:
            observation["instruction"] = cut_text(self.task.instruction, TEXT_LENGTHS["instruction"])
        info = self._info(clock.timing)
        info["fault"] = {"kind": error.kind, "message": str(error)}
        return observation, 0.0, False, True, info

    def _info(self, timing: dict[str, float]) -> dict[str, Any]:
        info: dict[str, Any] = {"task": self._current().id, "step": self._steps, "timing": timing} | self._more_info()
        if self.verdict is not None:
            info["verdict"] = self.verdict.to_dict()
        return info
