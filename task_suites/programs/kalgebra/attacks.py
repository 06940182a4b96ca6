"""Attacks that only KAlgebra's tasks have: its state is read from the running program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from deskgym.envs.errors import SetupError

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.attacks.base import Play, Target


def preloaded(target: Target, play: Play) -> Iterator[str]:
    """Solve the task in a KAlgebra with a library of one's own in it: if that one is believed, so is any forgery."""
    checks = getattr(getattr(target.task, "evaluator", None), "checks", ())
    if not any(check.name.startswith(("kalgebra.", "state")) for check in checks) or target.end != "done":
        return  # an answer or a file is right whoever made it
    yield target.inside("relaunch", preload=True)
    with suppress(SetupError):
        yield from play(target.task.oracle)
