"""StatefulEnv: what of an environment saves an episode at any step, and brings it back."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

import gymnasium
from gymnasium.utils.seeding import np_random

from deskgym.envs.action.form import ActionForm, Performed
from deskgym.envs.branching import fork_from
from deskgym.envs.episode import TaskLike
from deskgym.envs.episode_runner import EpisodeRunner
from deskgym.envs.errors import MachineError, StateError
from deskgym.envs.machines.base import Machine
from deskgym.envs.options import check_option
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.states import Copier, Done, Kept, SavedState, Seen, Way, checked_state

_STATE_OPTIONS = ("state", "strict")


class StatefulEnv(gymnasium.Env[dict[str, Any], Any]):
    """An environment that can be at any step of an episode again.

    Where the machine cannot keep what runs in it, the episode is replayed, and its end compared; see
    ``docs/states.md``.

    Attributes:
        actions: what an action means.
        episodes: tasks, machines that are ready for them, and how episodes end.
        performed: what the last step carried out.
    """

    actions: ActionForm
    episodes: EpisodeRunner
    performed: Performed
    _log: list[Done]  # what the episode's steps have done

    @property
    def manager(self) -> MachineManager:
        """Gets machines that are ready for a task."""
        return self.episodes.manager

    @property
    def machine(self) -> Machine:
        """The present episode's machine."""
        return self.manager.machine

    @property
    def stats(self) -> Counter[str]:
        """How often what has happened: see ``docs/vector.md``."""
        return self.episodes.stats

    def save_state(self) -> SavedState:
        """The episode as it is now: machine, screen, steps, feedback, random numbers. It goes on undisturbed.

        Wrappers around this environment keep things of their own: ``deskgym.wrappers.Branching`` saves them too.

        Raises:
            ResetNeeded: no episode is running.
            MachineError: the machine broke, or its disk is full; nothing is left of the state.
            StateError: what the episode keeps cannot be copied.
        """
        self.episodes.require_running()
        random = self.np_random, self.np_random_seed
        try:
            parts = self._copier().pack(self._kept_parts() | {"random": random, "performed": self.performed})
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
            ValueError: ``strict`` is no bool.
            gymnasium.error.Error: the seed is no whole number from 0 up.
            MachineError: no machine could be had.
        """
        checked_state(state).check(self._fits())
        check_option("strict", strict, bool)
        seeded = None if seed is None else np_random(seed)
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
        if seeded is not None:
            self._np_random, self._np_random_seed = seeded
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

    def asked_state(self, options: Mapping[str, Any] | None) -> dict[str, Any]:
        """The arguments of ``restore_state`` that ``reset`` was given, or none.

        Raises:
            ValueError: other options stand beside them.
        """
        if not isinstance(options, Mapping) or "state" not in options:
            return {}
        if unknown := [name for name in options if name not in _STATE_OPTIONS]:
            raise ValueError(
                f"reset options {unknown} beside 'state', which has a task of its own; legal beside it is 'strict'"
            )
        return dict(options)

    def _fits(self) -> dict[str, Any]:
        """What environments that can exchange states have in common."""
        return {
            "environment": type(self).__name__,
            "suite": getattr(self.episodes.suite, "name", type(self.episodes.suite).__qualname__),
            "machine": self.machine.kind,
            "action": self.actions.name,
            "max_steps": self.episodes.max_steps,
        }

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
        self._begin(task)
        self.episodes.open_machine(self._first_look)
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
        self._np_random, self._np_random_seed = parts.pop("random")
        self.performed = parts.pop("performed")
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
    def _begin(self, task: TaskLike) -> None:
        """Forget the last episode; the next one is of this task."""

    @abstractmethod
    def _first_look(self, settled: bool) -> dict[str, Any]:
        """The first observation of an episode. Raises MachineError."""

    @abstractmethod
    def _info(self, timing: Mapping[str, float]) -> dict[str, Any]:
        """The info of ``reset`` and ``step``."""

    @abstractmethod
    def _redo(self, done: Done) -> str:
        """Do a step again, without observing; how it differs from the first time, or "". Raises MachineError."""
