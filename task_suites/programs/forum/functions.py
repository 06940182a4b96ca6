"""What tasks ask of the forum's data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from deskgym.task_suites.programs.company import entities as company


@cache
def _topics() -> dict[int, dict[str, Any]]:
    return {entry["number"]: entry for entry in company.topics()}


def topic(number: int) -> dict[str, Any]:
    """A topic: number, title, section, login and name of its author, posts (how many), first (number of the first)."""
    found = _topics()[number]
    login = found["posts"][0][0]
    buyer = next(entry for entry in company.customers() if entry["email"].startswith(f"{login}@"))
    before = sum(len(entry["posts"]) for entry in _topics().values() if entry["number"] < number)
    return {
        "number": number, "title": found["title"], "section": found["section"], "posts": len(found["posts"]),
        "login": login, "name": f"{buyer['first']} {buyer['last']}", "first": before + 1,
    }  # fmt: skip


def posts(number: int) -> int:
    """How many posts a topic has."""
    return len(_topics()[number]["posts"])


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"forum.topic": topic, "forum.posts": posts}
