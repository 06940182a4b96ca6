"""EpisodeRunner: one episode after the other, each with its task, a machine that is ready for it, and its end."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import gymnasium
import numpy as np

from deskgym.envs.action.form import Performed, end_of
from deskgym.envs.episode import FinalState, Stop, TaskLike, TaskSource
from deskgym.envs.errors import GuestLost, MachineError, fault_of
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.live import registry as live
from deskgym.envs.options import StepLimit, check_option
from deskgym.envs.provision.manager import MachineManager

T = TypeVar("T")


class EpisodeRunner:
    """Draws tasks, gets machines that are ready for them, counts steps, and has the final state evaluated.

    What an action does and what is observed is the business of the environment that holds it.

    Args:
        suite: where the tasks come from.
        manager: gets machines that are ready for them.
        task: a task id, a glob over ids, or None for any; what it leaves open is drawn by the seed.
        split: ``"train"``, ``"test"`` or None for both.
        max_steps: step limit; None takes the task's own.
        steps_per_response: how many steps one of a task's own ``max_steps`` is worth.

    Attributes:
        stats: how often what has happened; see ``docs/vector.md``.
        task: of the present or the last episode; None before the first.
        steps: taken in it.
        acted: whether the agent has done anything in it.
        over: whether it has ended, or none has begun.
        verdict: of its final state; None before its end, and after a fault.
        final: that state.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    def __init__(
        self,
        suite: TaskSource,
        manager: MachineManager,
        *,
        task: str | None,
        split: str | None,
        max_steps: int | None,
        steps_per_response: int = 1,
    ) -> None:
        check_option("max_steps", max_steps, StepLimit | None)
        self.suite, self.manager, self.stats = suite, manager, manager.stats
        self.task_pattern, self.split = task, split
        self.max_steps, self._steps_per_response = max_steps, steps_per_response
        suite.draw(np.random.default_rng(0), task, split)  # an unknown task or split is an error now, not in reset
        self.task: TaskLike | None = None
        self.verdict: Verdict | None = None
        self.final: FinalState | None = None
        self.steps, self.acted, self.over = 0, False, True
        self._prefetched = False  # the next episode's machine is in the making, or its task cannot be known

    # --- an episode's beginning

    def draw(self, random: np.random.Generator, seed: int | None, options: Mapping[str, Any] | None) -> TaskLike:
        """Draw the next episode's task, and make it the present one.

        Args:
            random: where the draw comes from.
            seed: what ``reset`` was given, and ``random`` was seeded with.
            options: what ``reset`` was given: ``"task"`` and ``"split"`` override the environment's own.

        Raises:
            TaskError: no such task or split.
            ValueError: an option is not legal.
        """
        options = _checked(options)
        with_arguments = seed is not None or bool(options)
        self._prefetched = with_arguments and self.task is not None  # others with arguments are likely to follow
        self.task, self.verdict, self.final = self._drawn(random, options), None, None
        self.steps, self.acted, self.over = 0, False, True
        return self.task

    def resume(self, task: TaskLike, steps: int, acted: bool) -> None:
        """Make a task the present one again, so many steps after its episode's beginning; it is not running yet."""
        self.task, self.verdict, self.final = task, None, None
        self.steps, self.acted, self.over = steps, acted, True
        self._prefetched = True  # what was drawn ahead was drawn for another course of things

    def running(self) -> None:
        """The episode that was resumed goes on."""
        live.describe(self.manager.machine, self.current.id)
        self.over = False

    def open_machine(self, look: Callable[[bool], T]) -> tuple[T, dict[str, float], dict[str, float]]:
        """Get a machine that is ready for the present task: the episode begins.

        Args:
            look: takes the first observation; is told whether the screen has settled already.

        Returns:
            The first observation, and ms per phase: of this call, and of making the machine ready, which may have
            been done ahead.

        Raises:
            SetupError: the task's setup failed, on two fresh machines.
            MachineError: no machine could be had; see ``MachineManager.open``.
        """
        ready, seen, timing = self.manager.open(self.current, look)
        live.describe(self.manager.machine, self.current.id)
        self.over = False
        return seen, timing, dict(ready.timing)

    # --- its course

    @property
    def current(self) -> TaskLike:
        """The present task. Raises ResetNeeded before the first episode."""
        if self.task is None:
            raise gymnasium.error.ResetNeeded("there is no task yet: call reset() first")
        return self.task

    @property
    def step_limit(self) -> int:
        """Steps until the present episode truncates."""
        return self.current.max_steps * self._steps_per_response if self.max_steps is None else self.max_steps

    def require_running(self) -> None:
        """Raise ResetNeeded when the episode is over."""
        if self.over:
            why = "the episode is over" if self.task else "there is no running episode"
            raise gymnasium.error.ResetNeeded(f"{why}: call reset() first")

    def count_step(self, performed: Performed, last: bool) -> tuple[Stop | None, str | None]:
        """Count a step, and say whether the episode ends with it, how, and with which answer.

        Args:
            performed: what the step carries out.
            last: another limit than ``step_limit`` ends the episode with this step.
        """
        self.steps += 1
        stop, answer = end_of(performed)
        return ("limit" if stop is None and (last or self.steps >= self.step_limit) else stop), answer

    def prefetch(self, random: np.random.Generator, options: Mapping[str, Any] | None = None) -> None:
        """Prepare machines for the next episodes, where there is a pool.

        Args:
            random: where their tasks will be drawn from; it stays as it is.
            options: what the next ``reset`` will be given.

        Raises:
            ValueError: an option is not legal.
        """
        options = _checked(options)
        self._prefetched = True
        if depth := self.manager.pool.config.depth:
            random = copy.deepcopy(random)
            self.manager.pool.want([self._drawn(random, options) for _ in range(depth)])

    def prefetch_once(self, random: np.random.Generator) -> None:
        """Prepare for a ``reset`` without arguments, unless this episode's had some, or something else was asked."""
        if not self._prefetched:
            self.prefetch(random)

    # --- its end

    def final_state(self, stop: Stop, answer: str | None) -> FinalState:
        """The machine as it is now, for an evaluation."""
        task, manager = self.current, self.manager
        return FinalState(
            manager.machine,
            stop,
            answer,
            task.id,
            task.seed,
            self.steps,
            self.acted,
            clean_machine=manager.clean_machine,
        )

    def evaluate(self, stop: Stop, answer: str | None) -> float:
        """Evaluate the final state: the episode is over. Gives the reward.

        Raises:
            GuestLost: the machine broke meanwhile.
        """
        self.final = self.final_state(stop, answer)
        return self.conclude(self.current.evaluate(self.final))

    def conclude(self, verdict: Verdict) -> float:
        """The episode is over, with this verdict. Gives its score.

        Raises:
            GuestLost: it is an error, since the machine broke.
        """
        if verdict.error and not self.manager.machine.alive:
            raise GuestLost(f"the machine broke while the episode was evaluated: {verdict.error}")
        self.verdict, self.over = verdict, True
        self.stats["episodes"] += 1
        self.stats["evaluation_errors"] += verdict.error is not None
        return verdict.score

    def fail(self, error: MachineError) -> dict[str, str]:
        """The machine broke: the episode is over, without a verdict; the next one gets a fresh machine.

        Gives ``info["fault"]``. Its ``cause`` is ``"agent"`` where something inside the machine broke after the agent's
        first action, for the agent could have done it; else ``"infrastructure"``.
        """
        inside = isinstance(error, GuestLost) and not self.manager.machine.host_lost
        cause = "agent" if inside and self.acted else "infrastructure"
        self.manager.fail(error, cause)
        self.over = True
        return fault_of(error, cause)

    def close(self) -> None:
        """Stop all machines. Idempotent; the next episode starts anew."""
        self.over = True
        self.manager.close()

    def info(self, timing: Mapping[str, float]) -> dict[str, Any]:
        """What ``reset`` and ``step`` tell of the episode: ``task``, ``step``, ``timing``; at its end ``verdict``."""
        info: dict[str, Any] = {"task": self.current.id, "step": self.steps, "timing": dict(timing)}
        if self.verdict is not None:
            info["verdict"] = self.verdict.to_dict()
        return info

    def _drawn(self, random: np.random.Generator, options: Mapping[str, Any]) -> TaskLike:
        return self.suite.draw(random, options.get("task", self.task_pattern), options.get("split", self.split))


def _checked(options: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """What ``reset`` was given, if it is legal. Raises ValueError."""
    check_option("reset options", options, Mapping | None)
    options = options or {}
    if unknown := [name for name in options if name not in ("task", "split")]:
        raise ValueError(
            f"unknown reset options {unknown}; legal are 'task' and 'split', or 'state' and 'strict' without them"
        )
    for name, value in options.items():
        if not isinstance(value, str | None):
            raise ValueError(f"reset option {name}={value!r}; legal is a text or None")
    return options
