"""Hooks that wait until something is so, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import GuestCallError, ServiceError, SetupError
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

    def look() -> str:
        try:
            content = setup.machine.get(path).decode(errors="replace")
        except GuestCallError as error:
            return str(error)
        return "" if that is None or that(content) else f"its text is {shown(content)}; awaited is {that}"

    wait_until(setup, look, f"{path} was not there as awaited", timeout)


def wait_for_command(setup: Setup, command: list[str] | str, expect: int = 0, timeout: float = 30.0) -> None:
    """A command, or a Bash script, ends with the exit status ``expect``; it is repeated until it does.

    Raises:
        SetupError: not within ``timeout`` seconds; says how it ended last.
    """
    argv = ["bash", "-c", command] if isinstance(command, str) else command
    deadline = Deadline(timeout, setup.machine.slowness)

    def look() -> str:
        result = setup.machine.run(argv, timeout=max(0.1, deadline.left))
        ended = result.returncode == expect and not result.timed_out
        return "" if ended else f"last {result.returncode}, {result.stderr[-300:].decode(errors='replace').strip()}"

    wait_until(setup, look, f"{shown(command)} did not end with {expect}", timeout)


def wait_until(setup: Setup, look: Callable[[], str], problem: str, timeout: float) -> None:
    """Look until nothing is wrong any more; once, where ``timeout`` is 0.

    Args:
        setup: the task's setup.
        look: says what is wrong, or "". What a service refuses is wrong too.
        problem: how the error begins that says what was wrong last.
        timeout: seconds.

    Raises:
        SetupError: something was wrong to the end.
    """
    deadline = Deadline(timeout, setup.machine.slowness)
    while True:
        try:
            wrong = look()
        except ServiceError as error:
            wrong = str(error)
        if not wrong:
            return
        if deadline.over:
            raise SetupError(f"{problem}{f' within {timeout:g} s' if timeout else ''}: {wrong}")
        time.sleep(POLL)
