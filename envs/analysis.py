"""What ``AnalysisEnv`` knows of its tasks: a conversation about tables, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from deskgym.envs.episode import FinalState, TaskLike
from deskgym.envs.evaluation.verdict import Verdict
from deskgym.envs.machines.base import Machine


class ConversationLike(Protocol):
    """The course of one episode: which turn it is at, what was said and what was run.

    Attributes:
        step_limit: actions of the present turn.
        over: all turns have been judged.
        verdict: of all turns that have been judged, or None before the first.
    """

    @property
    def step_limit(self) -> int: ...  # noqa: D102
    @property
    def over(self) -> bool: ...  # noqa: D102
    @property
    def verdict(self) -> Verdict | None: ...  # noqa: D102

    def texts(self) -> Mapping[str, str]:
        """The present turn's ``instruction``, ``dialogue``, ``tables`` and ``library``."""
        ...

    def ask(self, question: str) -> str:
        """The user's answer to a question of the agent."""
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
        """Judge the present turn and go on to the next; gives the reward. Never raises: see ``verdict.error``."""
        ...

    def record(self) -> Mapping[str, Any]:
        """What metrics are computed from, as JSON-able data: ``info["analysis"]`` at the episode's end."""
        ...


@runtime_checkable
class AnalysisTaskLike(TaskLike, Protocol):
    """A task of ``AnalysisEnv``. Its ``oracle`` and ``wrong_attempts`` yield texts, and get no screen.

    Attributes:
        lazy: it can be solved without a kernel, so ``prepare`` opens none; the first code does.
    """

    @property
    def lazy(self) -> bool: ...  # noqa: D102

    def begin(self, user: str | Mapping[str, Any], questions: int) -> ConversationLike:
        """A new conversation.

        Args:
            user: who answers questions, such as ``"rules"``.
            questions: how many are answered per turn.
        """
        ...
