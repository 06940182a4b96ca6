"""Menus of a window's bar, as a macro."""

from __future__ import annotations

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.toolkits.scripts import click


def choose(screen: Screen, entries: list[str]) -> Bursts:
    """Click entries of menus, from the bar on."""
    for entry in entries:
        yield [click(screen.find(role="menu item", name=entry)), Action("wait", seconds=0.3)]
