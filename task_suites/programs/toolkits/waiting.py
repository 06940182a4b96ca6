"""Waiting for what no single element of the screen tells."""

from __future__ import annotations

import time
from collections.abc import Callable

from deskgym.envs.deadline import Deadline
from deskgym.envs.errors import SetupError

POLL = 0.05


def until(holds: Callable[[], object], complaint: str, timeout: float = 30.0, poll: float = POLL) -> None:
    """Wait until a condition holds.

    Args:
        holds: looks once.
        complaint: what is wrong where it never does, such as ``"the statement does not end"``.
        timeout: seconds.
        poll: seconds from one look to the next.

    Raises:
        SetupError: with the complaint.
    """
    deadline = Deadline(timeout)
    while not holds():
        if deadline.over:
            raise SetupError(f"{complaint}; waited {timeout:g} s")
        time.sleep(poll)
