"""What tasks ask of the helpdesk's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from deskgym.task_suites.programs.helpdesk import company

PRIORITIES = {1: "Critical", 2: "High", 3: "Normal", 4: "Low", 5: "Very Low"}


@cache
def _tickets() -> dict[int, dict[str, Any]]:
    return {entry["number"]: entry for entry in company.tickets()}


def ticket(number: int) -> dict[str, Any]:
    """A ticket: number, title, queue, priority, owner (first name, "" for nobody), whether it is closed, submitter."""
    found = _tickets()[number]
    return {**{key: found[key] for key in ("number", "title", "queue", "closed", "submitter")},
            "owner": (found["owner"] or "").title(), "priority": PRIORITIES[found["priority"]]}  # fmt: skip


def open_count(queues: list[str], priority: str, shift: int) -> int:
    """How many tickets of some queues are open, once (priority + number * shift / 100) % 5 + 1 is their priority."""
    return sum(
        PRIORITIES[(entry["priority"] + number * shift // 100) % 5 + 1] == priority and not entry["closed"]
        for number, entry in _tickets().items() if entry["queue"] in queues
    )  # fmt: skip


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"helpdesk.ticket": ticket, "helpdesk.open_count": open_count}
