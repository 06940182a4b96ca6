"""Where built-in checks look: a place that cannot be is a mistake of the task file, never a fail of the agent."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from deskgym.envs.evaluation.calls import Mistake, shown, unknown
from deskgym.envs.evaluation.readers.table_source import TableSource


def place_mistakes(given: Mapping[str, Any], services: Collection[str]) -> list[Mistake]:
    """What is wrong with the places that a bound check names.

    Args:
        given: its arguments; those that are not known yet are passed over.
        services: the names of the task's services.
    """
    mistakes: list[Mistake] = []
    for name, value in given.items():
        key = name.rstrip("_")
        if isinstance(value, TableSource):
            mistakes += [mistake.under(key) for mistake in place_mistakes(vars(value), services)]
        elif name in ("path", "files", "with_"):
            for path in [value] if isinstance(value, str) else value if isinstance(value, list | dict) else ():
                if isinstance(path, str) and path and not path.startswith("/"):
                    legal = "legal is an absolute path, such as '/home/user/a.txt'"
                    mistakes.append(Mistake((key,), f"{legal}, got {shown(path)}"))
        elif name == "companion" and isinstance(value, str) and value and value not in services:
            mistakes.append(Mistake((key,), unknown("companion", value, services)))
    return mistakes
