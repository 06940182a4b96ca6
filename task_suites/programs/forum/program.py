"""The forum in Chromium."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.company.personas import enter
from deskgym.task_suites.programs.forum.service import SERVICE


def open_(setup: Setup, page: str = "/", persona: str = "maya", shows: str = "document web") -> None:
    """Open a page of the forum.

    Args:
        setup: the machine with the service ``forum`` beside it.
        page: its path.
        persona: the user name of who is logged in: ``maya`` is an administrator, the other employees are moderators.
        shows: role of an element that the page has once it is filled.

    Raises:
        SetupError: it did not come up.
    """
    enter(setup, SERVICE, persona, page, "*", shows)
