"""The red team: attacks that apply to any task with a desktop. None of them may earn the reward."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deskgym.task_suites.core.discovery import load_program
from deskgym.task_suites.core.verify.attacks import desktop, files, scripts
from deskgym.task_suites.core.verify.attacks.base import Attack, Attackable, Attacks, Script, Target

GENERIC: tuple[Attack, ...] = (*scripts.ATTACKS, *files.ATTACKS, *desktop.ATTACKS)


def desktop_attacks(target: Target, folders: Sequence[str | Path] = ()) -> Attacks:
    """The attacks on a task with a desktop, by name: the generic ones that apply to it, and those of its programs.

    Args:
        target: the task.
        folders: where programs are found beside the package's own.
    """
    found: dict[str, Script] = {attack.name: attack for attack in GENERIC if attack.applies(target)}
    for name in target.programs:
        found |= load_program(name, folders).attacks
    return found


__all__ = ["GENERIC", "Attack", "Attackable", "Attacks", "Target", "desktop_attacks"]
