"""What ``KernelEnv`` knows of its tasks: an episode on a kernel, of one stage or several that are judged one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from deskgym.envs.episode import FinalState, TaskLike
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine


class KernelEpisode(Protocol):
    """The course of one episode: which stage it is at, and what was run.

    Attributes:
        step_limit: actions of the present stage.
        over: all stages have been judged.
        verdict: of all stages that have been judged, or None before the first.
    """

    @property
    def step_limit(self) -> int: ...  # noqa: D102
    @property
    def over(self) -> bool: ...  # noqa: D102
    @property
    def verdict(self) -> Verdict | None: ...  # noqa: D102

    def texts(self) -> Mapping[str, str]:
        """The text observations of the present stage, all but ``feedback``."""
        ...

    def ran(self, code: str, feedback: str, whole: bool) -> None:
        """The agent has run this; ``whole``: to its end, without an error."""
        ...

    def open_kernel(self, machine: Machine) -> None:
        """Open a kernel that stands at the beginning of the episode; the one before ends, or has ended.

        Raises:
            MachineError: the machine broke.
        """
        ...

    def submit(self, final: FinalState) -> float:
        """Judge the present stage and go on to the next; gives the reward. Never raises: see ``verdict.error``."""
        ...


class KernelTaskLike(TaskLike, Protocol):
    """A task of ``KernelEnv``. Its ``oracle`` and ``wrong_attempts`` yield texts, and get no screen.

    Attributes:
        lazy: it can be solved without a kernel, so ``prepare`` opens none; the first code does.
    """

    @property
    def lazy(self) -> bool: ...  # noqa: D102
