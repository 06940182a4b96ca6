"""The red team: attacks that apply to any task with a desktop. None of them may earn the reward."""

from __future__ import annotations

from deskgym.task_suites.core.verify.attacks import desktop, files, scripts
from deskgym.task_suites.core.verify.attacks.base import Attack, Attackable, Attacks, Target

GENERIC: tuple[Attack, ...] = (*scripts.ATTACKS, *files.ATTACKS, *desktop.ATTACKS)


def generic_attacks(target: Target) -> Attacks:
    """Those that apply to a task with a desktop, by name."""
    return {attack.name: attack for attack in GENERIC if attack.applies(target)}


__all__ = ["GENERIC", "Attack", "Attackable", "Attacks", "Target", "generic_attacks"]
