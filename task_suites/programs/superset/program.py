"""Superset in Chromium, with somebody logged in."""

from __future__ import annotations

import secrets

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.superset.service import EPISODE, PORT, USER

_TIMEOUT = 180.0  # on a machine that is busy with other work, its first page took more than a minute


def begin(setup: Setup) -> None:
    """Make logins of earlier episodes worthless."""
    setup.companion("superset").put(f"{EPISODE}/secret", secrets.token_hex(16).encode(), owner=USER, mode=0o600)


def open_(
    setup: Setup,
    page: str = "/superset/welcome/",
    title: str = "*",
    shows: str = "link",
    user: str = "admin",
    host: str = "127.0.0.1",
) -> None:
    """Open a page of Superset in Chromium.

    Args:
        setup: the machine with the service ``superset`` beside it.
        page: its path.
        title: of the page, or a glob.
        shows: role of an element that the page has once it is filled.
        user: who is logged in; "" for nobody.
        host: this machine, as the page's address names it: ``"127.0.0.1"`` or ``"localhost"``.

    Raises:
        SetupError: it did not come up.
    """
    begin(setup)
    url = f"http://{host}:{PORT}{page}"
    if user:
        token = secrets.token_hex(16)
        path = f"{EPISODE}/token-{token}"
        setup.companion("superset").put(path, user.encode(), owner=USER, mode=0o600)
        url = f"http://{host}:{PORT}/enter/{token}/?to={page}"
    open_chromium(setup, url, title=title, role=shows, timeout=_TIMEOUT)
