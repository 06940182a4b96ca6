"""The ids that ``gymnasium.make`` knows, and what stands behind them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gymnasium

from deskgym.envs.options import Seconds, UnknownArgument, check_option, checked
from deskgym.task_suites.suites import ENTRIES

MAX_ELEMENTS = 512
"""Rows of accessible elements in an observation, where no task needs more."""

if TYPE_CHECKING:
    from deskgym.envs.machine_env import MachineEnv
    from deskgym.envs.vector_env import DesktopVectorEnv


def register_envs() -> None:
    """Register the suites' ids; starts nothing and imports nothing heavy."""
    for entry in ENTRIES:
        if entry.gym_id not in gymnasium.registry:
            gymnasium.register(
                entry.gym_id,
                entry_point="deskgym.registration:make_env",
                vector_entry_point="deskgym.registration:make_vector_env",
                nondeterministic=True,  # real programs: equal seeds give equal tasks, not equal pixels
                kwargs={"suite": entry.name},
            )


@checked
def make_env(
    suite: str,
    source: str | None = None,
    source_path: str | os.PathLike[str] | None = None,
    mode: str = "corrected",
    task: str | None = None,
    split: str | None = None,
    **options: Any,
) -> MachineEnv:
    """Build an environment over a suite by name; what ``gymnasium.make`` calls. Starts nothing.

    Args:
        suite: a name in ``deskgym.task_suites.SUITES``, or a folder of task files.
        source: take the tasks from a copy of a published benchmark, such as ``"scienceboard"``.
        source_path: the folder of that copy.
        mode: ``"corrected"`` mends the benchmark's known-bad reference solutions and says so in the verdict,
            ``"paper"`` keeps them. Of our own suites ``procedures`` and ``table_analysis`` know it too.
        task: see ``DesktopEnv``.
        split: ``"train"``, ``"test"`` or None for both.
        options: those of the suite, such as ``instruction="verbose"``, which tells the steps too, or
            ``episode="dialogue"`` for table analysis; and those of its environment: see ``DesktopEnv``, for table
            analysis ``TableAnalysisEnv``.

    Raises:
        TaskError: the suite, the source or the task is unknown, or ``mode`` would make no difference.
        MachineError: a program of the tasks is not installed; the message says how to install it.
    """
    from deskgym.envs.episode import KnowsNeeds
    from deskgym.envs.errors import TaskError, near
    from deskgym.envs.needs import NO_NEEDS
    from deskgym.task_suites import find_entry, import_place, load_suite, option_names
    from deskgym.task_suites.arguments import check_mode, other_interface, suite_of

    suite = find_entry(suite).by_action.get(str(options.get("action")), suite)
    suite = suite_of(suite, task, source)
    of_suite = {name: options.pop(name) for name in option_names() if name in options}
    tasks = load_suite(suite, source=source, source_path=source_path, mode=mode, **of_suite)
    entry = find_entry(suite, source)
    check_mode(entry, source, mode)
    try:
        needs = tasks.needs(task, split) if isinstance(tasks, KnowsNeeds) else NO_NEEDS
    except TaskError as error:
        if task is None or source is not None:
            raise
        raise other_interface(suite, task, of_suite.get("interface")) or error from None
    if needs.elements and entry.display:  # the space must hold what any of the tasks shows
        options.setdefault("max_elements", max(MAX_ELEMENTS, needs.elements))
    try:
        env: MachineEnv = import_place(entry.env)(tasks, task=task, split=split, **options)
    except UnknownArgument as error:
        options_there = {**entry.options, **entry.importer_options.get(source or "", {})}
        of_tasks = ("source", "source_path", "mode", *options_there)
        close = "".join(near(name, of_tasks) for name in options if f"argument {name!r}" in str(error))
        raise UnknownArgument(f"{error}; of the tasks also {', '.join(of_tasks)}{close}") from None
    env.manager.builder.check_installed(needs)
    return env


@checked
def make_vector_env(
    suite: str,
    num_envs: int = 1,
    *,
    pool: Mapping[str, Any] | None = MappingProxyType({"depth": 1}),
    env_wrappers: Sequence[Callable[[gymnasium.Env[Any, Any]], gymnasium.Env[Any, Any]]] = (),
    autoreset_mode: str = "NextStep",
    copy: bool = True,
    timeout: Seconds | None = None,
    **options: Any,
) -> DesktopVectorEnv:
    """Build a DesktopVectorEnv; what ``gymnasium.make_vec`` calls. See ``docs/vector.md``.

    Args:
        suite: a name in ``deskgym.task_suites.SUITES``, or a folder of task files.
        num_envs: how many environments.
        pool: see ``DesktopEnv``; one desktop ahead for each environment by default.
        env_wrappers: put around each environment, in order.
        autoreset_mode: see ``DesktopVectorEnv``.
        copy: give copies of the observations; see ``DesktopVectorEnv``.
        timeout: seconds until a silent worker counts as lost.
        options: see ``make_env``, and ``max_episode_steps`` of ``gymnasium.make``.

    Raises:
        TaskError: the suite, the source or the task is unknown.
        ValueError: another argument is not legal; the message says what is.
    """
    check_option("pool", pool, Mapping | None)
    from deskgym.envs.vector_env import TIMEOUT, DesktopVectorEnv
    from deskgym.task_suites import find_entry

    options = {**options, "suite": suite, "pool": None if pool is None else dict(pool)}
    return DesktopVectorEnv(
        partial(_make_wrapped, find_entry(suite).gym_id, tuple(env_wrappers), options),
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
