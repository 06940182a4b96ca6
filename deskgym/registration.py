"""The ids that ``gymnasium.make`` knows, and what stands behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from deskgym.envs.machine_env import MachineEnv
    from deskgym.envs.vector_env import DesktopVectorEnv

IDS = {
    "deskgym/DataEngineering-v0": "data_engineering",
    "deskgym/Science-v0": "science",
    "deskgym/BPM-v0": "bpm",
    "deskgym/TableAnalysis-v0": "table_analysis",
}
"""Gymnasium id → name of the task suite."""


def register_envs() -> None:
    """Register the ids; starts nothing and imports nothing heavy."""
    for env_id, suite in IDS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(
                env_id,
                entry_point="deskgym.registration:make_env",
                vector_entry_point="deskgym.registration:make_vector_env",
                nondeterministic=True,  # real programs: equal seeds give equal tasks, not equal pixels
                kwargs={"suite": suite},
            )


def make_env(
    suite: str,
    source: str | None = None,
    source_path: str | None = None,
    mode: str = "corrected",
    episode: str | None = None,
    **options: Any,
) -> MachineEnv:
    """Build an environment over a suite by name; what ``gymnasium.make`` calls. Starts nothing.

    Args:
        suite: a name in ``deskgym.task_suites.SUITES``.
        source: take the tasks from a copy of a published benchmark, such as ``"scienceboard"``.
        source_path: the folder of that copy.
        mode: ``"corrected"`` mends the benchmark's known-bad golds and says so in the verdict, ``"paper"`` keeps them.
        episode: for table analysis ``"turn"`` (the default) or ``"dialogue"``.
        options: see ``DesktopEnv``, for table analysis ``AnalysisEnv``.

    Raises:
        TaskError: the suite, the source or the task is unknown.
    """
    from deskgym.task_suites import has_conversations, load_suite

    tasks = load_suite(suite, source=source, source_path=source_path, mode=mode, episode=episode)
    if has_conversations(suite):
        from deskgym.envs.analysis_env import AnalysisEnv

        return AnalysisEnv(tasks, **options)
    from deskgym.envs.desktop_env import DesktopEnv

    return DesktopEnv(tasks, **options)


def make_vector_env(
    suite: str,
    num_envs: int = 1,
    *,
    pool: Mapping[str, Any] | None = MappingProxyType({"depth": 1}),
    env_wrappers: Sequence[Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]] = (),
    autoreset_mode: str = "NextStep",
    copy: bool = True,
    timeout: float | None = None,
    **options: Any,
) -> DesktopVectorEnv:
    """Build a DesktopVectorEnv; what ``gymnasium.make_vec`` calls. See ``docs/vector.md``.

    Args:
        suite: a name in ``deskgym.task_suites.SUITES``.
        num_envs: how many environments.
        pool: see ``DesktopEnv``; one desktop ahead for each environment by default.
        env_wrappers: put around each environment, in order.
        autoreset_mode: see ``DesktopVectorEnv``.
        copy: likewise.
        timeout: likewise.
        options: see ``make_env``, and ``max_episode_steps`` of ``gymnasium.make``.

    Raises:
        TaskError: the suite, the source or the task is unknown.
        ValueError: another argument is not legal; the message says what is.
    """
    from deskgym.envs.errors import TaskError
    from deskgym.envs.vector_env import TIMEOUT, DesktopVectorEnv

    env_id = next((known for known, name in IDS.items() if name == suite), None)
    if env_id is None:
        raise TaskError(f"unknown suite {suite!r}; legal are {', '.join(IDS.values())}")
    options = {**options, "pool": None if pool is None else dict(pool)}
    return DesktopVectorEnv(
        partial(_make_wrapped, env_id, tuple(env_wrappers), options),
        num_envs,
        autoreset_mode=autoreset_mode,
        copy=copy,
        timeout=TIMEOUT if timeout is None else timeout,
    )


def _make_wrapped(
    env_id: str,
    wrappers: Sequence[Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]],
    options: Mapping[str, Any],
) -> gymnasium.Env[Any, Any]:
    register_envs()
    env = gymnasium.make(env_id, disable_env_checker=True, **options)
    for wrapper in wrappers:
        env = wrapper(env)
    return env
