"""What a task needs of the session in its machine, which is no matter of the machine's configuration."""

from __future__ import annotations

import time
from datetime import datetime

from deskgym.envs.errors import MachineError
from deskgym.envs.guest.client import GuestClient
from deskgym.envs.machines.base import Machine
from deskgym.envs.needs import Needs

CLOCK_PACKAGE = "libfaketime"
"""The Debian package that a task with a clock of its own needs."""
_CLOCK_LIBRARY = "/usr/$LIB/faketime/libfaketime.so.1"


def begin_session(machine: Machine, needs: Needs) -> None:
    """Give a machine that was restored the deadline of readings, the locale and the clock that a task needs.

    Locale and clock hold for all that is started after this by hooks, by commands and from the desktop. Monotonic
    clocks, by which programs wait, are left as they are.

    Raises:
        MachineError: there is no such locale, ``kind="not_installed"``; or the machine broke.
    """
    if "commands" not in machine.can:  # a screen without a guest
        return
    machine.guest.element_deadline = needs.element_deadline or GuestClient.element_deadline
    variables: dict[str, str] = {}
    if needs.locale is not None:
        _require_locale(machine, needs.locale)
        variables |= {"LANG": needs.locale, "LC_ALL": needs.locale}
    if needs.clock is not None:
        ahead = round(datetime.fromisoformat(needs.clock).astimezone().timestamp() - time.time())
        variables |= {
            "LD_PRELOAD": _CLOCK_LIBRARY, "FAKETIME": f"{ahead:+d}", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }  # fmt: skip
    if variables:
        machine.guest.call("session", env=variables)


def _require_locale(machine: Machine, locale: str) -> None:
    listed = machine.run(["locale", "-a"]).stdout.decode(errors="replace").split()
    if _plain(locale) not in map(_plain, listed):
        raise MachineError(
            f"the task needs the locale {locale!r}; there are {', '.join(listed) or 'none'}: install Debian's package "
            "locales-all, or make it with localedef",
            kind="not_installed",
        )


def _plain(locale: str) -> str:
    return locale.lower().replace("-", "")
