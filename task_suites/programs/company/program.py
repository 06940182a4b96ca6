"""Chromium with a tab for each of some applications, and somebody logged in to all of them."""

from __future__ import annotations

from functools import partial

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import SetupError
from deskgym.envs.provision.companions import Companion
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.browser import COMMAND
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.company.personas import door
from deskgym.task_suites.programs.toolkits.waiting import until

_LOADED = SettlePolicy(quiet_ms=300, cap_ms=5000)

TITLES = {
    "helpdesk": "*Powered by django-helpdesk*", "shop": "*Dashboard | Lindqvist Office Goods*", "forum": "*Spirit*",
    "tracker": "*\u2013 Lindqvist Office Goods*", "website": "*Wagtail*",
    "erp": "*Tryton*", "mail": "Lindqvist Office Goods ::*",
}  # fmt: skip
"""Of the applications' pages."""


def open_(setup: Setup, pages: dict[str, str], persona: str = "maya") -> None:
    """Open a tab for each application, the last one in front.

    Args:
        setup: the machine with these services beside it.
        pages: the path of a page by the application's name.
        persona: the user name of the employee who is logged in.

    Raises:
        SetupError: an application is not one of those, or did not come up.
    """
    unknown = [name for name in pages if name not in TITLES or name not in setup.companions]
    if unknown:
        raise SetupError(f"company.open: no application {', '.join(unknown)}; legal are {', '.join(TITLES)}, if needed")
    if not pages:
        raise SetupError("company.open: pages is empty; give a path for each application, such as {shop: /dashboard/}")
    first, *others = pages
    for name, page in pages.items():
        companion = setup.companions[name]
        url, token = door(setup, companion.spec, persona, page)
        if name == first:
            open_chromium(setup, url, title=TITLES[first])
        else:
            launch(setup, [*COMMAND, url], process="chromium")  # the one that runs opens another tab
            until(partial(_is_gone, companion, token), f"{name} logs nobody in")
    if others:
        setup.machine.display.perform([], _LOADED)


def _is_gone(companion: Companion, file: str) -> bool:
    """Whether a token's door has been used."""
    return companion.run(["test", "!", "-e", file]).returncode == 0
