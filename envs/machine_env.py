"""MachineEnv: what DesktopEnv and KernelEnv have in common for whoever drives them."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.utils import EzPickle
from gymnasium.utils.seeding import np_random
from numpy.typing import NDArray

from deskgym.envs.action.actions import RefusedAction
from deskgym.envs.action.form import ActionForm, Performed, touches
from deskgym.envs.branching import fork_from
from deskgym.envs.clock import Clock
from deskgym.envs.episode import FinalState, TaskLike
from deskgym.envs.episode_runner import EpisodeRunner
from deskgym.envs.errors import ActionError, InvalidAction, MachineError, StateError, near
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine
from deskgym.envs.options import PlainSpec
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import WarmPool
from deskgym.envs.rendering import METADATA, Window
from deskgym.envs.states import Copier, Done, Kept, SavedState, Seen, Way, checked_state

_STATE_OPTIONS = ("state", "strict")

Step = tuple[dict[str, Any], float, bool, bool, dict[str, Any]]
"""What Gymnasium's ``step`` returns: observation, reward, terminated, truncated, info."""


class MachineEnv(PlainSpec, gymnasium.Env[dict[str, Any], Any], EzPickle):
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
        """Actions that solve the current task, in the env's action form; observe between them.

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
        """Prepare for the next ``reset``, where there is a pool.

        The first ``step`` of an episode does it for a ``reset`` without arguments, if this one had none and nothing
        else was asked for before.

        Args:
            seed: what the next ``reset`` will be called with.
            options: what it will be called with, too.
        """
        self.episodes.prefetch(self.np_random if seed is None else np_random(seed)[0], options)

    # --- states of an episode

    def save_state(self) -> SavedState:
        """The episode as it is now: machine, screen, steps, feedback, random numbers. It goes on undisturbed.

        Wrappers around this environment keep things of their own: ``deskgym.wrappers.Branching`` saves them too.

        Raises:
            ResetNeeded: no episode is running.
            MachineError: the machine broke, or its disk is full; nothing is left of the state.
            StateError: what the episode keeps cannot be copied.
        """
        self.episodes.require_running()
        try:
            parts = self._copier().pack(self._kept_parts() | {"random": self.np_random, "performed": self.performed})
        except Exception as error:
            raise StateError(f"what the episode keeps cannot be copied: {type(error).__name__}: {error}") from error
        kept, why = self._keep()
        try:
            seen = self._look_closely(rest=kept is None)
        except BaseException:
            if kept is not None:
                kept.release()
            raise
        self.stats["states_saved"] += 1
        return SavedState(
            self.episodes.current,
            self._log,
            seen,
            fits=self._fits(),
            parts=parts,
            kept=kept,
            why=why,
            baselines=self.machine.baselines,
            steps=self.episodes.steps,
            acted=self.episodes.acted,
        )

    def restore_state(
        self, state: SavedState, *, strict: bool = True, seed: int | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Be where the state was saved; the present episode, if there is one, is given up.

        ``reset(seed=seed, options={"state": state, "strict": strict})`` does the same.

        Args:
            state: of this environment, or of one that was made with the same arguments.
            strict: a replay that comes out otherwise is an error; else ``info["restored"]["differs"]`` says how.
            seed: of the episodes that are drawn next; None: those that would have followed then.

        Returns:
            Observation and info, as of ``reset``; ``info["restored"]`` has ``how``, ``steps``, ``ms`` and ``differs``.

        Raises:
            StateError: it was closed, is of another environment, or a replay came out otherwise; no episode runs then.
            MachineError: no machine could be had.
        """
        checked_state(state).check(self._fits())
        start = time.perf_counter()
        self.episodes.over = True
        task = state.task(self.episodes.suite)
        how, differs = self._return_to(state, task)
        try:
            observation, differs_now = self._see_again(state)
        except MachineError as error:
            self.manager.fail(error)
            raise
        differs = differs or differs_now
        if differs and strict and how == "replay":
            self.episodes.over = True
            raise StateError(
                f"the replay of {len(state.log)} steps of {state.task_id} came out otherwise: {differs}; "
                "restore_state(state, strict=False) takes it as it is"
            )
        if seed is not None:
            self.np_random = np_random(seed)[0]
        self.stats["states_restored"] += 1
        self.stats["states_replayed"] += how == "replay"
        self.episodes.running()
        took = (time.perf_counter() - start) * 1000
        restored = {"how": how, "steps": state.steps, "ms": took, "differs": differs}
        return observation, self._info({"restore": took}) | {"stats": dict(self.stats), "restored": restored}

    def fork(self, n: int, *, strict: bool = True) -> list[Self]:
        """Environments that stand where this one does, each with a machine of its own; this one goes on.

        Each is yours to close. Their random numbers are this one's too: what they draw next is the same.

        Args:
            n: how many.
            strict: see ``restore_state``.

        Raises:
            StateError, MachineError: see ``save_state`` and ``restore_state``; all of them are closed then.
        """
        with self.save_state() as state:
            return fork_from(self, n, lambda env: env.restore_state(state, strict=strict))

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
    def manager(self) -> MachineManager:
        """Gets machines that are ready for a task."""
        return self.episodes.manager

    @property
    def machine(self) -> Machine:
        """The present episode's machine."""
        return self.manager.machine

    @property
    def pool(self) -> WarmPool:
        """What prepares the next episodes' machines."""
        return self.manager.pool

    @property
    def stats(self) -> Counter[str]:
        """How often what has happened: see ``docs/vector.md``."""
        return self.episodes.stats

    def asked_state(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """The arguments of ``restore_state`` that ``reset`` was given, or none.

        Raises:
            ValueError: other options stand beside them.
        """
        if not isinstance(options, Mapping) or "state" not in options:
            return {}
        if unknown := [name for name in options if name not in _STATE_OPTIONS]:
            raise ValueError(
                f"reset options {unknown} beside 'state', which has a task of its own; legal are {_STATE_OPTIONS}"
            )
        return dict(options)

    def _fits(self) -> dict[str, Any]:
        """What environments that can exchange states have in common."""
        return {
            "environment": type(self).__name__,
            "suite": getattr(self.episodes.suite, "name", type(self.episodes.suite).__qualname__),
            "machine": self.machine.kind,
            "action": self.actions.name,
            "max_steps": self.max_steps,
        }

    def take_settings(self, other: MachineEnv) -> None:
        """Have what was set in another environment of this kind since it was built."""
        self.max_steps, self.invalid_action = other.max_steps, other.invalid_action

    def _copier(self) -> Copier:
        return Copier(self.made_of())

    def made_of(self) -> list[Any]:
        """What this environment is, and is made of, in the same order in all of its kind."""
        episodes = self.episodes
        return [self, episodes.suite, self.actions, episodes, episodes.manager, self.action_space]

    def _return_to(self, state: SavedState, task: TaskLike) -> tuple[Way, str]:
        """Have the machine where the state was saved, by the best way that still is one, and all that was kept.

        Gives that way, and how what it went through differs from what the episode did.
        """
        snapshot = state.snapshot()
        if snapshot is not None:
            self._unpack(state, task)
            try:
                self.manager.resume(task, snapshot, state.baselines)
                return "snapshot", ""
            except ValueError:
                pass  # the snapshot went with the process that took it, or is another host's: the log is left
            except MachineError as error:
                self.manager.fail(error)
                raise
        if self._resume_kept(state):
            self._unpack(state, task)
            return "process", ""
        self.episodes.resume(task, 0, False)
        self._begin_again(task)
        differs = ""
        try:
            for done in state.log:
                differs_here = self._redo(done)
                differs = differs or differs_here
        except MachineError as error:
            self.manager.fail(error)
            raise
        self._unpack(state, task)
        return "replay", differs

    def _unpack(self, state: SavedState, task: TaskLike) -> None:
        self.episodes.resume(task, state.steps, state.acted)
        self._log = list(state.log)
        parts = self._copier().unpack(state.parts)
        self.np_random, self.performed = parts.pop("random"), parts.pop("performed")
        self._take_parts(parts)

    def _resume_kept(self, state: SavedState) -> bool:
        """Go on from what is kept in this machine, if it is there."""
        return False

    def _keep(self) -> tuple[Kept | None, str]:
        """What a way back needs, or None and why the way is a replay. Raises MachineError."""
        if "programs" not in self.machine.can:
            return None, f"snapshots of {self.machine.kind!r} machines do not keep running programs"
        if self.machine.companions:
            return None, "the task has services beside its machine, which no snapshot keeps"
        machine, snapshot = self.machine, self.machine.snapshot()
        builder = self.manager.builder
        return Kept(snapshot, None, lambda: builder.build(machine.config).drop(snapshot)), ""

    @abstractmethod
    def _look_closely(self, rest: bool) -> Seen:
        """What the present state looks like, once nothing moves any more if ``rest``. Raises MachineError."""

    @abstractmethod
    def _see_again(self, state: SavedState) -> tuple[dict[str, Any], str]:
        """The observation of a state that was returned to, and how it differs from what was saved."""

    @abstractmethod
    def _kept_parts(self) -> dict[str, Any]:
        """What the environment keeps of an episode, by name."""

    @abstractmethod
    def _take_parts(self, parts: Mapping[str, Any]) -> None:
        """Keep what ``_kept_parts`` gave."""

    @abstractmethod
    def _begin_again(self, task: TaskLike) -> None:
        """Have a machine that is ready for a task, as ``reset`` does. Raises what that raises."""

    @abstractmethod
    def _redo(self, done: Done) -> str:
        """Do a step again, without observing; how it differs from the first time, or "". Raises MachineError."""

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
