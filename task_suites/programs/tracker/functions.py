"""What tasks ask of the tracker's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.tracker import issues


def ticket(number: int) -> dict[str, Any]:
    """A ticket: number, summary, type, component, priority, milestone, owner, reporter, comments (how many)."""
    found = issues.tickets()[number - 1]
    return {**{key: value for key, value in found.items() if key != "opened"}, "comments": len(found["comments"])}


def page(name: str) -> dict[str, Any]:
    """A wiki page: name, title, text, steps, and of the first and last step the text."""
    title, steps = issues.PAGES[name]
    return {"name": name, "title": title, "text": issues.text_of(name), "first": steps[0], "last": steps[-1]}


def open_count(component: str, priority: str, shift: int) -> int:
    """How many tickets of a component have a priority, once (id * id / 5 + shift) % 5 is its place."""
    found = [entry for entry in issues.tickets() if entry["component"] == component]
    return sum(issues.PRIORITIES[(entry["number"] ** 2 // 5 + shift) % 5] == priority for entry in found)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "tracker.ticket": ticket,
    "tracker.page": page,
    "tracker.open_count": open_count,
}
