"""The worker of a vector of environments: what runs beside one environment, in a process of its own."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import select
import shutil
import signal
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.util import get_temp_dir
from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from deskgym.envs import branching
from deskgym.envs.desktop_env import DesktopEnv
from deskgym.envs.errors import DeskgymError
from deskgym.envs.states import SavedState
from deskgym.envs.vector.memory import Observations

Env = gymnasium.Env[Any, Any]
REQUESTS = ("reset", "step", "call", "set", "save", "restore", "drop")
_OWN = ("reset", "step", "close")
ORPHANED = 2.0  # seconds that a worker whose pipe is closed waits for the news that its parent has ended
_TRANSPARENT = (gymnasium.wrappers.OrderEnforcing, gymnasium.wrappers.PassiveEnvChecker, gymnasium.wrappers.TimeLimit)


@dataclass
class Result:
    """What a worker answers to a reset or a step; the observation has a way of its own.

    Attributes:
        reward: of the step.
        terminated: whether the episode ended by an action.
        truncated: whether it ended at a limit, or by a fault.
        info: the step's, with ``action_mask`` where there are masks; after a reset in the same step, the reset's, with
            ``final_obs`` and ``final_info`` of the step.
    """

    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    info: dict[str, Any] = field(default_factory=dict)


class Worker:
    """One environment, and the requests that can be made of it, by name.

    Args:
        env: the environment.
        mode: SAME_STEP resets at once when an episode is over; in the other modes a reset is asked for.

    Attributes:
        observation: the last one.
    """

    def __init__(self, env: Env, mode: AutoresetMode) -> None:
        self.env, self.mode = env, mode
        self.observation: Any = None
        self._states: dict[Any, SavedState] = {}
        self._masks = _masks(env)

    def respond(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Do what is asked for."""
        if name not in REQUESTS:
            raise ValueError(f"unknown request {name!r}; legal are {', '.join(REQUESTS)}")
        return getattr(self, name)(*arguments)

    def reset(self, seed: int | None, options: dict[str, Any] | None) -> Result:
        """Reset the environment."""
        observation, info = self.env.reset(seed=seed, options=options)
        self.show(observation)
        return Result(info=self._with_masks(info))

    def step(self, action: Any) -> Result:
        """Step the environment."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        result = Result(float(reward), bool(terminated), bool(truncated), info)
        if (result.terminated or result.truncated) and self.mode == AutoresetMode.SAME_STEP:
            final = {"final_obs": self.keep(observation), "final_info": info}
            result.info = final | self.reset(None, None).info
        else:
            self.show(observation)
            result.info = self._with_masks(info)
        return result

    def call(self, name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
        """Call a method of the environment or of a wrapper, or read an attribute."""
        if name in _OWN:
            raise ValueError(f"call({name!r}) would hide it from the vector environment: use its own {name}()")
        attribute = self.env.get_wrapper_attr(name)
        return attribute(*arguments, **keywords) if callable(attribute) else attribute

    def set(self, name: str, value: Any) -> None:
        """Set an attribute of the environment or of a wrapper."""
        self.env.set_wrapper_attr(name, value)

    def save(self) -> SavedState:
        """Save the episode's state; it is kept here until ``drop``."""
        state = branching.save(self.env, self.observation)
        self._states[state.saved_at] = state
        return state

    def restore(self, state: SavedState, strict: bool) -> Result:
        """Be where a state was saved, here or in another worker."""
        own = self._states.get(state.saved_at, state)
        observation, info = branching.restore(self.env, own, strict=strict)
        self.show(observation)
        return Result(info=self._with_masks(info))

    def drop(self, saved_at: Any) -> None:
        """Delete a state that was saved here. Idempotent."""
        if state := self._states.pop(saved_at, None):
            state.close()

    def show(self, observation: Any) -> None:
        """Hand an observation over."""
        self.observation = observation

    def keep(self, observation: Any) -> Any:
        """An observation that the next one does not change."""
        return observation

    def _with_masks(self, info: dict[str, Any]) -> dict[str, Any]:
        return info if self._masks is None else info | {"action_mask": self._masks()}


