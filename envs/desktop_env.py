"""DesktopEnv: the Gymnasium environment, composed of actions, an observer and episodes on machines."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from gymnasium.utils import EzPickle
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action
from deskgym.envs.action.discrete import DiscreteActions, DiscreteConfig
from deskgym.envs.action.form import ActionForm, CodeActions, ComputerActions, Performed
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.clock import Clock
from deskgym.envs.deadline import Deadline
from deskgym.envs.displays.base import CodeRequest, ElementsRequest, Event, SettlePolicy, StepReport, StepRequest
from deskgym.envs.episode import BurstOrProgram, Script, Stop, TaskLike, TaskSource, context_of, needs_of
from deskgym.envs.episode_runner import EpisodeRunner
from deskgym.envs.errors import GuestCallError, GuestLost, MachineError, near
from deskgym.envs.machine_env import MachineEnv, Step
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import NO_NEEDS, Needs
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements
from deskgym.envs.observation.observer import DesktopObserver
from deskgym.envs.observation.screen import MAX_ELEMENTS, Screen
from deskgym.envs.observation.spaces import legal_screen_size
from deskgym.envs.observation.texts import TEXT_LENGTHS, code_feedback
from deskgym.envs.options import Seconds, StepLimit, checked, from_options
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig
from deskgym.envs.states import Done, SavedState, Seen
from deskgym.envs.time_limit import ends_with_this_step

ACTIONS = ("computer", "code", "discrete")
LAST_SETTLE = SettlePolicy(quiet_ms=100, cap_ms=2000, idle_ms=100, rest=True)
"""How the last action is waited for: the evaluator must see all that it brings about."""
NEXT_FRAME_MS = 300.0
"""Within which a program that never rests shows what was done."""
MOST_ELEMENTS = 1 << 20
SAME_AGAIN = 3.0
"""Seconds that a screen gets to look as it did when its state was saved."""
MOST_LOOKS = 5
"""At a screen that is to be compared later, until two of them see the same."""
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
        observation: names of ``deskgym.envs.observation.spaces.OBSERVATIONS``; None is the screenshot and the
            instruction, and for code actions their feedback.
        action: ``"computer"`` (structured mouse and keyboard), ``"code"`` (Python with pyautogui, or a word),
            ``"discrete"`` (verb, target and argument as three numbers, with ``action_masks()``).
        max_steps: step limit; None takes the task's own.
        render_mode: None, ``"rgb_array"``, or ``"human"``: a window on your display, with the extra ``human``.
        settle: parameters of ``SettlePolicy``, such as ``{"quiet_ms": 20, "cap_ms": 500}``.
        max_elements: rows of the ``elements`` observation. A task that needs more elements has them in the ``a11y``
            text and in ``env.unwrapped.elements``.
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

    @checked
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
        max_steps: StepLimit | None = None,
        render_mode: str | None = None,
        settle: Mapping[str, Any] | None = None,
        max_elements: Annotated[int, (1, None)] = 512,
        code_timeout: Seconds = 30.0,
        invalid_action: str = "raise",
        discrete: Mapping[str, Any] | None = None,
        pool: Mapping[str, Any] | None = None,
        machine_options: Mapping[str, Any] | None = None,
    ) -> None:
        arguments = {k: v for k, v in locals().items() if k not in ("self", "suite", "__class__")}
        EzPickle.__init__(self, suite, **arguments)  # a pickle is the arguments: it never holds a running machine
        if max_elements > MOST_ELEMENTS:
            raise ValueError(f"max_elements={max_elements}; legal are at most {MOST_ELEMENTS}")
        if action == "code" and getattr(suite, "gui_only", False):
            raise ValueError(
                "action='code' with interface='gui', whose tasks are for mouse and keyboard: legal are 'computer' and "
                "'discrete'; the wrapper GuiOnly takes programs of mouse and keyboard calls, in the tasks as they are"
            )
        self.screen_size = legal_screen_size(screen_size)
        actions = _action_form(action, self.screen_size, discrete, max_elements)
        if observation is None:
            observation = ("screenshot", "instruction", *(("feedback",) if action == "code" else ()))
        self.observer = DesktopObserver(observation, self.screen_size, max_elements)
        self.observer.reads_elements |= action == "discrete"
        self.observation_space = self.observer.space
        self.settle, self.code_timeout = from_options(SettlePolicy, settle, "settle"), code_timeout
        builder = MachineBuilder.of_options(machine, machine_options, screen_size=self.screen_size)
        manager = MachineManager(builder, self._settle_prepared, PoolConfig.from_dict(pool))
        per_response = PRIMITIVES_PER_RESPONSE if action == "computer" else 1
        episodes = EpisodeRunner(
            suite, manager, task=task, split=split, max_steps=max_steps, steps_per_response=per_response
        )
        super().__init__(actions, episodes, render_mode=render_mode, invalid_action=invalid_action)
        self.discrete = actions if isinstance(actions, DiscreteActions) else None
        self._report = StepReport(settled=True)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a task, get a machine that is as new, run the task's setup and observe.

        Args:
            seed: seeds the draw of the task and of its parameters.
            options: ``{"task": id or glob}`` and ``{"split": name}`` override the env's own for this episode;
                ``{"state": state}`` restores what ``save_state`` gave.

        Raises:
            TaskError: no such task or split.
            SetupError: the task's setup failed, on two fresh machines.
            MachineError: no machine could be had; see ``MachineManager.open``.
            StateError: see ``restore_state``.
        """
        if asked := self.asked_state(options):
            return self.restore_state(**asked, seed=seed)
        super().reset(seed=seed)
        task = self.episodes.draw(self.np_random, seed, options)
        self._begin(task)
        observation, timing, prepared = self.episodes.open_machine(self._first_look)
        timing |= {f"observe_{phase}": ms for phase, ms in self._report.timing.items()}
        return observation, self._info(timing) | {"stats": dict(self.stats), "prepared": prepared}

    def step(self, action: Any) -> Step:
        """Carry out one action, wait until the screen has settled and observe.

        At an episode's end the screen is observed first, and then the machine is waited for once more
        (``LAST_SETTLE``): what is evaluated may be ahead of the last observation.

        Args:
            action: for ``"computer"`` a member of the action space, its JSON form or an ``Action``; for ``"code"``
                a text; for ``"discrete"`` three numbers. One that the masks forbid does nothing, and
                ``info["invalid_action"]`` says why. A ``RefusedAction`` stands for one that a wrapper found wrong.

        Raises:
            ActionError: the action is not legal; nothing was done (unless ``invalid_action="feedback"``).
        """
        episode, clock = self.episodes, Clock()
        episode.require_running()
        episode.prefetch_once(self.np_random)
        self.performed, invalid = self._read(action)
        clock.lap("parse")
        stop, answer = episode.count_step(self.performed, ends_with_this_step(self))
        self._log.append(Done(self.performed))
        reward = 0.0
        try:
            self._act(self.performed, self._policy(self.settle))
            if invalid:
                self.observer.feedback = invalid
            observation = self._observe()
            clock.lap("act")  # and observe: its parts are in the report's timing
            if stop:
                reward = self._evaluate(stop, answer)
                clock.lap("evaluate")
        except MachineError as error:
            return self._fault(error, clock)
        info = self._info(clock.timing | self._report.timing)
        if self._report.code is not None:
            info["execution"] = dict(vars(self._report.code))
        if invalid:
            info["invalid_action"] = invalid
        return observation, reward, stop not in (None, "limit"), stop == "limit", info

    # --- beyond Gymnasium

    def action_masks(self) -> NDArray[np.bool_]:
        """What the three numbers of a discrete action can be now, in sb3-contrib's form: bool (sum of nvec,).

        An entry is true exactly if some action with it can be done now; ``env.unwrapped.discrete.joint()`` says what
        goes with what.

        Raises:
            ValueError: the action form is another one.
        """
        if self.discrete is None:
            raise ValueError(f"action={self.actions.name!r} has no masks; they belong to action='discrete'")
        return self.discrete.masks()

    @property
    def elements(self) -> Elements:
        """The accessible elements that were read last; none where no step reads them."""
        return self.observer.elements

    @property
    def screen(self) -> Screen:
        """The screen's accessible elements as scripts search them."""
        return Screen(self.machine)

    def look(self) -> None:
        """Read the accessible elements now: discrete actions then mean these."""
        self._see(self.screen.elements())

    def oracle(self) -> Iterator[Any]:
        """Actions that solve the current task; see ``MachineEnv.oracle``. Look at the screen between them."""
        return self.scripted(self.episodes.current.oracle(self.screen))

    def attempt(self, attempt: str | Script) -> Iterator[Any]:
        """Actions of a wrong attempt or of a script; see ``MachineEnv.attempt``."""
        return self.scripted(self._script(attempt)(self.screen))

    @property
    def done(self) -> Any:
        """See ``MachineEnv.done``."""
        (done,) = self.scripted(iter([[Action("done")]]))
        return done

    def scripted(self, script: Iterator[BurstOrProgram]) -> Iterator[Any]:
        """The actions of a script, in the env's action form: a burst is one code action or several computer actions."""
        return self.actions.scripted(script, self.look)

    def describe(self) -> dict[str, Any]:
        """See ``MachineEnv.describe``."""
        return {
            "vocabulary": self.observer.vocabulary.text(),
            "screen_size": list(self.screen_size),
            "action_form": self.actions.name,
            "observation": list(self.observer.names),
        }

    # --- internals

    def _begin(self, task: TaskLike) -> None:
        self.performed, self._log = (), []
        self.observer.vocabulary = self._vocabulary(task)
        self.observer.context = context_of(task)

    # --- of saved states

    def made_of(self) -> list[Any]:
        """See ``MachineEnv.made_of``."""
        return [*super().made_of(), self.observer, self.observation_space, self.settle]

    def _fits(self) -> dict[str, Any]:
        own = {"screen_size": self.screen_size, "observation": self.observer.names}
        return super()._fits() | own | {"max_elements": self.observer.max_elements}

    def _look_closely(self, rest: bool) -> Seen:
        seen = self._look_once(rest)
        for _ in range(MOST_LOOKS if rest else 0):  # what a program has just done reaches its elements last
            before, seen = seen, self._look_once(rest)
            if not before.differs(seen):
                break
        return seen

    def _look_once(self, rest: bool) -> Seen:
        policy = self._policy(LAST_SETTLE) if rest else None
        report = self._perform(self.machine, StepRequest(settle=policy, elements=ElementsRequest(MAX_ELEMENTS)))
        elements = NO_ELEMENTS if report.elements is None else Elements.from_reading(report.elements)
        return Seen.screen(self.machine.display.capture(), elements)

    def _see_again(self, state: SavedState) -> tuple[dict[str, Any], str]:
        feedback = self.observer.feedback
        differs = state.seen.differs(self._look_once(rest=False))
        deadline = Deadline(SAME_AGAIN, self.machine.slowness)
        while differs and not deadline.over:
            differs = state.seen.differs(self._look_once(rest=True))
        seen = self.observer.elements
        self._act((), None)
        self.observer.feedback = feedback
        if not differs and self.observer.reads_elements:
            self._see(seen)  # in the order of then: an action that names one by its number still does
        return self._observe(), differs

    def _kept_parts(self) -> dict[str, Any]:
        observer = self.observer
        seen = observer.elements
        return {
            "feedback": observer.feedback,
            "instruction": observer.instruction,
            "report": self._report,
            "elements": (seen.rows, seen.texts, seen.cut),
        }

    def _take_parts(self, parts: Mapping[str, Any]) -> None:
        task = self.episodes.current
        self.observer.vocabulary, self.observer.context = self._vocabulary(task), context_of(task)
        self.observer.feedback, self.observer.instruction = parts["feedback"], parts["instruction"]
        self._report, self.observer.elements = parts["report"], Elements(*parts["elements"])

    def _redo(self, done: Done) -> str:
        self._act(done.performed, self._policy(self.settle))
        return ""

    # --- others

    def _settle_prepared(self, machine: Machine) -> None:
        """Wait until a desktop that was set up has settled, and read it once: after that, only changes need reading."""
        self._perform(machine, StepRequest(settle=self.settle, elements=self._reading()))

    def _first_look(self, settled: bool) -> dict[str, Any]:
        """The first observation of an episode."""
        self.observer.instruction = self.episodes.current.instruction
        self._act((), None if settled else self._policy(self.settle))
        return self._observe()

    def _act(self, performed: Performed, settle: SettlePolicy | None) -> None:
        """Carry something out, and take notice of what came of it, in one round trip. Raises MachineError."""
        events: list[Event] = []
        code = None
        if isinstance(performed, str):
            code = CodeRequest(performed, self.code_timeout, output_limit=4 * TEXT_LENGTHS["feedback"])
        else:
            events = [event for action in performed for event in action.events()]
        report = self._perform(self.machine, StepRequest(events, settle, code, self._reading()))
        self._report = report
        self.observer.feedback = code_feedback(None if report.code is None else vars(report.code))
        self._see(NO_ELEMENTS if report.elements is None else Elements.from_reading(report.elements))

    def _observe(self) -> dict[str, Any]:
        """The observation of what was seen last, and of the screen now. Raises MachineError."""
        start = time.perf_counter()
        observation = self.observer.observe(self.machine.display)
        self._report.timing["frame"] = (time.perf_counter() - start) * 1000
        self._show()
        return observation

    def _frame(self) -> NDArray[np.uint8]:
        return self.machine.display.capture()

    def _see(self, elements: Elements) -> None:
        self.observer.elements = elements
        if self.discrete is not None:
            self.discrete.look(elements, self.observer.vocabulary)

    def _evaluate(self, stop: Stop, answer: str | None) -> float:
        """Evaluate the final state, once the last action has brought about all it does. Raises MachineError."""
        self.machine.display.recover()
        self._perform(self.machine, StepRequest(settle=self._policy(LAST_SETTLE)))
        return self.episodes.evaluate(stop, answer)

    def _end_now(self) -> float:
        return self._evaluate("limit", None)

    def _observe_nothing(self) -> dict[str, Any]:
        return self.observer.observe_nothing()

    def _info(self, timing: Mapping[str, float]) -> dict[str, Any]:
        report, cut = self._report, self.elements.cut
        info = super()._info(timing) | {"damage": report.damage, "loading": report.loading}
        return info | {"elements_cut": cut} if cut else info

    def _reading(self) -> ElementsRequest | None:
        """What is read after each action: as many elements as the task needs."""
        if not self.observer.reads_elements:
            return None
        return ElementsRequest(max(self.observer.max_elements, self._needs.elements or 0))

    @property
    def _needs(self) -> Needs:
        return NO_NEEDS if self.episodes.task is None else needs_of(self.episodes.task)

    def _policy(self, policy: SettlePolicy) -> SettlePolicy:
        """The same for the task's programs, which may never rest: those paint a few times a second, so late."""
        motion = self._needs.motion
        if motion is None:
            return policy
        return replace(policy, motion=max(motion, policy.motion), first_ms=max(NEXT_FRAME_MS, policy.first_ms))

    @staticmethod
    def _perform(machine: Machine, request: StepRequest) -> StepReport:
        try:
            return machine.display.carry_out(request)
        except GuestCallError as error:
            raise GuestLost(f"the guest could not act: {error}", error.kind) from error

    def _vocabulary(self, task: TaskLike) -> Vocabulary:
        """The words and keys that the discrete action, or the observation, offers for this task."""
        if self.discrete is not None:
            return self.discrete.vocabulary_of(task)
        if "vocabulary" not in self.observer.names:
            return Vocabulary()
        config = DiscreteConfig()
        return Vocabulary.of_task(task, config.keys, config.max_arguments)


def _action_form(name: str, size: tuple[int, int], discrete: Mapping[str, Any] | None, max_elements: int) -> ActionForm:
    """What ``action=name`` stands for. Raises ValueError."""
    if name not in ACTIONS:
        raise ValueError(f"action={name!r}; legal are {', '.join(ACTIONS)}{near(name, ACTIONS)}")
    if discrete and name != "discrete":
        raise ValueError(f"discrete={discrete!r} is for action='discrete'; the action is {name!r}")
    if name == "discrete":
        return DiscreteActions(from_options(DiscreteConfig, discrete, "discrete"), size, max_elements)
    return ComputerActions(size) if name == "computer" else CodeActions()
