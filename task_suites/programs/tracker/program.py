"""The tracker in Chromium."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.company.personas import enter
from deskgym.task_suites.programs.tracker.service import SERVICE


def open_(setup: Setup, page: str = "/query", persona: str = "maya", shows: str = "heading") -> None:
    """Open a page of the tracker.

    Args:
        setup: the machine with the service ``tracker`` beside it.
        page: its path.
        persona: the user name of the employee who is logged in.
        shows: role of an element that the page has once it is filled.

    Raises:
        SetupError: it did not come up.
    """
    enter(setup, SERVICE, persona, page, "*Lindqvist Office Goods*", shows)