class SharedWorker(Worker):
    """A worker whose observations lie in shared memory.

    Where no wrapper looks at the frames, the desktop's are captured into that memory itself.

    Args:
        env: the environment.
        mode: see ``Worker``.
        observations: the memory.
        index: the environment's row in it.
    """

    def __init__(self, env: Env, mode: AutoresetMode, observations: Observations, index: int) -> None:
        super().__init__(env, mode)
        self._observations, self._index = observations, index
        self._frame: NDArray[Any] | None = None
        if _is_plain(env) and "screenshot" in env.unwrapped.observer.names:  # type: ignore[attr-defined]
            self._frame = env.unwrapped.observer.frame = observations.row(index, "screenshot")  # type: ignore[attr-defined]

    def show(self, observation: Any) -> None:
        """Write an observation into the memory, but for a frame that is there already."""
        super().show(observation)
        self._observations.write(self._index, observation)

    def keep(self, observation: Any) -> Any:
        """An observation with a frame of its own."""
        if self._frame is not None and observation["screenshot"] is self._frame:
            return observation | {"screenshot": self._frame.copy()}
        return observation


class _Unbuilt:
    """Stands for an environment that could not be built: every request is answered with the reason."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def respond(self, name: str, arguments: tuple[Any, ...]) -> Any:
        raise self._error


def serve(
    index: int,
    make: Callable[[], Env],
    pipe: Connection,
    observations: Observations,
    mode: AutoresetMode,
    environment: Mapping[str, str],
) -> None:
    """Answer requests until the other end is closed; what a worker process runs.

    Args:
        index: which of the vector's environments this is.
        make: builds it.
        pipe: requests ``(number, name, arguments)`` come, and answers ``(number, value, error)`` go.
        observations: where its observations go.
        mode: see ``Worker``.
        environment: variables of the process, which was forked from one that is older than they are.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the trainer, which closes
    os.environ.clear()
    os.environ.update(environment)
    watcher = end_with_parent()
    with contextlib.ExitStack() as stack:
        worker: SharedWorker | _Unbuilt
        try:
            env = stack.enter_context(contextlib.closing(make()))
            worker = SharedWorker(env, mode, observations, index)
        except Exception as error:
            worker = _Unbuilt(error)
        try:
            _answer(worker, pipe)
        except (EOFError, ConnectionError):
            if watcher is not None:
                watcher.join(ORPHANED)  # the parent has most likely ended, and what is left of it is to be removed


def _answer(worker: Worker | _Unbuilt, pipe: Connection) -> None:
    """Answer requests until one is to close. Raises EOFError or ConnectionError when the other end is closed."""
    while True:
        number, name, arguments = pipe.recv()
        if name == "close":
            return
        value, problem = None, None
        try:
            value = worker.respond(name, arguments)
        except Exception as error:
            problem = sendable(error)
        pipe.send_bytes(_packed(number, name, value, problem))


def end_with_parent() -> threading.Thread | None:
    """End this process when its parent ends, at whatever it is then; what it has started ends with it.

    Returns:
        The thread that sees to it, or None where there is no parent to watch.
    """
    parent = multiprocessing.parent_process()
    if parent is None or parent.pid is None:
        return None
    fd = os.pidfd_open(parent.pid)
    if not parent.is_alive():  # the number may be another process's by now
        os.kill(os.getpid(), signal.SIGKILL)
    watcher = threading.Thread(target=_wait_for_end, args=(fd,), name="deskgym-parent", daemon=True)
    watcher.start()
    return watcher


def _wait_for_end(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.poll()
    shutil.rmtree(get_temp_dir(), ignore_errors=True)  # multiprocessing's, which a killed parent leaves
    os.kill(os.getpid(), signal.SIGKILL)


def sendable(error: Exception) -> Exception:
    """The error as another process can read it, with what went wrong here where it is none of deskgym's."""
    if not isinstance(error, DeskgymError):
        error.add_note("In the worker:\n" + "".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _packed(number: int, name: str, value: Any, error: Exception | None) -> bytes:
    try:
        return pickle.dumps((number, value, error))
    except Exception as problem:
        what = TypeError(f"the answer to {name!r} cannot be sent to another process: {problem}")
        return pickle.dumps((number, None, what))


def _is_plain(env: Env) -> bool:
    """No wrapper looks at the frames, or keeps them: they can be captured into the shared memory itself."""
    while isinstance(env, _TRANSPARENT):
        env = env.env
    return isinstance(env, DesktopEnv)


def _masks(env: Env) -> Callable[[], NDArray[Any]] | None:
    """The ``action_masks`` of the outermost layer that has any."""
    layer = env
    while isinstance(layer, gymnasium.Wrapper) and not hasattr(type(layer), "action_masks"):
        layer = layer.env
    if isinstance(layer, DesktopEnv) and layer.discrete is None:
        return None
    return getattr(layer, "action_masks", None)
