"""AnalysisEnv: a Gymnasium environment of conversations about tables, with a kernel and without a display."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import EzPickle
from numpy.typing import NDArray

from deskgym.envs.action.actions import Action, parse_code
from deskgym.envs.action.vocabulary import Vocabulary
from deskgym.envs.analysis import AnalysisTaskLike, ConversationLike
from deskgym.envs.episode import Stop, TaskLike, TaskSource
from deskgym.envs.errors import ActionError, GuestCallError, near
from deskgym.envs.machine_env import MachineEnv, Performed
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.kernels import PICTURE, Execution, Kernel, KernelLimits
from deskgym.envs.observation.elements import NO_ELEMENTS, Elements, cut_text
from deskgym.envs.observation.spaces import TEXT_LENGTHS
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.text_space import UnicodeText

ANALYSIS_TEXTS = {"instruction": 16384, "dialogue": 32768, "tables": 16384, "library": 65536, "feedback": 16384}
"""The longest text of each text observation, in characters."""

PARTS = (*ANALYSIS_TEXTS, "plot")
DEFAULT_PARTS = ("instruction", "dialogue", "tables", "library", "feedback")
LIBRARIES = ("pandas", "matplotlib", "seaborn", "scikit-learn", "scikit-image")
"""Distributions that kernels have, with all that they need."""

MAX_CODE = 65536  # characters of an action
_ASK = re.compile(r"\AASK[ \t]+(.+)\Z", re.DOTALL)


class Question(str):
    """What the agent asks the user."""


class AnalysisEnv(MachineEnv):
    """A user asks about tables; the agent writes code, asks back, chooses or answers.

    An action is a text: Python code, which runs in a kernel that keeps its variables and has those of the history;
    ``ASK question``; ``ANS B`` for a choice; ``DONE`` when the results are in the variables that were asked for;
    ``FAIL``. An episode is one turn with the history that the task brings, or with ``episode="dialogue"`` a whole
    dialogue whose history is what the agent itself did; each turn has 5 steps. A turn ends with DONE, ANS or FAIL, or
    at its limit; its results are then compared with the reference's in a second machine. The reward is the share of
    what was asked for that is right (in private modes times the share of the library's functions that were called),
    and in a dialogue that divided by the number of turns.

    Args:
        suite: where the tasks come from.
        task: a task id, a glob over ids, or None for any; what it leaves open is drawn by the seed.
        split: ``"train"``, ``"test"`` or None for both.
        machine: the kind of machine, such as ``"sandbox"``.
        observation: of ``instruction`` (the query and where its results belong), ``dialogue`` (what was said and run so
            far), ``tables`` (schemas and heads), ``library`` (documentation of the private library), ``feedback`` (of
            the last action) and ``plot`` (the current figure, uint8 (600, 800, 3), white where there is none).
        action: only ``"code"``.
        max_steps: step limit of a turn; None takes the task's own.
        render_mode: None or ``"rgb_array"``, the plot.
        code_timeout: seconds until a cell is interrupted.
        invalid_action: ``"raise"`` raises ActionError and does nothing; ``"feedback"`` counts the step, does nothing
            and says why in the feedback and in ``info["invalid_action"]``.
        user: who answers ``ASK``: ``"rules"``, or ``{"endpoint": url, "model": name}`` of an OpenAI-compatible server.
        questions: how many questions are answered per turn; the paper allows one.
        pool: the keys of ``PoolConfig``; ``{"depth": 1}`` prepares the next episode in a second machine.
        machine_options: see ``DesktopEnv``.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    action_form = "code"
    discrete = None
    elements: Elements = NO_ELEMENTS
    vocabulary = Vocabulary()
    screen_size = PICTURE

    def __init__(
        self,
        suite: TaskSource,
        *,
        task: str | None = None,
        split: str | None = None,
        machine: str = "sandbox",
        screen_size: None = None,
        observation: Sequence[str] | None = None,
        action: str = "code",
        max_steps: int | None = None,
        render_mode: str | None = None,
        code_timeout: float = 30.0,
        invalid_action: str = "raise",
        user: str | Mapping[str, Any] = "rules",
        questions: int = 1,
        pool: Mapping[str, Any] | None = None,
        machine_options: Mapping[str, Any] | None = None,
    ) -> None:
        arguments = {k: v for k, v in locals().items() if k not in ("self", "suite", "__class__")}
        EzPickle.__init__(self, suite, **arguments)
        if screen_size is not None:
            raise ValueError(f"screen_size={screen_size!r}; table analysis has no screen: legal is None")
        if action != "code":
            raise ValueError(f"action={action!r}; table analysis has text actions only: legal is 'code'")
        if questions < 0:
            raise ValueError(f"questions={questions!r}; legal is a number from 0 up")
        self.observation_space = analysis_space(DEFAULT_PARTS if observation is None else observation)
        self.action_space = UnicodeText(MAX_CODE)
        self.parts = tuple(DEFAULT_PARTS if observation is None else observation)
        self.limits = KernelLimits(timeout=code_timeout, output=TEXT_LENGTHS["feedback"])
        self.user, self.questions = user, questions
        options = {"libraries": LIBRARIES, **(machine_options or {})}
        super().__init__(
            suite,
            MachineBuilder.of_options(machine, options, screen_size=None),
            task=task,
            split=split,
            max_steps=max_steps,
            render_mode=render_mode,
            invalid_action=invalid_action,
            pool=pool,
        )
        if "kernels" not in self.machine.can:
            raise ValueError(f"machine={machine!r} has no kernels; legal are 'sandbox', 'qemu' and 'process'")
        self._begin(suite.draw(np.random.default_rng(0), task, split))  # another user is an error now, not in reset
        self.conversation: ConversationLike | None = None
        self._execution: Execution | None = None
        self._plot: NDArray[np.uint8] | None = None
        self._turn_steps = 0

    def render(self) -> NDArray[np.uint8] | None:
        """The current figure: uint8 (600, 800, 3) RGB, white where there is none; None without a render mode."""
        if self.render_mode is None:
            return None
        try:
            return self._picture(self._kernel().picture() if self._opened else None)
        except GuestCallError:  # the agent's figure cannot be drawn, or has ended the kernel
            return self._picture(None)

    @property
    def step_limit(self) -> int:
        """Steps until the present turn ends."""
        return self._talk().step_limit if self.max_steps is None else self.max_steps

    def oracle(self) -> Iterator[str]:
        """Texts that solve the current task; see ``MachineEnv.oracle``."""
        return self._current().oracle(None)

    def attempt(self, attempt: str | Callable[[Any], Iterator[str]]) -> Iterator[str]:
        """Texts of a wrong attempt or of a script; see ``MachineEnv.attempt``."""
        script = self._current().wrong_attempts[attempt] if isinstance(attempt, str) else attempt
        return script(None)

    @property
    def done(self) -> str:
        """See ``MachineEnv.done``."""
        return "DONE"

    # --- internals

    def _begin(self, task: TaskLike) -> None:
        if not isinstance(task, AnalysisTaskLike):
            raise TypeError(f"{task.id} is no task of a conversation")
        self.conversation = task.begin(self.user, self.questions)
        self._execution = self._plot = None
        self._turn_steps = 0
        self._opened = not task.lazy

    def _settle(self, machine: Machine) -> None:
        """Draw the history's figure ahead, where it will be seen."""
        if "plot" in self.parts:
            with suppress(GuestCallError):  # there is no kernel yet, or the figure cannot be drawn
                Kernel(machine, self.limits).picture()

    def _talk(self) -> ConversationLike:
        if self.conversation is None:
            raise gymnasium.error.ResetNeeded("there is no conversation yet: call reset() first")
        return self.conversation

    def _kernel(self) -> Kernel:
        if not self._opened:
            self._talk().open_kernel(self.machine)
            self._opened = True
        return Kernel(self.machine, self.limits)

    def _parse(self, action: Any) -> Performed:
        parsed = parse_code(action)
        if isinstance(parsed, Action):
            if parsed.verb == "wait":
                raise ActionError("there is no screen to wait for: write code, ASK, ANS, DONE or FAIL")
            return (parsed,)
        if len(parsed) > MAX_CODE:
            raise ActionError(f"an action has at most {MAX_CODE} characters, got {len(parsed)}")
        if not _is_unicode(parsed):
            raise ActionError("the action has lone surrogates, which no text has: give Unicode characters")
        question = _ASK.match(parsed.strip())
        return Question(question.group(1).strip()) if question else parsed

    def _look(self, settled: bool) -> tuple[dict[str, Any], dict[str, float]]:
        self._see()
        return self._observe(), {}

    def _carry_out(self, performed: Performed) -> tuple[dict[str, Any], dict[str, float]]:
        self._turn_steps += 1
        self._feedback = ""
        if isinstance(performed, Question):
            self._feedback = f"User: {self._talk().ask(performed)}"
        elif isinstance(performed, str):
            self._run(performed)
        return self._observe(), {}

    def _run(self, code: str) -> None:
        try:
            self._execution = self._kernel().run(code)
        except GuestCallError as error:
            self._execution = Execution("died", trace=str(error))
        self._feedback = execution_feedback(self._execution, self.limits)
        self._talk().ran(code, self._feedback, self._execution.status == "ok")
        if self._execution.status == "died":
            self._talk().open_kernel(self.machine)
        self._see()

    def _see(self) -> None:
        """Have the figure, if it is observed."""
        if "plot" not in self.parts or not self._opened:
            return
        try:
            self._plot = self._kernel().picture()
        except GuestCallError as error:
            self._plot = None
            self._feedback += f"\n[the figure cannot be drawn: {error}]"

    def _observe(self) -> dict[str, Any]:
        texts = {**self._talk().texts(), "feedback": self._feedback}
        return {
            part: self._picture(self._plot) if part == "plot" else cut_text(texts[part], ANALYSIS_TEXTS[part])
            for part in self.parts
        }

    @staticmethod
    def _picture(picture: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        return np.full((PICTURE[1], PICTURE[0], 3), 255, np.uint8) if picture is None else picture

    def _at_limit(self) -> bool:
        return self._turn_steps >= self.step_limit

    def _finish(self, stop: Stop, answer: str | None, last: bool = False) -> float:
        """Judge the turn; the episode ends with the last one."""
        self.final = self._final_state(stop, answer)
        talk = self._talk()
        reward = talk.submit(self.final)
        assert talk.verdict is not None
        if talk.over or talk.verdict.error or last:
            self._judged(talk.verdict)
            self._over = True
        else:
            self._turn_steps, self._execution = 0, None
            self._see()
        return reward

    def _more_info(self) -> dict[str, Any]:
        if self.verdict is None or self.conversation is None:
            return {}
        return {"analysis": dict(self.conversation.record())}

    def _step_info(self, performed: Performed) -> dict[str, Any]:
        if isinstance(performed, Question) or not isinstance(performed, str) or self._execution is None:
            return {}
        execution = self._execution
        return {"execution": {"status": execution.status, "late": execution.late, "truncated": execution.truncated}}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def analysis_space(parts: Sequence[str]) -> spaces.Dict:
    """The Dict space of the chosen observation parts.

    Raises:
        ValueError: an unknown, repeated or missing part.
    """
    if isinstance(parts, str) or not parts:
        raise ValueError(f"observation={parts!r}; legal is a list of one or more of {', '.join(PARTS)}")
    result: dict[str, spaces.Space[Any]] = {}
    for part in parts:
        if part not in PARTS:
            raise ValueError(f"unknown observation {part!r}; legal are {', '.join(PARTS)}{near(part, PARTS)}")
        if part in result:
            raise ValueError(f"observation {part!r} is named twice")
        picture = spaces.Box(0, 255, (PICTURE[1], PICTURE[0], 3), np.uint8)
        result[part] = picture if part == "plot" else UnicodeText(ANALYSIS_TEXTS[part])
    return spaces.Dict(result)


def execution_feedback(execution: Execution, limits: KernelLimits) -> str:
    """What a cell printed and raised, as its author should read it."""
    text = execution.stdout + execution.stderr
    if execution.truncated:
        text += f"\n[output cut at {limits.output} characters]"
    if execution.status == "timeout" or (execution.late and execution.status != "died"):
        text += f"\n[interrupted: the cell ran past its {limits.timeout:g} s]"
    elif execution.status == "died":
        text += "\n[the kernel died; a new one has the variables of the history, and none of yours]"
    elif execution.trace:
        text += ("\n" if text and not text.endswith("\n") else "") + execution.trace
    return text.strip("\n")
