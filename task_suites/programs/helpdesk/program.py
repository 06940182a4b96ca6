"""The helpdesk in Chromium, with one of its agents logged in."""

from __future__ import annotations

import hashlib
import hmac

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.helpdesk.service import PORT


def open_(setup: Setup, page: str = "/tickets/", persona: str = "maya") -> None:
    """Open a page of the helpdesk.

    Args:
        setup: the machine with the service ``helpdesk`` beside it.
        page: its path.
        persona: the user name of the agent who is logged in.

    Raises:
        SetupError: it did not come up.
    """
    secret = setup.companions["helpdesk"].secrets["HELPDESK_SECRET"]
    token = hmac.new(secret.encode(), persona.encode(), hashlib.sha256).hexdigest()
    url = f"http://127.0.0.1:{PORT}/enter/{persona}/{token}/?to={page}"
    open_chromium(setup, url, title="*Powered by django-helpdesk")
