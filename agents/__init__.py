"""Agents: what plays an environment. Each is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deskgym.agents.base import Agent as Agent
    from deskgym.agents.base import EpisodeResult as EpisodeResult
    from deskgym.agents.base import run_episode as run_episode
    from deskgym.agents.constant import ConstantAgent as ConstantAgent
    from deskgym.agents.loading import make_agent as make_agent
    from deskgym.agents.random_agent import RandomAgent as RandomAgent
    from deskgym.agents.scripted import NoopAgent as NoopAgent
    from deskgym.agents.scripted import OracleAgent as OracleAgent
    from deskgym.agents.scripted import WrongAgent as WrongAgent

_HOMES = {
    "Agent": "base",
    "EpisodeResult": "base",
    "run_episode": "base",
    "ConstantAgent": "constant",
    "make_agent": "loading",
    "RandomAgent": "random_agent",
    "NoopAgent": "scripted",
    "OracleAgent": "scripted",
    "WrongAgent": "scripted",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
