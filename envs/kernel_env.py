"""KernelEnv: a Gymnasium environment with a kernel and without a display; an agent's code keeps its variables."""

from __future__ import annotations

import re
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from deskgym.envs.action.form import CodeActions, Performed, end_of
from deskgym.envs.clock import Clock
from deskgym.envs.episode import Stop, TaskLike, TaskSource
from deskgym.envs.episode_runner import EpisodeRunner
from deskgym.envs.errors import ActionError, GuestCallError, MachineError
from deskgym.envs.kernel_episode import KernelEpisode, KernelTaskLike
from deskgym.envs.machine_env import MachineEnv, Step
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.kernels import LIBRARIES, PICTURE, Execution, Kernel, KernelLimits
from deskgym.envs.observation.spaces import empty_observation, observation_space
from deskgym.envs.observation.texts import TEXT_LENGTHS, cut_text
from deskgym.envs.options import Seconds, StepLimit, checked
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig
from deskgym.envs.states import Done, Kept, SavedState, Seen
from deskgym.envs.text_space import UnicodeText
from deskgym.envs.time_limit import ends_with_this_step

if TYPE_CHECKING:
    from deskgym.envs.guest.client import GuestClient

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class KernelActions(CodeActions):
    """Texts: Python code, or one of the words DONE, FAIL, ANS."""

    no_wait = "there is no screen to wait for: write code, ANS, DONE or FAIL"

    def parse(self, action: Any) -> Performed:
        """An end as an Action, or the code.

        Raises:
            ActionError: it is none of these.
        """
        parsed = super().parse(action)
        if not isinstance(parsed, str):
            if parsed[0].verb == "wait":
                raise ActionError(self.no_wait)
            return parsed
        try:
            parsed.encode()
        except UnicodeEncodeError:
            message = "the action has lone surrogates, which no text has: give Unicode characters"
            raise ActionError(message) from None
        return parsed

    def scripted(self, script: Iterator[Any], look: Callable[[], None]) -> Iterator[Any]:
        """The script itself: it yields texts."""
        return script


