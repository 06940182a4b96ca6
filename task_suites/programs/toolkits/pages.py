"""What a person does on pages whose fields have no names: a field is known by its text, a list by its choice."""

from __future__ import annotations

from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs.toolkits import scripts

_TIMEOUT = 20.0


def pick(screen: Screen, now: str, option: str, nth: int = 0) -> Bursts:
    """Choose another option of a searchable list: of the first, or the ``nth``, that shows ``now``."""
    yield [scripts.click(screen.find(role="combo box", name=now, nth=nth, timeout=_TIMEOUT))]
    yield [scripts.click(screen.find(role="list item", name=option, timeout=_TIMEOUT))]
    screen.find(role="combo box", name=option, timeout=_TIMEOUT)


def replace(screen: Screen, now: str, text: str, role: str = "spin button", nth: int = 0) -> Bursts:
    """Replace the text of a field: of the first, or the ``nth``, that has ``now`` in it."""
    yield scripts.fill(screen.find(role=role, text=now, nth=nth, timeout=_TIMEOUT), text, end="")
    screen.find(role=role, text=text, timeout=_TIMEOUT)
