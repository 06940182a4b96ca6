"""DesktopEnv: a Gymnasium environment made of a machine, a display, a task and its evaluator.

This file only wires the parts together; each part is in the module that it is imported from.
"""

from __future__ import annotations

import copy
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from deskgym.envs.actions import STOPS, Action, parse_code
from deskgym.envs.clock import Clock
from deskgym.envs.desktops import Desktops
from deskgym.envs.discrete import DiscreteActions, DiscreteConfig, NotNow
from deskgym.envs.displays.base import SettlePolicy, StepReport
from deskgym.envs.episode import FinalState, Stop, TaskLike, TaskSource
from deskgym.envs.errors import ActionError, GuestCallError, GuestLost, MachineError, near
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines import create_machine, live
from deskgym.envs.machines.base import Machine, MachineConfig
from deskgym.envs.machines.pool import PoolConfig, WarmPool
from deskgym.envs.observations import NO_ELEMENTS, Elements, code_feedback, cut_text
from deskgym.envs.playing import as_actions
from deskgym.envs.screen import MachineScreen
from deskgym.envs.spaces import (
    TEXT_LENGTHS,
    ComputerActionSpace,
    UnicodeText,
    empty_observation,
    legal_screen_size,
    observation_space,
    parse_computer_action,
)
from deskgym.envs.vocabulary import Vocabulary

_LIMITS = ("memory_mb", "disk_mb", "processes", "glx")
ACTIONS = ("computer", "code", "discrete")
MAX_CODE = 65536  # characters of a code action
LAST_SETTLE = SettlePolicy(quiet_ms=100, cap_ms=2000)  # the evaluator must see what the last action brings about
PRIMITIVES_PER_RESPONSE = 6
"""A task's step limit counts responses, as the published benchmarks do: one code action, of several mouse and keyboard
primitives. A computer action is one primitive, so that its limit is this many times as high."""