class KernelEnv(MachineEnv):
    """The agent's code runs in a kernel that keeps its variables; what it prints or raises is the feedback.

    An action is a text: Python code; ``ANS text``; ``DONE``; ``FAIL``. The last three, and the step limit, end the
    present stage of the episode, which is then judged. A subclass says what the agent is told.

    Args:
        suite: where the tasks come from, each a ``KernelTaskLike``.
        begin: the episode of a task.
        actions: what an action means.
        texts: the longest text of each text observation, in characters; ``feedback`` is one.
        task: a task id, a glob over ids, or None for any; what it leaves open is drawn by the seed.
        split: ``"train"``, ``"test"`` or None for both.
        machine: the kind of machine, such as ``"sandbox"``.
        observation: of ``texts``, which are the default, and ``plot`` (the current figure, uint8 (600, 800, 3), white
            where there is none).
        max_steps: step limit of a stage; None takes the task's own.
        render_mode: None, ``"rgb_array"``, the plot, or ``"human"``, a window that shows it.
        code_timeout: seconds until a cell is interrupted.
        invalid_action: ``"raise"`` raises ActionError and does nothing; ``"feedback"`` counts the step, does nothing
            and says why in the feedback and in ``info["invalid_action"]``.
        pool: the keys of ``PoolConfig``; ``{"depth": 1}`` prepares the next episode in a second machine.
        machine_options: see ``DesktopEnv``.

    Attributes:
        episode: the present or the last one; None before the first ``reset``.

    Raises:
        TaskError: the task or split is unknown.
        ValueError: another argument is not legal; the message says what is.
    """

    @checked
    def __init__(
        self,
        suite: TaskSource,
        begin: Callable[[TaskLike], KernelEpisode],
        *,
        actions: KernelActions,
        texts: Mapping[str, int],
        task: str | None = None,
        split: str | None = None,
        machine: str = "sandbox",
        observation: Sequence[str] | None = None,
        max_steps: StepLimit | None = None,
        render_mode: str | None = None,
        code_timeout: Seconds = 30.0,
        invalid_action: str = "raise",
        pool: Mapping[str, Any] | None = None,
        machine_options: Mapping[str, Any] | None = None,
    ) -> None:
        self.names = tuple(texts) if observation is None else observation
        self._texts, self._begin_episode = texts, begin
        self.observation_space = observation_space(self.names, kernel_spaces(texts))
        self.limits = KernelLimits(timeout=code_timeout, output=TEXT_LENGTHS["feedback"])
        builder = MachineBuilder.of_options(
            machine, {"libraries": LIBRARIES, **(machine_options or {})}, screen_size=None
        )
        manager = MachineManager(builder, self._plot_ahead, PoolConfig.from_dict(pool))
        episodes = EpisodeRunner(suite, manager, task=task, split=split, max_steps=max_steps)
        super().__init__(actions, episodes, render_mode=render_mode, invalid_action=invalid_action)
        if "kernels" not in self.machine.can:
            raise ValueError(f"machine={machine!r} has no kernels; legal are 'sandbox', 'qemu' and 'process'")
        self.episode: KernelEpisode | None = None
        self._dropped: deque[tuple[weakref.ref[GuestClient], int]] = deque()
        self._plot: NDArray[np.uint8] | None = None
        begin(suite.draw(np.random.default_rng(0), task, split))  # what it does not take is an error now, not in reset

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a task, get a machine with a kernel that is ready for it, and observe; see ``DesktopEnv.reset``."""
        if asked := self.asked_state(options):
            return self.restore_state(**asked, seed=seed)
        super().reset(seed=seed)
        task = self.episodes.draw(self.np_random, seed, options)
        self._begin(task)
        observation, timing, prepared = self.episodes.open_machine(self._first_look)
        return observation, self._info(timing) | {"stats": dict(self.stats), "prepared": prepared}

    def step(self, action: Any) -> Step:
        """Run code, or end the stage; a stage that ends is judged, and the episode ends with the last one.

        Raises:
            ActionError: the action is not legal; nothing was done (unless ``invalid_action="feedback"``).
        """
        episode, clock = self.episodes, Clock()
        episode.require_running()
        episode.prefetch_once(self.np_random)
        self.performed, invalid = self._read(action)
        clock.lap("parse")
        episode.steps += 1
        self._stage_steps += 1
        stop, answer = end_of(self.performed)
        last = ends_with_this_step(self)
        if stop is None and (last or self._stage_steps >= self.step_limit):
            stop = "limit"
        reward, execution = 0.0, None
        try:
            self._feedback = invalid or ""
            execution = self._carry_out(self.performed)
            self._log.append(Done(self.performed, stop, answer, self._feedback))
            observation = self._observe()
            clock.lap("act")
            if stop:
                reward = self._judge(stop, answer, last)
                clock.lap("evaluate")
                observation = observation if episode.over else self._observe()  # of the next stage
        except MachineError as error:
            return self._fault(error, clock)
        info = self._info(clock.timing)
        if execution is not None:
            info["execution"] = {
                "status": execution.status, "late": execution.late, "truncated": execution.truncated
            }  # fmt: skip
        if invalid:
            info["invalid_action"] = invalid
        return observation, reward, episode.over and stop != "limit", episode.over and stop == "limit", info

    def _frame(self) -> NDArray[np.uint8]:
        """The current figure: uint8 (600, 800, 3) RGB, white where there is none."""
        try:
            return self._picture(self._kernel().picture() if self._opened else None)
        except GuestCallError:  # the agent's figure cannot be drawn, or has ended the kernel
            return self._picture(None)

    def picture(self) -> NDArray[np.uint8] | None:
        """The current figure, for a recording of an agent that does not see it; None where there is none."""
        if "plot" in self.names or not self._opened:
            return self._plot
        try:
            return self._kernel().picture(aside=True)
        except (GuestCallError, MachineError):  # it cannot be drawn, or its kernel or machine has ended
            return None

    @property
    def step_limit(self) -> int:
        """Steps until the present stage ends."""
        return self._present().step_limit if self.episodes.max_steps is None else self.episodes.max_steps

    def oracle(self) -> Iterator[str]:
        """Texts that solve the current task; see ``MachineEnv.oracle``."""
        return self.episodes.current.oracle(None)

    def attempt(self, attempt: str | Callable[[Any], Iterator[str]]) -> Iterator[str]:
        """Texts of a wrong attempt or of a script; see ``MachineEnv.attempt``."""
        return self._script(attempt)(None)

    @property
    def done(self) -> str:
        """See ``MachineEnv.done``."""
        return "DONE"

    def describe(self) -> dict[str, Any]:
        """See ``MachineEnv.describe``."""
        return {
            "vocabulary": "",
            "screen_size": list(PICTURE),
            "action_form": self.actions.name,
            "observation": list(self.names),
        }

    # --- of saved states

    def made_of(self) -> list[Any]:
        """See ``MachineEnv.made_of``."""
        return [*super().made_of(), self.observation_space, self._texts, self.limits]

    def _fits(self) -> dict[str, Any]:
        return super()._fits() | {"observation": tuple(self.names), "code_timeout": self.limits.timeout}

    def _look_closely(self, rest: bool) -> Seen:
        return Seen() if self._plot is None else Seen.picture(self._plot)

    def _keep(self) -> tuple[Kept | None, str]:
        self._let_go()
        if not self._opened:
            return None, "no code was run yet"
        kernel, guest = self._kernel(), self.machine.guest
        try:
            number = kernel.hold()
        except GuestCallError as error:
            return None, str(error).removeprefix("kernel_hold: ")

        dropped, held_by = self._dropped, weakref.ref(guest)
        return Kept(number, held_by, lambda: dropped.append((held_by, number))), ""

    def _let_go(self) -> None:
        """Release the held kernels whose states were closed: never from a finalizer, which may run within a call."""
        while self._dropped:
            held_by, number = self._dropped.popleft()
            with suppress(GuestCallError, MachineError):
                if self.machine.alive and self.machine.guest is held_by():
                    Kernel(self.machine, self.limits).release(number)

    def _resume_kept(self, state: SavedState) -> bool:
        self._let_go()
        number = state.held_by(self.machine.guest) if self.machine.alive else None
        if number is None:
            return False
        try:
            Kernel(self.machine, self.limits).resume(number)
            return True
        except (GuestCallError, MachineError):  # the machine has been started anew since, or the agent has ended it
            state.has_gone("the kernel that was kept has ended")
            return False

    def _kept_parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("episode", "_stage_steps", "_feedback", "_opened", "_plot")}

    def _take_parts(self, parts: Mapping[str, Any]) -> None:
        vars(self).update(parts)

    def _see_again(self, state: SavedState) -> tuple[dict[str, Any], str]:
        said = self._feedback
        self._see()
        self._feedback = said
        return self._observe(), state.seen.differs(self._look_closely(rest=False))

    def _redo(self, done: Done) -> str:
        if isinstance(done.performed, str):
            self._run(done.performed)
        said = _without_addresses(self._feedback)
        if done.stop is not None:
            self._judge(done.stop, done.answer)
        if not isinstance(done.performed, str) or said == _without_addresses(done.said):
            return ""
        return f"the code {done.performed[:100]!r} says {said[:200]!r} where it said {done.said[:200]!r}"

    # --- internals

    def _begin(self, task: TaskLike) -> None:
        self.episode, self._plot = self._begin_episode(task), None
        self.performed, self._log = (), []
        self._stage_steps, self._feedback = 0, ""
        self._opened = not cast(KernelTaskLike, task).lazy

    def _plot_ahead(self, machine: Machine) -> None:
        """Draw the history's figure ahead, where it will be seen."""
        if "plot" in self.names:
            with suppress(GuestCallError):  # there is no kernel yet, or the figure cannot be drawn
                Kernel(machine, self.limits).picture()

    def _present(self) -> KernelEpisode:
        if self.episode is None:
            raise gymnasium.error.ResetNeeded("there is no episode yet: call reset() first")
        return self.episode

    def _kernel(self) -> Kernel:
        if not self._opened:
            self._present().open_kernel(self.machine)
            self._opened = True
        return Kernel(self.machine, self.limits)

    def _first_look(self, settled: bool) -> dict[str, Any]:
        self._see()
        return self._observe()

    def _carry_out(self, performed: Performed) -> Execution | None:
        """Run code; gives what came of it."""
        return self._run(performed) if isinstance(performed, str) else None

    def _run(self, code: str) -> Execution:
        try:
            execution = self._kernel().run(code)
        except GuestCallError as error:
            execution = Execution("died", trace=str(error))
        self._feedback = execution_feedback(execution, self.limits)
        self._present().ran(code, self._feedback, execution.status == "ok")
        if execution.status == "died":
            self._present().open_kernel(self.machine)
        self._see()
        return execution

    def _see(self) -> None:
        """Have the figure, if it is observed."""
        if "plot" not in self.names or not self._opened:
            return
        try:
            self._plot = self._kernel().picture()
        except GuestCallError as error:
            self._plot = None
            self._feedback += f"\n[the figure cannot be drawn: {error}]"

    def _observe(self) -> dict[str, Any]:
        self._show()
        texts = {**self._present().texts(), "feedback": self._feedback}
        return {
            part: self._picture(self._plot) if part == "plot" else cut_text(texts[part], self._texts[part])
            for part in self.names
        }

    @staticmethod
    def _picture(picture: NDArray[np.uint8] | None) -> NDArray[np.uint8]:
        return np.full((PICTURE[1], PICTURE[0], 3), 255, np.uint8) if picture is None else picture

    def _judge(self, stop: Stop, answer: str | None, last: bool = False) -> float:
        """Judge the stage; the episode ends with the last one, or where this is to be the ``last``."""
        self.episodes.final = self.episodes.final_state(stop, answer)
        stages = self._present()
        reward = stages.submit(self.episodes.final)
        assert stages.verdict is not None
        if stages.over or stages.verdict.error or last:
            self.episodes.conclude(stages.verdict)
        else:
            self._stage_steps = 0
            self._see()
        return reward

    def _end_now(self) -> float:
        return self._judge("limit", None, last=True)

    def _observe_nothing(self) -> dict[str, Any]:
        return empty_observation(self.observation_space, self.episodes.current.instruction)


def _without_addresses(text: str) -> str:
    """A text in which places in memory, which are others each time, are left out."""
    return _ADDRESS.sub("0x", text)


def kernel_spaces(texts: Mapping[str, int]) -> dict[str, spaces.Space[Any]]:
    """The space of each observation, given the longest text of each text observation."""
    found: dict[str, spaces.Space[Any]] = {name: UnicodeText(length) for name, length in texts.items()}
    return found | {"plot": spaces.Box(0, 255, (PICTURE[1], PICTURE[0], 3), np.uint8)}


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
