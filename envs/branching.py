"""States of wrapped environments: what wrappers keep of an episode is saved and restored with it."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium

from deskgym.envs.errors import StateError
from deskgym.envs.states import Copier, SavedState, checked_state

if TYPE_CHECKING:
    from deskgym.envs.machine_env import MachineEnv

E = TypeVar("E", bound=gymnasium.Env[Any, Any])

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_FUNCTIONS = (FunctionType, MethodType, BuiltinFunctionType, partial)
_FIXED = frozenset({
    "env", "inner", "desktop", "spec", "_cached_spec", "_saved_kwargs", "_action_space", "_observation_space",
    "action_space", "observation_space", "_metadata", "metadata",
})  # fmt: skip
"""Attributes of wrappers that say what they wrap, and keep nothing of an episode."""


def save(env: gymnasium.Env[Any, Any], observation: Any) -> SavedState:
    """The episode as it is now, with what wrappers keep of it.

    Args:
        env: a ``MachineEnv``, wrapped or not.
        observation: what ``env`` gave last.

    Raises:
        StateError: a wrapper keeps what cannot be copied; the message names it.
        ResetNeeded, MachineError: see ``MachineEnv.save_state``.
    """
    base, layers = _taken_apart(env)
    copier = _copier(base, layers)
    kept: list[bytes] = []
    for layer in layers:
        try:
            memory = layer.memory() if _is_own(layer) else kept_by(layer)  # type: ignore[attr-defined]
            kept.append(copier.pack((_described(layer), memory)))
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise StateError(f"{type(layer).__name__} keeps what cannot be copied ({what})") from error
    state = base.save_state()
    state.layers, state.observation = tuple(kept), copy.deepcopy(observation)
    return state


def restore(
    env: gymnasium.Env[Any, Any], state: SavedState, *, strict: bool = True, seed: int | None = None
) -> tuple[Any, dict[str, Any]]:
    """Be where a state was saved, wrappers too.

    Args:
        env: with the same wrappers as that which it was saved of.
        state: what ``save`` gave.
        strict: see ``MachineEnv.restore_state``.
        seed: see ``MachineEnv.restore_state``.

    Returns:
        The observation that was given last when it was saved, and the info of the restoring.

    Raises:
        StateError: the wrappers are others; and see ``MachineEnv.restore_state``, as for other errors.
    """
    base, layers = _taken_apart(env)
    checked_state(state).check(base._fits())
    if state.layers is None:
        raise StateError("the state was saved of the environment without its wrappers: env.unwrapped restores it")
    if len(state.layers) != len(layers):
        names = ", ".join(type(layer).__name__ for layer in layers) or "none"
        raise StateError(
            f"the state was saved with {len(state.layers)} wrappers, and here are {len(layers)}: {names}; restore it "
            "in an environment that was made and wrapped in the same way, such as of fork(n)"
        )
    copier = _copier(base, layers)
    saved = [copier.unpack(kept) for kept in state.layers]
    for layer, (kind, _) in zip(layers, saved, strict=True):
        if kind != _described(layer):
            raise StateError(f"the state was saved with {kind} where {_described(layer)} is")
    # each wrapper begins an episode, and is then told what it has kept of the saved one
    observation, info = env.reset(seed=seed, options={"state": state, "strict": strict})
    if base.episodes.steps != state.steps:
        base.episodes.over = True
        raise StateError(
            f"a wrapper has acted in reset: the episode is at step {base.episodes.steps}, not {state.steps}"
        )
    for layer, (_, memory) in zip(layers, saved, strict=True):
        layer.recall(memory) if _is_own(layer) else vars(layer).update(memory)  # type: ignore[attr-defined]
    seen_again = not info.get("restored", {}).get("differs")
    return (copy.deepcopy(state.observation) if seen_again else observation), info


def fork_from(env: E, n: int, restore_one: Callable[[E], object]) -> list[E]:
    """``n`` environments made with the same arguments, each restored; several at once.

    Raises:
        ValueError: ``n`` is no number from 1 up.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"fork({n!r}); legal is a whole number from 1 up")
    envs: list[E] = []
    try:
        for _ in range(n):
            envs.append(copy.deepcopy(env))
            envs[-1].unwrapped.spec = env.unwrapped.spec
            envs[-1].unwrapped.take_settings(env.unwrapped)  # type: ignore[attr-defined]
        with ThreadPoolExecutor(min(n, os.cpu_count() or 1)) as threads:
            for done in [threads.submit(restore_one, one) for one in envs]:
                done.result()
        return envs
    except BaseException:
        for one in envs:
            with suppress(Exception):
                one.close()
        raise


def _taken_apart(env: gymnasium.Env[Any, Any]) -> tuple[MachineEnv, list[gymnasium.Wrapper[Any, Any, Any, Any]]]:
    """The environment inside, and the wrappers around it, the outermost first."""
    layers = []
    while isinstance(env, gymnasium.Wrapper):
        layers.append(env)
        env = env.env
    if not hasattr(env, "save_state"):
        raise TypeError(f"states are saved of deskgym's environments (gym.make('deskgym/…')), got {type(env).__name__}")
    return env, layers  # type: ignore[return-value]


def _copier(base: MachineEnv, layers: list[gymnasium.Wrapper[Any, Any, Any, Any]]) -> Copier:
    return Copier([*base.made_of(), *layers])


def _is_own(layer: gymnasium.Wrapper[Any, Any, Any, Any]) -> bool:
    """Whether it says itself what it keeps of an episode."""
    return hasattr(type(layer), "recall")


def kept_by(layer: gymnasium.Wrapper[Any, Any, Any, Any], *others: str) -> dict[str, Any]:
    """A wrapper's attributes, without functions and what says what it wraps, and without these others."""
    out = _FIXED.union(others)
    return {name: value for name, value in vars(layer).items() if name not in out and not isinstance(value, _FUNCTIONS)}


def _described(layer: gymnasium.Wrapper[Any, Any, Any, Any]) -> str:
    """A wrapper's class and the arguments that it was made with."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in getattr(layer, "_saved_kwargs", {}).items())
    return _ADDRESS.sub("", f"{type(layer).__name__}({arguments})")
