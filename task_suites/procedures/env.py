"""ProcedureEnv: a question about recordings and procedures, answered in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

import cv2
import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action
from deskgym.envs.action.form import ActionForm, Performed, end_of, input_of
from deskgym.envs.clock import Clock
from deskgym.envs.episode import Script, Stop, TaskSource
from deskgym.envs.episode_runner import EpisodeRunner
from deskgym.envs.errors import ActionError, MachineError, SetupError, TaskError
from deskgym.envs.extras import needs_extra
from deskgym.envs.machine_env import MachineEnv, Step
from deskgym.envs.observation.spaces import empty_observation, observation_space
from deskgym.envs.observation.texts import cut_text
from deskgym.envs.options import StepLimit, checked
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig
from deskgym.envs.text_space import UnicodeText
from deskgym.envs.time_limit import ends_with_this_step
from deskgym.task_suites.procedures.judges import make_judge
from deskgym.task_suites.procedures.sheet import SIZE, sheet_of
from deskgym.task_suites.procedures.task import ProcedureTask, Unreadable

TEXTS = {"instruction": 16384, "evidence": 262144, "feedback": 16384}
"""The longest text of each text observation, in characters."""
MAX_ANSWER = 65536
"""Characters of an answer."""
FRAMES = 32
"""Pictures in an observation; of more, as many are shown at equal distances."""


class AnswerActions(ActionForm):
    """Texts: the answer, with or without ``ANS`` before it; or ``FAIL``, which gives up."""

    name = "answer"

    def __init__(self) -> None:
        self.space = UnicodeText(MAX_ANSWER)

    def parse(self, action: Any) -> Performed:
        """The answer, or the end, as an Action.

        Raises:
            ActionError: it is no text, or too long.
        """
        if not isinstance(action, str):
            raise ActionError(f"the action is {type(action).__name__}; legal is a text, the answer")
        if len(action) > MAX_ANSWER:
            raise ActionError(f"an answer has at most {MAX_ANSWER} characters, got {len(action)}")
        try:
            action.encode()
        except UnicodeEncodeError:
            raise ActionError(
                "the answer has lone surrogates, which no text has; legal are Unicode characters"
            ) from None
        if action.strip() == "FAIL":
            return (Action("fail"),)
        text = action.strip()
        return (Action("answer", text=text[4:].strip() if text.startswith(("ANS ", "ANS\n")) else text),)

    def scripted(self, script: Iterator[Any], look: Callable[[], None]) -> Iterator[str]:
        """A script's answer is the action."""
        for burst in script:
            yield from (each.text if each.verb == "answer" else "FAIL" for each in input_of(burst))


