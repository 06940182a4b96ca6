"""What a person does in the mail, as macros for oracles and wrong attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.envs.errors import SetupError
from deskgym.task_suites.programs.toolkits import scripts

_TIMEOUT = 20.0


def look_for(screen: Screen, text: str) -> Bursts:
    """Search the folder for a text: the list shows what is left of it.

    The list takes the keyboard when its letters come: what was typed by then is lost, and is typed again.

    Raises:
        SetupError: nothing can be typed there.
    """
    box = partial(screen.find, role="entry", name="Search")
    for wait in (3.0, 3.0, _TIMEOUT):
        yield scripts.fill(box(timeout=_TIMEOUT), text, end="")
        with suppress(SetupError):
            box(text=text, timeout=wait)
            break
    else:
        raise SetupError(f'mail.look_for: {text!r} cannot be typed into the field "Search"')
    yield [Action("press", keys=("enter",))]
    screen.find(name="*Search result", role="document web", timeout=_TIMEOUT)


def select(screen: Screen, subject: str) -> Bursts:
    """Search for a letter by its subject, click on it in the list, and wait until it is shown."""
    yield from look_for(screen, subject)
    yield [scripts.click(screen.find(role="link", name=subject, timeout=_TIMEOUT))]
    screen.find(role="heading", name=f"{subject}*", timeout=_TIMEOUT)


def select_all(screen: Screen, text: str) -> Bursts:
    """Search for a text, and select every letter that is left."""
    yield from look_for(screen, text)
    yield [scripts.click(screen.find(role="link", name="* Select", timeout=_TIMEOUT))]
    yield [scripts.click(screen.find(role="push button", name="* All", timeout=_TIMEOUT))]


def move(screen: Screen, folder: str) -> Bursts:
    """Move the selected letters to a folder, and wait until it is said that they are there."""
    yield [scripts.click(screen.find(role="push button", name="* More*", timeout=_TIMEOUT))]
    yield [scripts.click(screen.find(role="push button", name="* Move to...*", timeout=_TIMEOUT))]
    yield [scripts.click(screen.find(role="link", name=f"* {folder}", nth=1, timeout=_TIMEOUT))]
    screen.find(name="*moved successfully*", timeout=_TIMEOUT)


def address(screen: Screen, text: str) -> Bursts:
    """Say whom a letter is for."""
    yield [scripts.click(screen.find(role="combo box", name="To", timeout=_TIMEOUT))]
    yield [Action("type", text=f"{text},")]
    screen.find(role="list item", text=f"*{text}*", timeout=_TIMEOUT)


def send(screen: Screen) -> Bursts:
    """Send what was written, and wait for the list of letters."""
    yield [scripts.click(screen.find(role="push button", name="*Send", timeout=_TIMEOUT))]
    screen.find(role="entry", name="Search", timeout=_TIMEOUT)


MACROS: Mapping[str, Callable[..., Bursts]] = {
    "mail.look_for": look_for,
    "mail.select": select,
    "mail.select_all": select_all,
    "mail.move": move,
    "mail.address": address,
    "mail.send": send,
}
"""By the names that task files use."""
