"""The shop's back office, or its front, in Chromium."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.company.personas import enter
from deskgym.task_suites.programs.shop.service import SERVICE


def open_(setup: Setup, page: str = "/dashboard/orders/", persona: str = "maya", shows: str = "table") -> None:
    """Open a page of the shop.

    Args:
        setup: the machine with the service ``shop`` beside it.
        page: its path.
        persona: the user name of who is logged in: an employee, or a customer such as ``ada``.
        shows: role of an element that the page has once it is filled.

    Raises:
        SetupError: it did not come up.
    """
    enter(setup, SERVICE, persona, page, "*Lindqvist Office Goods*", shows)