class DesktopEnv(gymnasium.Env[dict[str, Any], Any], EzPickle):
    """A desktop with real programs as a Gymnasium environment.

    Building one starts nothing; the machine starts with the first ``reset``. ``reset`` gives a fresh desktop with the
    task's programs open. ``step`` acts, waits until the screen has settled and observes. An episode *terminates* with
    DONE, FAIL or ANS and *truncates* at the step limit; both are evaluated, and the reward is then the verdict's score
    in [0, 1]; before, it is 0. A machine that breaks truncates with ``info["fault"]`` and reward 0, and the next
    ``reset`` repairs it.

    Args:
        suite: where the tasks come from.
        task: a task id, a glob over ids, or None for any; what it leaves open is drawn by the seed.
        split: ``"train"``, ``"test"`` or None for both.
        machine: the kind of machine, such as ``"sandbox"``, ``"process"``, ``"fake"``.
        screen_size: width and height in pixels.
        observation: the parts of the observation, of ``deskgym.envs.spaces.OBSERVATIONS``; None is the screenshot and
            the instruction, and for code actions their feedback.
        action: ``"computer"`` (structured mouse and keyboard), ``"code"`` (Python with pyautogui, or a word),
            ``"discrete"`` (verb, target and argument as three numbers, with ``action_masks()``).
        max_steps: step limit; None takes the task's own.
        render_mode: None or ``"rgb_array"``; Gymnasium adds ``"human"`` with its HumanRendering wrapper.
        settle: parameters of ``SettlePolicy``, such as ``{"quiet_ms": 20, "cap_ms": 500}``.
        max_elements: rows of the ``elements`` observation.
        code_timeout: seconds until a code action is killed.
        invalid_action: ``"raise"`` raises ActionError and does nothing; ``"feedback"`` counts the step, does nothing
            and says why in the feedback and in ``info["invalid_action"]``.
        discrete: for ``action="discrete"``, the keys of ``deskgym.envs.discrete.DiscreteConfig``, such as
            ``{"verbs": ["click", "submit", "done"], "grid": [0, 0]}``.
        pool: the keys of ``deskgym.envs.machines.pool.PoolConfig``, such as ``{"depth": 1}``: while an episode runs,
            the desktops of the next ones are prepared, with the tasks that the seed's stream draws, and ``reset``
            swaps. None prepares nothing. The tasks are the same with and without. ``{"snapshots": 8}`` says how many
            desktops are kept set up, where the machine can keep running programs.
        machine_options: what else the machine's ``MachineConfig`` or class takes, such as ``{"memory_mb": 2048}``, or
            ``{"hide": ["/opt/secret"], "runtime": "crun"}`` for the sandbox.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(
        self,
        suite: TaskSource,
        *,
        task: str | None = None,
        split: str | None = None,
        machine: str = "sandbox",
        screen_size: Sequence[int] = (1920, 1080),
        observation: Sequence[str] | None = None,
        action: str = "computer",
        max_steps: int | None = None,
        render_mode: str | None = None,
        settle: Mapping[str, float] | None = None,
        max_elements: int = 512,
        code_timeout: float = 30.0,
        invalid_action: str = "raise",
        discrete: Mapping[str, Any] | None = None,
        pool: Mapping[str, Any] | None = None,
        machine_options: Mapping[str, Any] | None = None,
    ) -> None:
        arguments = {k: v for k, v in locals().items() if k not in ("self", "suite", "__class__")}
        EzPickle.__init__(self, suite, **arguments)  # a pickle is the arguments: it never holds a running machine
        self.suite, self.task_pattern, self.split = suite, task, split
        self.screen_size = legal_screen_size(screen_size)
        if action not in ACTIONS:
            raise ValueError(f"action={action!r}; legal are {', '.join(ACTIONS)}{near(action, ACTIONS)}")
        if discrete and action != "discrete":
            raise ValueError(f"discrete={discrete!r} is for action='discrete'; the action is {action!r}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode={render_mode!r}; legal are None and 'rgb_array'")
        if invalid_action not in ("raise", "feedback"):
            raise ValueError(f"invalid_action={invalid_action!r}; legal are 'raise' and 'feedback'")
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"max_steps={max_steps!r}; legal is None or a number from 1 up")
        suite.draw(np.random.default_rng(0), task, split)  # an unknown task or split is an error now, not in reset
        self.action_form, self.max_steps, self.render_mode = action, max_steps, render_mode
        self.code_timeout, self.invalid_action = code_timeout, invalid_action
        self.settle = SettlePolicy(**(settle or {}))
        if observation is None:
            observation = ("screenshot", "instruction", *(("feedback",) if action == "code" else ()))
        self.observation_space = observation_space(observation, self.screen_size, max_elements)
        self.parts, self.max_elements = tuple(observation), max_elements
        self.discrete: DiscreteActions | None = None
        if action == "discrete":
            self.discrete = DiscreteActions(DiscreteConfig.from_dict(discrete), self.screen_size, max_elements)
            self.action_space = self.discrete.space
        else:
            self.action_space = ComputerActionSpace(self.screen_size) if action == "computer" else UnicodeText(MAX_CODE)
        self.reads_elements = action == "discrete" or any(p in observation for p in ("elements", "a11y", "terminal"))
        """Whether every step reads the accessible elements; a wrapper that needs them sets it."""
        options = dict(machine_options or {})
        limits = {name: options.pop(name) for name in _LIMITS if name in options}
        config = MachineConfig(screen_size=self.screen_size, **limits)
        self.task: TaskLike | None = None
        self.verdict: Verdict | None = None
        self.final: FinalState | None = None
        self.elements: Elements = NO_ELEMENTS
        self.vocabulary = Vocabulary()
        self.performed: Sequence[Action] | str = ()
        """What the last step carried out: actions in screen pixels, or a program."""
        self.guards: list[Callable[[Sequence[Action] | str], None]] = []
        """What a wrapper forbids: each is called with what is about to be carried out, and may raise ActionError."""
        self.stats: Counter[str] = Counter()
        """How often what has happened: see ``docs/vector.md``."""
        new_machine = partial(create_machine, machine, config, **options)
        self.desktops = Desktops(new_machine, self._settle, PoolConfig.from_dict(pool), self.stats)
        self.frame: NDArray[np.uint8] | None = None
        """Where screenshots are captured to, uint8 (height, width, 3): shared memory, say. None makes a new array."""
        self._feedback = ""
        self._execution: Mapping[str, Any] | None = None
        self._damage: tuple[int, int, int, int] | None = None
        self._steps = 0
        self._over = True
        self._foreseen = False  # the next reset's desktop is in the making, or cannot be known

    # --- Gymnasium's five

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a task, restore a fresh desktop, run the task's setup and observe.

        Args:
            seed: seeds the draw of the task and of its parameters.
            options: ``{"task": id or glob}`` and ``{"split": name}`` override the env's own for this episode.

        Raises:
            TaskError: no such task or split.
            SetupError: the task's programs did not come up, on three fresh machines.
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
        self.task, self.vocabulary, self.performed = task, self._vocabulary(task), ()
        ready, (observation, reading), timing = self.desktops.open(task, self._look)
        live.describe(self.machine, task.id)
        self._over = False
        self._foreseen = not (first or plain)  # resets with arguments are likely to be followed by others with such
        info = self._info(timing | {f"observe_{k}": v for k, v in reading.items()})
        return observation, info | {"stats": dict(self.stats), "prepared": dict(ready.timing)}

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action, wait until the screen has settled and observe.

        Args:
            action: for ``"computer"`` a member of the action space, its JSON form or an ``Action``; for ``"code"``
                a text; for ``"discrete"`` three numbers. One that the masks forbid does nothing, and
                ``info["invalid_action"]`` says why. An ActionError or a NotNow stands for an action that a wrapper
                refused, and is treated as it would be if it were raised here.

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
            self.performed = self._allowed(self._parse(action))
        except NotNow as error:
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
            observation, timing = self._act(
                [] if isinstance(parsed, str) else [event for action in parsed for event in action.events()],
                parsed if isinstance(parsed, str) else None,
                self.settle,
            )
            if invalid:
                self._feedback = invalid
                observation = self._with_feedback(observation)
            clock.lap("act")
            if stop is None and self._steps >= self.step_limit:
                stop, truncated = "limit", True
            reward = self._finish(stop, last.text if last and stop == "answer" else None) if stop else 0.0
            if stop:
                clock.lap("evaluate")
        except MachineError as error:
            return self._fault(error, clock)
        info = self._info(clock.timing | timing)
        if invalid:
            info["invalid_action"] = invalid
        if isinstance(parsed, str):
            info["execution"] = self._execution
        return observation, reward, stop is not None and not truncated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The screen now: uint8 (height, width, 3) RGB; None without a render mode."""
        if self.render_mode is None:
            return None
        return self.machine.display.capture()

    def close(self) -> None:
        """Stop the machine and remove all that it left on the host. Idempotent; ``reset`` starts a new one."""
        self._over = True
        self.desktops.close()

    # --- beyond Gymnasium

    @property
    def machine(self) -> Machine:
        """The present episode's machine."""
        return self.desktops.machine

    @property
    def pool(self) -> WarmPool:
        """What prepares the next episodes' machines."""
        return self.desktops.pool

    def action_masks(self) -> NDArray[np.bool_]:
        """What the parts of a discrete action can be now, in sb3-contrib's form: bool (sum of nvec,).

        An entry is true exactly if some action with it can be done now; ``env.unwrapped.discrete.joint()`` says what
        goes with what.

        Raises:
            ValueError: the action form is another one.
        """
        if self.discrete is None:
            raise ValueError(f"action={self.action_form!r} has no masks; they belong to action='discrete'")
        return self.discrete.masks()

    def conclude(self) -> tuple[float, bool, dict[str, Any]]:
        """End the episode now, evaluated as at its step limit; for wrappers with limits of their own.

        Returns:
            The reward, whether the episode was truncated by this (a machine that breaks truncates too), and the info.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over already")
        clock = Clock()
        try:
            reward = self._finish("limit", None)
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
        if self.max_steps is not None:
            return self.max_steps
        return self._current().max_steps * (PRIMITIVES_PER_RESPONSE if self.action_form == "computer" else 1)

    @property
    def screen(self) -> MachineScreen:
        """The screen's accessible elements as scripts search them."""
        return MachineScreen(self.machine)

    def oracle(self) -> Iterator[Any]:
        """Actions that solve the current task, in the env's action form; look at the screen between them.

        Examples:
            ``for action in env.unwrapped.oracle(): obs, reward, terminated, truncated, info = env.step(action)``
        """
        return self.play(self._current().oracle(self.screen))

    def play(self, script: Iterator[list[Action]]) -> Iterator[Any]:
        """The actions of a script, in the env's action form: a burst is one code action or several computer actions."""
        return as_actions(script, self.action_form, self.discrete, lambda: self._see(self.screen.elements()))

    # --- internals

    def _draw(self, random: np.random.Generator, options: Mapping[str, str | None]) -> TaskLike:
        return self.suite.draw(random, options.get("task", self.task_pattern), options.get("split", self.split))

    def _readings(self) -> dict[str, Any]:
        return {"elements": {"limit": self.max_elements}} if self.reads_elements else {}

    def _look(self, settled: bool) -> tuple[dict[str, Any], dict[str, float]]:
        """The first observation, and ms per phase of it."""
        return self._act([], None, None if settled else self.settle)

    def _settle(self, machine: Machine) -> StepReport:
        """Wait until a desktop that was set up has settled, and read it once: after that, only changes need reading."""
        return self._perform(machine, [], self.settle, **self._readings())

    def _current(self) -> TaskLike:
        if self.task is None:
            raise gymnasium.error.ResetNeeded("there is no task yet: call reset() first")
        return self.task

    def _vocabulary(self, task: TaskLike) -> Vocabulary:
        if self.discrete is None and "vocabulary" not in self.parts:
            return Vocabulary()
        config = self.discrete.config if self.discrete else DiscreteConfig()
        kinds = self.discrete.kinds if self.discrete else ("word", "key")
        return Vocabulary.of_task(task, config.keys, config.max_arguments, kinds)

    def _allowed(self, parsed: Sequence[Action] | str) -> Sequence[Action] | str:
        for guard in self.guards:
            guard(parsed)
        return parsed

    def _parse(self, action: Any) -> Sequence[Action] | str:
        if isinstance(action, ActionError | NotNow):
            raise action
        if self.discrete is not None:
            return self.discrete.decode(action)
        if self.action_form == "computer":
            return (parse_computer_action(action, self.screen_size),)
        parsed = parse_code(action)
        if isinstance(parsed, Action):
            return (parsed,)
        if len(parsed) > MAX_CODE:
            raise ActionError(f"a code action has at most {MAX_CODE} characters, got {len(parsed)}")
        return parsed

    def _see(self, elements: Elements) -> None:
        self.elements = elements
        if self.discrete is not None:
            self.discrete.look(elements, self.vocabulary)

    def _act(
        self, events: Sequence[dict[str, Any]], code: str | None, settle: SettlePolicy | None
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """One round trip: events, code, settling and elements; then the frame."""
        requests = self._readings()
        if code is not None:
            requests["code"] = {
                "text": code, "timeout": self.code_timeout, "output_limit": 4 * TEXT_LENGTHS["feedback"],
            }  # fmt: skip
        report = self._perform(self.machine, events, settle, **requests)
        self._execution = report.extra.get("code")
        self._feedback = code_feedback(self._execution)
        self._damage = report.damage
        self._see(Elements.from_guest(report.extra["elements"]) if "elements" in report.extra else NO_ELEMENTS)
        start = time.perf_counter()
        observation = self._observe()
        return observation, report.timing | {"frame": (time.perf_counter() - start) * 1000}

    def _perform(
        self, machine: Machine, events: Sequence[dict[str, Any]], settle: SettlePolicy | None, **requests: Any
    ) -> StepReport:
        try:
            return machine.display.perform(events, settle, **requests)
        except GuestCallError as error:
            raise GuestLost(f"the guest could not act: {error}", error.kind) from error

    def _observe(self) -> dict[str, Any]:
        task = self._current()
        makers: dict[str, Callable[[], Any]] = {
            "screenshot": lambda: self.machine.display.capture(self.frame),
            "elements": lambda: self.elements.table(self.max_elements),
            "a11y": self.elements.text,
            "terminal": self.elements.terminal,
            "instruction": lambda: cut_text(task.instruction, TEXT_LENGTHS["instruction"]),
            "vocabulary": lambda: cut_text(self.vocabulary.text(), TEXT_LENGTHS["vocabulary"]),
            "feedback": lambda: cut_text(self._feedback, TEXT_LENGTHS["feedback"]),
        }
        return {part: makers[part]() for part in self.parts}

    def _with_feedback(self, observation: dict[str, Any]) -> dict[str, Any]:
        if "feedback" in observation:
            observation["feedback"] = cut_text(self._feedback, TEXT_LENGTHS["feedback"])
        return observation

    def _finish(self, stop: Stop, answer: str | None) -> float:
        """Evaluate the final state and end the episode."""
        task = self._current()
        self._perform(self.machine, [], LAST_SETTLE)
        self.final = FinalState(self.machine, stop, answer, task.id, task.seed, self._steps)
        verdict = task.evaluate(self.final)
        if verdict.error and not self.machine.alive:
            raise GuestLost(f"the machine broke while the episode was evaluated: {verdict.error}")
        self.verdict = verdict
        self.stats["episodes"] += 1
        self.stats["evaluation_errors"] += self.verdict.error is not None
        self._over = True
        return self.verdict.score

    def _fault(self, error: MachineError, clock: Clock) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """The machine broke: the episode is truncated, and nothing of the machine is left."""
        self.desktops.fail(error)
        self._over = True
        clock.lap("fault")
        observation = empty_observation(self.observation_space)
        if "instruction" in observation and self.task is not None:
            observation["instruction"] = cut_text(self.task.instruction, TEXT_LENGTHS["instruction"])
        info = self._info(clock.timing)
        info["fault"] = {"kind": error.kind, "message": str(error)}
        return observation, 0.0, False, True, info

    def _info(self, timing: dict[str, float]) -> dict[str, Any]:
        info: dict[str, Any] = {
            "task": self._current().id, "step": self._steps, "timing": timing, "damage": self._damage,
        }  # fmt: skip
        if self.elements.cut:
            info["elements_cut"] = self.elements.cut
        if self.verdict is not None:
            info["verdict"] = self.verdict.to_dict()
        return info
