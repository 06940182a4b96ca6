"""Datasets: episodes as Minari datasets, without loss. Each name is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskgym.datasets.collector import EpisodeCollector as EpisodeCollector
    from deskgym.datasets.demos import collect_demos as collect_demos
    from deskgym.datasets.episode import Episode as Episode
    from deskgym.datasets.minari_export import datasets_in as datasets_in
    from deskgym.datasets.minari_export import episodes_of as episodes_of
    from deskgym.datasets.minari_export import load_dataset as load_dataset
    from deskgym.datasets.minari_export import write_dataset as write_dataset
    from deskgym.datasets.recordings import to_minari as to_minari

_HOMES = {
    "Episode": "episode",
    "EpisodeCollector": "collector",
    "collect_demos": "demos",
    "datasets_in": "minari_export",
    "episodes_of": "minari_export",
    "load_dataset": "minari_export",
    "to_minari": "recordings",
    "write_dataset": "minari_export",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from deskgym.envs.extras import needs_extra

    with needs_extra("minari", "datasets need"):
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
