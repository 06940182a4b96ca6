"""The helpdesk in Chromium, with one of its agents logged in."""

from __future__ import annotations

import secrets

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.helpdesk.service import PORT, UPLOADS


def open_(setup: Setup, page: str = "/tickets/", persona: str = "maya", shows: str = "check box") -> None:
    """Open a page of the helpdesk.

    Args:
        setup: the machine with the service ``helpdesk`` beside it.
        page: its path.
        persona: the user name of the agent who is logged in.
        shows: role of an element that the page has once it is filled; a check box stands before each listed ticket.

    Raises:
        SetupError: it did not come up.
    """
    token = secrets.token_hex(16)  # for one login; what is left of it is rolled back with the uploads
    setup.companions["helpdesk"].put(f"{UPLOADS}/token-{token}", persona.encode(), owner="guest", mode=0o644)
    url = f"http://127.0.0.1:{PORT}/enter/{token}/?to={page}"
    open_chromium(setup, url, title="*Powered by django-helpdesk", role=shows)