class ProcedureEnv(MachineEnv):
    """A question about recordings and procedures; one answer in words, and the episode is over.

    An action is a text, the answer. One that has not the form that the instruction asks for costs a step, is explained
    in the feedback, and may be given again; ``FAIL`` gives up. There is no machine, so that an episode costs next to
    nothing. The reward, in [0, 1], is what the kind of task is measured by: see ``docs/procedures.md``. At the end
    ``info["grade"]`` has the kind, and its metrics by name.

    Args:
        suite: where the tasks come from.
        task: a task id, a glob over ids (``"ranking/*"``), or None for any; what it leaves open is drawn by the seed.
        split: None: the tasks are not divided.
        machine: only ``"none"``.
        screen_size: None: there is no screen.
        observation: of ``instruction``, ``evidence`` (texts, and recordings as numbered pictures with what was done
            between them), ``frames`` (the pictures: uint8 (max_frames, height, width, 3), black where there are fewer)
            and ``feedback``, which are the default.
        frame_size: width and height of a picture in ``frames``.
        max_frames: how many ``frames`` has. A task with more shows as many at equal distances.
        action: only ``"answer"``.
        max_steps: step limit; None takes the task's own.
        render_mode: None, ``"rgb_array"``, all pictures on a sheet (the evidence where there are none), or
            ``"human"``, a window that shows it.
        judge: of free text: ``"lexical"``, or ``{"endpoint": url, "model": name}`` of an OpenAI-compatible server.
        invalid_action: ``"feedback"`` or ``"raise"``, for what is no text.
        pool: see ``DesktopEnv``; nothing is gained by one.
        machine_options: {}.

    Raises:
        TaskError: the task is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    @checked
    def __init__(
        self,
        suite: TaskSource,
        *,
        task: str | None = None,
        split: str | None = None,
        machine: str = "none",
        screen_size: Any = None,
        observation: Sequence[str] | None = None,
        frame_size: tuple[int, int] = (640, 360),
        max_frames: Annotated[int, (1, 1024)] = FRAMES,
        action: str = "answer",
        max_steps: StepLimit | None = None,
        render_mode: str | None = None,
        judge: str | Mapping[str, Any] = "lexical",
        invalid_action: str = "feedback",
        pool: Mapping[str, Any] | None = None,
        machine_options: Mapping[str, Any] | None = None,
    ) -> None:
        EzPickle.__init__(
            self, suite, task=task, split=split, machine=machine, observation=observation, frame_size=frame_size,
            max_frames=max_frames, max_steps=max_steps, render_mode=render_mode, judge=judge,
            invalid_action=invalid_action, pool=pool, machine_options=machine_options,
        )  # fmt: skip
        for name, got, legal in (
            ("screen_size", screen_size, None),
            ("action", action, "answer"),
            ("machine", machine, "none"),
        ):
            if got != legal:
                raise ValueError(f"{name}={got!r}; tasks about procedures have no desktop: legal is {legal!r}")
        if not all(16 <= side <= 4096 for side in frame_size):
            raise ValueError(f"frame_size={frame_size!r}; legal are (width, height) of 16 to 4096 pixels")
        with needs_extra("procedures", "tasks about procedures need"):
            import scipy  # noqa: F401
            import sklearn  # noqa: F401
        self.judge = make_judge(judge)
        self.frame_size = frame_size
        self._black = np.zeros((max_frames, frame_size[1], frame_size[0], 3), np.uint8)
        self.names = (*TEXTS, "frames") if observation is None else observation
        legal_spaces: dict[str, spaces.Space[Any]] = {name: UnicodeText(n) for name, n in TEXTS.items()}
        legal_spaces["frames"] = spaces.Box(0, 255, self._black.shape, np.uint8)
        self.observation_space = observation_space(self.names, legal_spaces)
        builder = MachineBuilder.of_options(machine, machine_options, screen_size=None)
        manager = MachineManager(builder, lambda prepared: None, PoolConfig.from_dict(pool))
        episodes = EpisodeRunner(suite, manager, task=task, split=split, max_steps=max_steps)
        super().__init__(AnswerActions(), episodes, render_mode=render_mode, invalid_action=invalid_action)
        self._feedback = ""
        self._frames = self._black[:0]
        self._shown: list[int] = []
        self._metrics: Mapping[str, float] = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a task and observe; see ``DesktopEnv``."""
        super().reset(seed=seed)
        self.episodes.draw(self.np_random, seed, options)
        self.performed, self._feedback, self._metrics = (), "", {}
        observation, timing, prepared = self.episodes.open_machine(self._first_look)
        return observation, self._info(timing) | {"stats": dict(self.stats), "prepared": prepared}

    def step(self, action: Any) -> Step:
        """Answer.

        Raises:
            ActionError: the action is no text, and ``invalid_action="raise"``; nothing was done.
        """
        episode, clock = self.episodes, Clock()
        episode.require_running()
        self.performed, invalid = self._read(action)
        clock.lap("parse")
        stop, answer = end_of(self.performed)
        if stop == "answer" and (why := self._unreadable(answer)):
            invalid, stop, answer = why, None, None
        episode.steps += 1
        self._feedback, reward = invalid or "", 0.0
        if stop is None and (ends_with_this_step(self) or episode.steps >= self.step_limit):
            stop = "limit"
        try:
            if stop:
                reward = self._evaluate(stop, answer)
                clock.lap("evaluate")
        except MachineError as error:
            return self._fault(error, clock)
        info = self._info(clock.timing) | ({"invalid_action": invalid} if invalid else {})
        return self._observe(), reward, stop not in (None, "limit"), stop == "limit", info

    def oracle(self) -> Iterator[str]:
        """Actions that solve the current task; see ``MachineEnv.oracle``."""
        return self.actions.scripted(self.episodes.current.oracle(None), lambda: None)

    def attempt(self, attempt: str | Script) -> Iterator[str]:
        """Actions of a wrong attempt or of a script; see ``MachineEnv.attempt``."""
        return self.actions.scripted(self._script(attempt)(None), lambda: None)

    def guess(self, rng: np.random.Generator) -> str:
        """An answer of the right form that knows nothing."""
        return self._current.guess(rng)

    @property
    def done(self) -> str:
        """See ``MachineEnv.done``: there is nothing but to give up."""
        return "FAIL"

    def describe(self) -> dict[str, Any]:
        """See ``MachineEnv.describe``."""
        return {
            "vocabulary": "", "screen_size": list(SIZE), "action_form": self.actions.name,
            "observation": list(self.names),
        }  # fmt: skip

    # --- internals

    @property
    def _current(self) -> ProcedureTask:
        return cast(ProcedureTask, self.episodes.current)

    def _first_look(self, settled: bool) -> dict[str, Any]:
        pictures = self._current.pictures
        count = min(len(pictures), len(self._black))
        self._shown = [int(k) for k in np.linspace(0, max(0, len(pictures) - 1), count).round()]
        wanted = self._shown if "frames" in self.names else []
        self._frames = self._black[:0] if not wanted else np.stack([self._picture(k) for k in wanted])
        return self._observe()

    def _picture(self, number: int) -> NDArray[np.uint8]:
        path = self._current.pictures[number]
        found = cv2.imread(str(path))
        if found is None:
            raise SetupError(f"{self._current.id}: {path} is no picture that can be read")
        small = cv2.resize(found, self.frame_size, interpolation=cv2.INTER_AREA)
        picture: NDArray[np.uint8] = np.asarray(cv2.cvtColor(small, cv2.COLOR_BGR2RGB), np.uint8)
        return picture

    def _observe(self) -> dict[str, Any]:
        self._show()
        task = self._current
        evidence = task.evidence
        if len(self._shown) < len(task.pictures):
            evidence += f"\n\nOnly these pictures are shown, in this order: {', '.join(map(str, self._shown))}"
        told = {"instruction": task.instruction, "evidence": evidence, "feedback": self._feedback}
        found: dict[str, Any] = {name: cut_text(told[name], TEXTS[name]) for name in self.names if name in TEXTS}
        if "frames" in self.names:
            found["frames"] = self._black.copy()
            found["frames"][: len(self._frames)] = self._frames
        return {name: found[name] for name in self.names}

    def _observe_nothing(self) -> dict[str, Any]:
        return empty_observation(self.observation_space, self._current.instruction)

    def picture(self) -> NDArray[np.uint8]:
        """All pictures on a sheet, or the evidence where there are none: uint8 (height, width, 3) RGB."""
        task = self._current
        return sheet_of([self._picture(number) for number in range(len(task.pictures))], task.evidence)

    def _frame(self) -> NDArray[np.uint8]:
        return self.picture()

    def _unreadable(self, answer: str | None) -> str | None:
        """Why an answer has not the form that was asked for."""
        try:
            self._current.read(answer or "")
        except Unreadable as error:
            return str(error)
        return None

    def _evaluate(self, stop: Stop, answer: str | None) -> float:
        episode = self.episodes
        episode.final = episode.final_state(stop, answer)
        try:
            verdict, self._metrics = self._current.judged(answer, self.judge)
        except TaskError as error:
            raise MachineError(f"the answer cannot be judged: {error}", "judge") from error
        return episode.conclude(verdict)

    def _end_now(self) -> float:
        return self._evaluate("limit", None)

    def _info(self, timing: Mapping[str, float]) -> dict[str, Any]:
        info = super()._info(timing)
        if self.verdict is not None:
            info["grade"] = {"kind": self._current.kind, "metrics": dict(self._metrics)}
        return info
