"""DesktopEnv: a Gymnasium environment made of a machine, a display, a task and its evaluator.

This file only wires the parts together; each part is in the module that it is imported from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.utils import EzPickle
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action, parse_code
from deskgym.envs.action.discrete import DiscreteActions, DiscreteConfig
from deskgym.envs.action.scripted import as_actions
from deskgym.envs.action.spaces import ComputerActionSpace, parse_computer_action
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.displays.base import SettlePolicy, StepReport
from deskgym.envs.episode import Script, TaskLike, TaskSource
from deskgym.envs.errors import ActionError, GuestCallError, GuestLost, near
from deskgym.envs.machine_env import MachineEnv, Performed
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements, code_feedback, cut_text
from deskgym.envs.observation.screen import MachineScreen
from deskgym.envs.observation.spaces import TEXT_LENGTHS, legal_screen_size, observation_space
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.text_space import UnicodeText

ACTIONS = ("computer", "code", "discrete")
MAX_CODE = 65536  # characters of a code action
LAST_SETTLE = SettlePolicy(quiet_ms=100, cap_ms=2000, idle_ms=100, rest=True)
"""How the last action is waited for: the evaluator must see all that it brings about."""
PRIMITIVES_PER_RESPONSE = 6
"""A task's step limit counts responses, as the published benchmarks do: one code action, of several mouse and keyboard
primitives. A computer action is one primitive, so that its limit is this many times as high."""


class DesktopEnv(MachineEnv):
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
        observation: the parts of the observation, of ``deskgym.envs.observation.spaces.OBSERVATIONS``; None is the
            screenshot and the instruction, and for code actions their feedback.
        action: ``"computer"`` (structured mouse and keyboard), ``"code"`` (Python with pyautogui, or a word),
            ``"discrete"`` (verb, target and argument as three numbers, with ``action_masks()``).
        max_steps: step limit; None takes the task's own.
        render_mode: None or ``"rgb_array"``; Gymnasium adds ``"human"`` with its HumanRendering wrapper.
        settle: parameters of ``SettlePolicy``, such as ``{"quiet_ms": 20, "cap_ms": 500}``.
        max_elements: rows of the ``elements`` observation.
        code_timeout: seconds until a code action is killed.
        invalid_action: ``"raise"`` raises ActionError and does nothing; ``"feedback"`` counts the step, does nothing
            and says why in the feedback and in ``info["invalid_action"]``.
        discrete: for ``action="discrete"``, the keys of ``deskgym.envs.action.discrete.DiscreteConfig``, such as
            ``{"verbs": ["click", "submit", "done"], "grid": [0, 0]}``.
        pool: the keys of ``deskgym.envs.provision.pool.PoolConfig``, such as ``{"depth": 1}``: while an episode runs,
            the desktops of the next ones are prepared, with the tasks that the seed's stream draws, and ``reset``
            swaps. None prepares nothing. The tasks are the same with and without. ``{"snapshots": 8}`` says how many
            desktops are kept set up, where the machine can keep running programs.
        machine_options: what else the machine's ``MachineConfig`` or class takes, such as ``{"memory_mb": 8192}``, or
            ``{"hide": ["/opt/secret"], "runtime": "crun"}`` for the sandbox. A task that needs more than its numbers
            gets more: they are the least that a machine has.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

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
        settle: Mapping[str, Any] | None = None,
        max_elements: int = 512,
        code_timeout: float = 30.0,
        invalid_action: str = "raise",
        discrete: Mapping[str, Any] | None = None,
        pool: Mapping[str, Any] | None = None,
        machine_options: Mapping[str, Any] | None = None,
    ) -> None:
        arguments = {k: v for k, v in locals().items() if k not in ("self", "suite", "__class__")}
        EzPickle.__init__(self, suite, **arguments)  # a pickle is the arguments: it never holds a running machine
        self.screen_size = legal_screen_size(screen_size)
        if action not in ACTIONS:
            raise ValueError(f"action={action!r}; legal are {', '.join(ACTIONS)}{near(action, ACTIONS)}")
        if discrete and action != "discrete":
            raise ValueError(f"discrete={discrete!r} is for action='discrete'; the action is {action!r}")
        self.action_form, self.code_timeout = action, code_timeout
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
        super().__init__(
            suite,
            MachineBuilder.of_options(machine, machine_options, screen_size=self.screen_size),
            task=task,
            split=split,
            max_steps=max_steps,
            render_mode=render_mode,
            invalid_action=invalid_action,
            pool=pool,
        )
        self.elements: Elements = NO_ELEMENTS
        self.vocabulary = Vocabulary()
        self.frame: NDArray[np.uint8] | None = None
        """Where screenshots are captured to, uint8 (height, width, 3): shared memory, say. None makes a new array."""
        self._execution: Mapping[str, Any] | None = None
        self._damage: tuple[int, int, int, int] | None = None
        self._loading = False

    def step(self, action: Any) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out one action, wait until the screen has settled and observe.

        Args:
            action: for ``"computer"`` a member of the action space, its JSON form or an ``Action``; for ``"code"``
                a text; for ``"discrete"`` three numbers. One that the masks forbid does nothing, and
                ``info["invalid_action"]`` says why. An ActionError or an InvalidAction stands for an action that a
                wrapper refused, and is treated as it would be if it were raised here.

        Raises:
            ActionError: the action is not legal; nothing was done (unless ``invalid_action="feedback"``).
        """
        return super().step(action)

    def render(self) -> NDArray[np.uint8] | None:
        """The screen now: uint8 (height, width, 3) RGB; None without a render mode."""
        if self.render_mode is None:
            return None
        return self.machine.display.capture()

    # --- beyond Gymnasium

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
        """Actions that solve the current task; see ``MachineEnv.oracle``. Look at the screen between them."""
        return self.play(self._current().oracle(self.screen))

    def attempt(self, attempt: str | Script) -> Iterator[Any]:
        """Actions of a wrong attempt or of a script; see ``MachineEnv.attempt``."""
        script = self._current().wrong_attempts[attempt] if isinstance(attempt, str) else attempt
        return self.play(script(self.screen))

    @property
    def done(self) -> Any:
        """See ``MachineEnv.done``."""
        (done,) = self.play(iter([[Action("done")]]))
        return done

    def play(self, script: Iterator[list[Action]]) -> Iterator[Any]:
        """The actions of a script, in the env's action form: a burst is one code action or several computer actions."""
        return as_actions(script, self.action_form, self.discrete, lambda: self._see(self.screen.elements()))

    # --- internals

    def _begin(self, task: TaskLike) -> None:
        self.vocabulary = self._vocabulary(task)

    def _readings(self) -> dict[str, Any]:
        return {"elements": {"limit": self.max_elements}} if self.reads_elements else {}

    def _look(self, settled: bool) -> tuple[dict[str, Any], dict[str, float]]:
        """The first observation, and ms per phase of it."""
        return self._act([], None, None if settled else self.settle)

    def _settle(self, machine: Machine) -> StepReport:
        """Wait until a desktop that was set up has settled, and read it once: after that, only changes need reading."""
        return self._perform(machine, [], self.settle, **self._readings())

    def _last_look(self) -> None:
        self._perform(self.machine, [], LAST_SETTLE)

    def _vocabulary(self, task: TaskLike) -> Vocabulary:
        if self.discrete is None and "vocabulary" not in self.parts:
            return Vocabulary()
        config = self.discrete.config if self.discrete else DiscreteConfig()
        kinds = self.discrete.kinds if self.discrete else ("word", "key")
        return Vocabulary.of_task(task, config.keys, config.max_arguments, kinds)

    def _parse(self, action: Any) -> Performed:
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

    def _carry_out(self, performed: Performed) -> tuple[dict[str, Any], dict[str, float]]:
        if isinstance(performed, str):
            return self._act([], performed, self.settle)
        return self._act([event for action in performed for event in action.events()], None, self.settle)

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
        self._damage, self._loading = report.damage, report.loading
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

    def _more_info(self) -> dict[str, Any]:
        return {"damage": self._damage, "loading": self._loading} | (
            {"elements_cut": self.elements.cut} if self.elements.cut else {}
        )

    def _step_info(self, performed: Performed) -> dict[str, Any]:
        return {"execution": self._execution} if isinstance(performed, str) else {}
