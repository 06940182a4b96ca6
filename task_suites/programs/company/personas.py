"""A web application's page in Chromium with somebody logged in, through the door of ``door.py``."""

from __future__ import annotations

import secrets

from deskgym.envs.provision.services import Files, ServiceSpec
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.chromium.program import open_


def enter(setup: Setup, service: ServiceSpec, persona: str, page: str, title: str, shows: str) -> None:
    """Open a page of a service as one of its users.

    Args:
        setup: the machine with the service beside it.
        service: whose first ``Files`` is the folder that the door looks into.
        persona: the user's name.
        page: its path.
        title: of the page, or a glob.
        shows: role of an element that the page has once it is filled.

    Raises:
        SetupError: it did not come up.
    """
    url, _ = door(setup, service, persona, page)
    open_(setup, url, title=title, role=shows)


def door(setup: Setup, service: ServiceSpec, persona: str, page: str) -> tuple[str, str]:
    """An address that logs somebody in and shows a page, once; and the file that is gone once it has been used.

    Args:
        setup: the machine with the service beside it.
        service: whose first ``Files`` is the folder that the door looks into.
        persona: the user's name.
        page: its path.
    """
    token = secrets.token_hex(16)  # for one login; what is left of it is rolled back with the folder
    folder = next(item.path for item in service.data if isinstance(item, Files))
    file = f"{folder}/token-{token}"
    setup.companions[service.name].put(file, persona.encode(), owner="guest", mode=0o644)
    return f"http://127.0.0.1:{service.ports[0]}/enter/{token}/?to={page}", file
