"""Wrappers: what can be put around a DesktopEnv. Each is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskgym.wrappers.record_episode import RecordEpisode as RecordEpisode
    from deskgym.wrappers.recorded_state import rescore as rescore
    from deskgym.wrappers.recording import Recording as Recording

_HOMES = {"RecordEpisode": "record_episode", "Recording": "recording", "rescore": "recorded_state"}

__all__ = ["RecordEpisode", "Recording", "rescore"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
