"""Chromium on a page of a companion, without a word about itself: no first run, no bars, no bubbles, no requests."""

from __future__ import annotations

import json

from deskgym.envs.displays.base import SettlePolicy
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.browser import COMMAND
from deskgym.task_suites.hooks.programs import launch

PROFILE = "/home/user/.config/chromium"
PREFERENCES = {
    "credentials_enable_service": False,
    "profile": {
        "password_manager_enabled": False,
        "password_manager_leak_detection": False,
        "exit_type": "Normal",
        "default_content_setting_values": {"notifications": 2},
    },
    "browser": {"has_seen_welcome_page": True},
    "translate": {"enabled": False},
}
_LOADED = SettlePolicy(quiet_ms=150, cap_ms=5000)


def open_(
    setup: Setup,
    url: str,
    title: str = "*",
    role: str | None = "document web",
    timeout: float = 60.0,
    file: str | None = None,
    name: str | None = None,
) -> None:
    """Start Chromium on a page, in a window that fills the screen.

    Args:
        setup: the machine.
        url: with its scheme, such as ``http://127.0.0.1:8000/``.
        title: of the page, or a glob; it has loaded when its window is called so.
        role: of an accessible element that the page has once its scripts have filled it; None looks for none.
        timeout: seconds.
        file: a path that is there once the page is ready, where something but the page tells.
        name: of the accessible element.

    Raises:
        SetupError: it did not come up with that page.
    """
    hovercard = {"browser": {"hovercard": {"memory_usage_enabled": False}}}  # else a tab's name has its memory
    setup.machine.put(f"{PROFILE}/Default/Preferences", json.dumps(PREFERENCES).encode())
    setup.machine.put(f"{PROFILE}/Local State", json.dumps(hovercard).encode())
    launch(
        setup,
        [*COMMAND, "--force-renderer-accessibility", "--start-maximized", url],
        window=f"{title} - Chromium",
        role=role,
        name=name,
        file=file,
        timeout=timeout,
    )
    setup.machine.display.perform([], _LOADED)
