"""The ids that ``gymnasium.make`` knows, and what stands behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from deskgym.envs.desktop_env import DesktopEnv

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
                nondeterministic=True,  # real programs: equal seeds give equal tasks, not equal pixels
                kwargs={"suite": suite},
            )


def make_env(
    suite: str,
    source: str | None = None,
    source_path: str | None = None,
    mode: str = "corrected",
    **options: Any,
) -> DesktopEnv:
    """Build a DesktopEnv over a suite by name; what ``gymnasium.make`` calls. Starts nothing.

    Args:
        suite: a name in ``deskgym.task_suites.SUITES``.
        source: take the tasks from a copy of a published benchmark, such as ``"scienceboard"``.
        source_path: the folder of that copy.
        mode: ``"corrected"`` mends the benchmark's known-bad golds and says so in the verdict, ``"paper"`` keeps them.
        options: see ``DesktopEnv``.

    Raises:
        TaskError: the suite, the source or the task is unknown.
    """
    from deskgym.envs.desktop_env import DesktopEnv
    from deskgym.task_suites import load_suite

    return DesktopEnv(load_suite(suite, source=source, source_path=source_path, mode=mode), **options)
