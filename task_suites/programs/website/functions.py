"""What tasks ask of the website's data."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.website import content

_FIRST_PAGE = 8
_DIGITS = string.digits + string.ascii_uppercase


def page(number: int) -> dict[str, Any]:
    """A page: number, id, title, section, summary, body, state (live or draft), path of its place in the tree."""
    found = content.pages()[number - 1]
    before = sum(entry["section"] == found["section"] for entry in content.pages()[:number])
    section = content.SECTIONS.index(found["section"]) + 1
    return {
        **{key: found[key] for key in ("number", "title", "section", "summary", "body")},
        "state": "live" if found["live"] else "draft",
        "id": number + _FIRST_PAGE - 1,
        "path": f"00010001{section:04}000{_DIGITS[before]}",
    }


def live_count(section: str, shift: int) -> int:
    """How many pages of a section are live, once those with (id * id / 3 + shift) % 3 = 0 are not."""
    numbers = [entry["number"] + _FIRST_PAGE - 1 for entry in content.pages() if entry["section"] == section]
    return sum((number * number // 3 + shift) % 3 != 0 for number in numbers)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {"website.page": page, "website.live_count": live_count}
