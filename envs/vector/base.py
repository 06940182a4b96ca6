"""Gymnasium's vector contract, and EnvPool's send and recv, over environments that are elsewhere."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space, iterate
from numpy.typing import NDArray

from deskgym.envs.errors import StateError
from deskgym.envs.options import PlainSpec
from deskgym.envs.states import SavedState, checked_state
from deskgym.envs.vector.client import EnvClient
from deskgym.envs.vector.worker import Result

Batch = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]
Client = TypeVar("Client", bound=EnvClient)


class ClientVectorEnv(PlainSpec, VectorEnv[Any, Any, Any], Generic[Client]):
    """A vector of environments whose workers are elsewhere; a subclass knows where, and how the observations come.

    Args:
        make: builds one environment; called once here, for the spaces.
        num_envs: how many.
        autoreset_mode: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``, with Gymnasium's meanings.

    Attributes:
        stats: counts ``lost_workers``; ``call("stats")`` has the environments' own.

    Raises:
        ValueError: an argument is not legal.
    """

    def __init__(
        self, make: Callable[[], gymnasium.Env[Any, Any]], num_envs: int, autoreset_mode: str | AutoresetMode
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"num_envs={num_envs!r}; legal is a number from 1 up")
        self.num_envs, self.autoreset_mode = num_envs, _mode(autoreset_mode)
        self.stats: Counter[str] = Counter()
        one = make()
        self.single_observation_space, self.single_action_space = one.observation_space, one.action_space
        self.metadata = {**one.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = one.render_mode
        one.close()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._envs: list[Client] = []
        self._homes: dict[Any, int] = {}  # which environment's worker keeps a state

    # --- what a subclass knows

    @abstractmethod
    def _wait(self, envs: Sequence[Client], end: float | None) -> None:
        """Wait until one of them is done, the first of their deadlines has come, or ``end``; tell those concerned."""

    @abstractmethod
    def _observed(self, ids: Sequence[int]) -> Any:
        """The last observations of some environments, as a batch."""

    # --- Gymnasium's

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all environments, or those of ``options["reset_mask"]``, a bool array (num_envs,).

        Args:
            seed: one for each; a number is that of the first, and counts up.
            options: for each environment's ``reset``.

        Raises:
            TaskError: no such task or split.
            SetupError: the task's programs did not come up.
            MachineError: no machine could be had.
        """
        self._require_idle(range(self.num_envs))
        ids = self._start_resets(seed, options)
        results = self._answers(ids)
        infos: dict[str, Any] = {}
        for k, result in zip(ids, results, strict=True):
            infos = self._add_info(infos, result.info, k)
        return self._observed(range(self.num_envs)), infos

    def step(self, actions: Any) -> Batch:
        """Take one action in each environment.

        Args:
            actions: a member of ``action_space``, or a list or tuple of actions, one for each.

        Raises:
            ActionError: an action is not legal, see ``DesktopEnv.step``; ``recv`` has the steps of the others.
            SetupError: an autoreset failed, on two fresh machines; ``recv`` has the steps of the others.
            MachineError: no machine or no worker could be had; ``recv`` has the steps of the others.
        """
        self.send(actions)
        return self._batch(self._collect(self.num_envs, None))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of each environment or of its wrappers, or read an attribute."""
        return tuple(self._ask_all("call", [(name, args, kwargs)] * self.num_envs))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Read an attribute of each environment or of its wrappers."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute in each environment: to one value, or to those of a list or tuple."""
        values = list(values) if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"got {len(values)} values for {self.num_envs} environments")
        self._ask_all("set", [(name, value) for value in values])

    def render(self) -> tuple[Any, ...] | None:
        """The screens now; see ``DesktopEnv.render``."""
        return self.call("render")

    # --- states of an episode

    def save_state(self, env_id: int) -> SavedState:
        """The episode of one environment as it is now; see ``deskgym.wrappers.Branching``.

        Its worker keeps it until ``drop_state``, or until the worker ends.

        Raises:
            AlreadyPendingCallError: the environment is busy.
            StateError, MachineError, ResetNeeded: see ``MachineEnv.save_state``.
        """
        (state,) = self._ask_some([env_id], "save", ())
        self._homes[state.saved_at] = env_id
        return state  # type: ignore[no-any-return]

    def restore_state(
        self, state: SavedState, env_ids: int | Sequence[int] | None = None, *, strict: bool = True
    ) -> tuple[Any, dict[str, Any]]:
        """Have environments be where a state was saved, all at once; their present episodes are given up.

        Args:
            state: what ``save_state`` gave.
            env_ids: which, or one; all if None.
            strict: see ``MachineEnv.restore_state``.

        Returns:
            Observations of all environments, and infos, as ``reset`` with a mask gives them.

        Raises:
            AlreadyPendingCallError: one of them is busy.
            StateError, MachineError: see ``MachineEnv.restore_state``; the others are restored all the same.
        """
        ids = self._chosen(env_ids)
        if checked_state(state).closed:
            raise StateError(f"{state!r} cannot be restored: it was dropped; save_state(env_id) gives another one")
        infos: dict[str, Any] = {}
        for k, result in zip(ids, self._ask_some(ids, "restore", (state, strict)), strict=True):
            infos = self._add_info(infos, result.info, k)
        return self._observed(range(self.num_envs)), infos

    def drop_state(self, state: SavedState) -> None:
        """Delete a state, and close the handle. Idempotent."""
        home = self._homes.get(checked_state(state).saved_at)
        if not self.closed and home is not None:
            self._ask_some([home], "drop", (state.saved_at,))
            del self._homes[state.saved_at]
        state.close()

    def fork(
        self, env_id: int, env_ids: int | Sequence[int] | None = None, *, strict: bool = True
    ) -> tuple[Any, dict[str, Any]]:
        """Have environments stand where one of them does; that one goes on. What they draw next is the same.

        Args:
            env_id: that one.
            env_ids: the others, or one; all of them if None.
            strict: see ``MachineEnv.restore_state``.

        Returns:
            Observations and infos, as of ``restore_state``.
        """
        others = [k for k in range(self.num_envs) if k != env_id] if env_ids is None else self._chosen(env_ids)
        state = self.save_state(env_id)
        try:
            return self.restore_state(state, others, strict=strict)
        finally:
            self.drop_state(state)

    # --- each at its own pace

    def async_reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        """Start resets, as ``reset`` does; ``recv`` gives the first observations, with rewards of 0."""
        self._start_resets(seed, options)

    def send(self, actions: Any, env_ids: Sequence[int] | NDArray[np.int64] | None = None) -> None:
        """Start a step in some environments.

        Args:
            actions: one for each of them: a batch as of ``action_space``, or a list or tuple of actions.
            env_ids: which; all if None. None of them may be busy.
        """
        ids = self._chosen(env_ids)
        self._check_ids(ids)
        chosen = self._actions(actions)
        if len(chosen) != len(ids):
            raise ValueError(f"got {len(chosen)} actions for {len(ids)} environments")
        for k, action in zip(ids, chosen, strict=True):
            self._envs[k].step(action)

    def recv(self, batch_size: int | None = None, timeout: float | None = None) -> Batch:
        """Wait for the first ``batch_size`` of the environments that are busy.

        Args:
            batch_size: how many, fewer if fewer are busy; all that are busy if None.
            timeout: seconds.

        Returns:
            Gymnasium's five with a row for each environment that is ready; ``info["env_id"]`` says which they are,
            int64 (rows,), ascending. Observations of fewer than all are copies.

        Raises:
            NoAsyncCallError: nothing was sent.
            TimeoutError: too few were ready in time; nothing is lost, call ``recv`` again.
            ActionError: an action was not legal; its environment is idle, and nothing of the others is lost: call
                ``recv`` again.
            SetupError, MachineError: an autoreset failed; nothing of the others is lost.
        """
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"batch_size={batch_size!r}; legal is None or a number from 1 up")
        busy = self._busy()
        if not busy:
            raise NoAsyncCallError("nothing was sent: call send() or async_reset() before recv()", "step")
        results = self._collect(len(busy) if batch_size is None else min(batch_size, len(busy)), timeout)
        *batch, infos = self._batch(results)
        infos["env_id"] = np.array(list(results), np.int64)
        return (*batch, infos)

    # --- internals

    def _start_resets(self, seed: int | Sequence[int | None] | None, options: Mapping[str, Any] | None) -> list[int]:
        others = dict(options or {})
        ids = self._masked(others.pop("reset_mask", None))
        seeds = self._seeds(seed)
        self._require_idle(ids)
        for k in ids:
            self._envs[k].reset(seeds[k], others or None)
        return ids

    def _busy(self) -> list[int]:
        return [env.index for env in self._envs if env.busy]

    def _require_idle(self, ids: Sequence[int]) -> None:
        if self.closed:
            raise ClosedEnvironmentError("the vector environment is closed")
        if busy := [k for k in ids if self._envs[k].busy]:
            raise AlreadyPendingCallError(f"environments {busy} are busy: call recv() first", "step")

    def _ask_all(self, name: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        self._require_idle(range(self.num_envs))
        try:
            for env, own in zip(self._envs, arguments, strict=True):
                env.ask(name, *own)
        finally:
            answers = self._answers(self._busy())
        return answers

    def _ask_some(self, ids: Sequence[int], name: str, arguments: tuple[Any, ...]) -> list[Any]:
        self._check_ids(ids)
        try:
            for k in ids:
                self._envs[k].ask(name, *arguments)
        finally:
            answers = self._answers([k for k in ids if self._envs[k].busy])
        return answers

    def _chosen(self, env_ids: int | Sequence[int] | NDArray[np.int64] | None) -> list[int]:
        """Their numbers: of all if None, of one if it is a number."""
        if isinstance(env_ids, int | np.integer):
            return [int(env_ids)]
        return list(range(self.num_envs)) if env_ids is None else [int(k) for k in env_ids]

    def _check_ids(self, ids: Sequence[int]) -> None:
        """Raise where they are not different environments, none of them busy."""
        if len(set(ids)) < len(ids) or not set(ids) <= set(range(self.num_envs)):
            raise ValueError(f"env_ids={list(ids)}; legal are different numbers from 0 to {self.num_envs - 1}")
        self._require_idle(ids)

    def _answers(self, ids: Sequence[int]) -> list[Any]:
        """The answers of some environments, in order, when all have come; the first error is raised then."""
        for k in ids:
            while not self._envs[k].done:
                self._wait([self._envs[k]], None)
        answers, errors = [], []
        for k in ids:
            try:
                answers.append(self._envs[k].take())
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]
        return answers

    def _collect(self, count: int, timeout: float | None) -> dict[int, Result]:
        """The results of the first ``count`` environments that are ready, by environment, ascending."""
        end = None if timeout is None else time.monotonic() + timeout
        busy, late = [self._envs[k] for k in self._busy()], False
        if timeout is not None and timeout <= 0 and (silent := [env for env in busy if not env.done]):
            self._wait(silent, end)
        while True:
            ready = sorted((env for env in busy if env.done), key=lambda env: env.since)
            if failed := next((env for env in ready if env.failed), None):
                failed.take()
            if len(ready) >= count:
                return {env.index: env.take() for env in sorted(ready[:count], key=lambda env: env.index)}
            waiting = [env for env in busy if not env.done]
            if late:
                raise TimeoutError(f"{len(ready)} of {count} environments were ready within {timeout:g} s")
            self._wait(waiting if count < len(busy) else waiting[:1], end)
            late = end is not None and time.monotonic() >= end

    def _batch(self, results: Mapping[int, Result]) -> Batch:
        rows = list(results.values())
        infos: dict[str, Any] = {}
        adder = self if len(rows) == self.num_envs else _Infos(len(rows))
        for k, result in enumerate(rows):
            infos = adder._add_info(infos, result.info, k)
        return (
            self._observed(list(results)),
            np.array([result.reward for result in rows], np.float64),
            np.array([result.terminated for result in rows], np.bool_),
            np.array([result.truncated for result in rows], np.bool_),
            infos,
        )

    def _actions(self, actions: Any) -> list[Any]:
        if isinstance(actions, list | tuple):
            return list(actions)
        try:
            return list(iterate(self.action_space, actions))
        except (TypeError, KeyError, ValueError, AttributeError, AssertionError) as error:
            raise ValueError(
                f"actions are a batch as of action_space, or a list of actions, one for each environment; got "
                f"{actions!r} ({type(error).__name__}: {error})"
            ) from error

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None or isinstance(seed, int | np.integer):
            return [None if seed is None else int(seed) + k for k in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"got {len(seed)} seeds for {self.num_envs} environments")
        return list(seed)

    def _masked(self, mask: Any) -> list[int]:
        if mask is None:
            return list(range(self.num_envs))
        if not (isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (self.num_envs,)):
            raise ValueError(f"options['reset_mask'] is a bool array of shape ({self.num_envs},), got {mask!r}")
        if not mask.any():
            raise ValueError("options['reset_mask'] names no environment")
        return [int(k) for k in np.flatnonzero(mask)]


class _Infos(VectorEnv[Any, Any, Any]):
    """Puts together the infos of a part of the environments."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs


def _mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        legal = ", ".join(repr(one.value) for one in AutoresetMode)
        raise ValueError(f"autoreset_mode={mode!r}; legal are {legal}") from None
