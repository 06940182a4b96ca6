"""Task suites: tasks, their setup hooks, checks and oracles."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from deskgym.envs.errors import TaskError, near

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource

SUITES = ("data_engineering", "science", "bpm", "table_analysis")
"""The suites, by the names that the command line uses."""

SOURCES = ("spider2v", "scienceboard", "wonderbread", "tapilot")
"""The published benchmarks whose task files can be loaded from a folder of the user's."""

_BUILT = {
    "science": "deskgym.task_suites.science.suite",
    "table_analysis": "deskgym.task_suites.table_analysis.suite",
}
_IMPORTERS = {
    ("science", "scienceboard"): "deskgym.task_suites.importers.scienceboard.suite",
    ("table_analysis", "tapilot"): "deskgym.task_suites.importers.tapilot.suite",
}


CONVERSATIONS = ("table_analysis",)
"""Suites without a display, whose tasks are turns of dialogues."""


def has_conversations(name: str) -> bool:
    """Whether a suite's tasks are turns of dialogues: by its name, or by the task files in a folder of that name."""
    if name in SUITES or not os.path.isdir(name):
        return name in CONVERSATIONS
    return any(re.search(rb"^turns:", file.read_bytes(), re.MULTILINE) for file in Path(name).rglob("*.yaml"))


def load_suite(
    name: str,
    *,
    source: str | None = None,
    source_path: str | None = None,
    mode: str = "corrected",
    episode: str | None = None,
) -> TaskSource:
    """The suite of that name, of our own tasks or of a published benchmark's.

    Args:
        name: one of ``SUITES``, or a folder of task files or of dialogues of your own (they may name what all our
            suites have).
        source: one of ``SOURCES``, or None for our own tasks.
        source_path: the folder with the benchmark's task files.
        mode: ``"corrected"`` mends known-bad golds and says so in the verdict; ``"paper"`` keeps them.
        episode: for table analysis ``"turn"`` (the default) or ``"dialogue"``.

    Raises:
        TaskError: no such suite or source, or the suite is not built yet.
    """
    if name not in SUITES and os.path.isdir(name) and has_conversations(name):
        options = {"folders": name, "name": name, "mode": mode, "episode": _legal_episode(name, episode or "turn")}
        return import_module(_BUILT["table_analysis"]).suite(**options)  # type: ignore[no-any-return]
    if name not in SUITES and os.path.isdir(name):
        return import_module("deskgym.task_suites.science.suite").suite(name)  # type: ignore[no-any-return]
    if name not in SUITES:
        legal = ", ".join(SUITES)
        raise TaskError(f"unknown suite {name!r}; legal are {legal}, or a folder of task files{near(name, SUITES)}")
    if mode not in ("corrected", "paper"):
        raise TaskError(f"mode={mode!r}; legal are 'corrected' and 'paper'")
    if source is None:
        if source_path is not None:
            raise TaskError(f"source_path={source_path!r} needs source, one of {', '.join(SOURCES)}")
        if name not in _BUILT:
            raise TaskError(f"suite {name!r} has no tasks yet; built so far: {', '.join(_BUILT)}")
        more: dict[str, str] = {"mode": mode} if name in CONVERSATIONS else {}
        if episode is not None:
            more["episode"] = _legal_episode(name, episode)
        return import_module(_BUILT[name]).suite(**more)  # type: ignore[no-any-return]
    if episode not in (None, "turn"):
        raise TaskError(f"episode={episode!r} is for our own dialogues; {source!r} has turns only")
    if source not in SOURCES:
        raise TaskError(f"unknown source {source!r}; legal are {', '.join(SOURCES)}{near(source, SOURCES)}")
    if (name, source) not in _IMPORTERS:
        built = ", ".join(f"{source} ({suite})" for suite, source in _IMPORTERS)
        raise TaskError(f"suite {name!r} cannot load {source!r} yet; built so far: {built}")
    if source_path is None:
        raise TaskError(f"source={source!r} needs source_path, the folder of your copy of that benchmark")
    return import_module(_IMPORTERS[name, source]).suite(source_path, mode)  # type: ignore[no-any-return]


def _legal_episode(name: str, episode: str) -> str:
    if not has_conversations(name):
        raise TaskError(f"episode={episode!r} is for dialogues; {name!r} has none")
    if episode not in ("turn", "dialogue"):
        raise TaskError(f"episode={episode!r}; legal are 'turn' and 'dialogue'")
    return episode
