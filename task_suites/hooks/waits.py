"""Hooks that wait until something is so, with a deadline."""

from __future__ import annotations

import time

from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import GuestCallError, SetupError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.task_suites.core.task import Setup

POLL = 0.05
"""Seconds between two looks at what tells of no change by itself."""


def wait_for_element(
    setup: Setup,
    name: str | None = None,
    role: str | None = None,
    text: str | None = None,
    window: str | None = None,
    timeout: float = 30.0,
) -> None:
    """An element is on the screen; see ``deskgym.envs.episode.Screen.find``. A window alone is its own element.

    Raises:
        SetupError: it never came; says what was looked for and what was near.
    """
    if window is not None and name is role is text is None:
        name, window = window, None
    setup.screen.find(name=name, role=role, text=text, window=window, timeout=timeout)


def wait_for_file(setup: Setup, path: str, that: Predicate | None = None, timeout: float = 30.0) -> None:
    """A regular file is there, and a predicate holds for its text.

    Raises:
        SetupError: not within ``timeout`` seconds; says what was seen last.
    """
    deadline = Deadline(timeout, setup.machine.slowness)
    while True:
        try:
            content = setup.machine.get(path).decode(errors="replace")
            if that is None or that(content):
                return
            seen = f"its text is {shown(content)}; awaited is {that}"
        except GuestCallError as error:
            seen = str(error)
        if deadline.over:
            raise SetupError(f"{path} was not there as awaited within {timeout:g} s: {seen}")
        time.sleep(POLL)


def wait_for_command(setup: Setup, command: list[str] | str, expect: int = 0, timeout: float = 30.0) -> None:
    """A command, or a Bash script, ends with the exit status ``expect``; it is repeated until it does.

    Raises:
        SetupError: not within ``timeout`` seconds; says how it ended last.
    """
    argv = ["bash", "-c", command] if isinstance(command, str) else command
    deadline = Deadline(timeout, setup.machine.slowness)
    while True:
        result = setup.machine.run(argv, timeout=max(0.1, deadline.left))
        if result.returncode == expect and not result.timed_out:
            return
        if deadline.over:
            wrote = result.stderr[-300:].decode(errors="replace").strip()
            raise SetupError(
                f"{shown(command)} did not end with {expect} within {timeout:g} s; last {result.returncode}: {wrote}"
            )
        time.sleep(POLL)
