"""What dialogues have in common, whoever wrote them: questions, what was run, and how turns came out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import MachineError
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.envs.kernel_episode import KernelTaskLike
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.table_analysis.turns import Fact, Outcome
from deskgym.task_suites.table_analysis.users import User
from deskgym.task_suites.table_analysis.users_openai import UserError

STEPS = 5
"""Actions per turn: the paper's limit for ReAct (section 5)."""
ASKED_ENOUGH = "I have answered what I could; please go on."


class Dialogue(ABC):
    """One episode's turns, what was said and run in them, and how they were judged; a ``KernelEpisode``.

    Args:
        count: how many turns it has.
        user: answers questions.
        questions: how many are answered per turn.
        mode: ``"corrected"`` or ``"paper"``: how results are compared.

    Attributes:
        outcomes: of the turns that have been judged.
    """

    step_limit = STEPS
    notes: tuple[str, ...] = ()
    """What a verdict notes."""

    def __init__(self, count: int, user: User, questions: int, mode: str) -> None:
        self.mode, self._count, self._user, self._questions = mode, count, user, questions
        self.outcomes: list[Outcome] = []
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._now: list[str] = []
        self._executed: list[str] = []
        self._whole: list[str] = []  # those that ended without an error: what follows an error has not been run
        self._asked: list[str] = []

    @abstractmethod
    def texts(self) -> Mapping[str, str]:
        """The present turn's ``instruction``, ``dialogue``, ``tables`` and ``library``."""

    @abstractmethod
    def known(self, question: str) -> tuple[str, Sequence[Fact]]:
        """What of a question the user listens to, and what the user knows."""

    @abstractmethod
    def open_kernel(self, machine: Machine) -> None:
        """Open a kernel that stands at the beginning of the episode; the one before ends, or has ended.

        Raises:
            MachineError: the machine broke.
        """

    @abstractmethod
    def submit(self, final: FinalState) -> float:
        """Judge the present turn and go on to the next; gives the reward. Never raises: see ``verdict.error``."""

    @abstractmethod
    def _wrong(self, why: str) -> Outcome:
        """The present turn's outcome where nothing of it is right."""

    def broken_by_agent(self, why: str) -> None:
        """The agent has broken its machine: the present turn and those that follow are wrong, not left out."""
        self._begin_turn()  # what it has run earns nothing by being near the reference's code
        self.outcomes = [outcome for outcome in self.outcomes if not outcome.error]  # the turn in which it broke
        while not self.over:
            self.outcomes.append(self._wrong(why))

    @property
    def about_plot(self) -> bool:
        """Whether the present turn asks about a picture."""
        return False

    @property
    def over(self) -> bool:
        """Whether all turns have been judged."""
        return len(self.outcomes) == self._count

    @property
    def verdict(self) -> Verdict | None:
        """Of all turns that have been judged, or None before the first."""
        if not self.outcomes:
            return None
        broken = [outcome.error for outcome in self.outcomes if outcome.error]
        checks = tuple(check for outcome in self.outcomes for check in _checks(outcome, self._count > 1))
        if broken:
            return Verdict(0.0, checks, "; ".join(broken), self.notes)
        return Verdict(sum(map(score_of, self.outcomes)) / self._count, checks, notes=self.notes)

    def ask(self, question: str) -> str:
        """The user's answer to a question of the agent."""
        if len(self._asked) >= self._questions:
            return ASKED_ENOUGH
        self._asked.append(question)
        try:
            answer = self._user(*self.known(question))
        except UserError as error:
            raise MachineError(f"the simulated user does not answer: {error}", "user") from error
        self._now.append(f"Analyst: {question}\nUser: {answer}")
        return answer

    def ran(self, code: str, feedback: str, whole: bool) -> None:
        """The agent has run this; ``whole``: to its end, without an error."""
        self._executed.append(code)
        if whole:
            self._whole.append(code)
        self._now.append(f"```python\n{code}\n```\nOutput:\n{feedback or '(none)'}")

    def record(self) -> dict[str, Any]:
        """What metrics are computed from, as JSON-able data: ``info["analysis"]`` at the episode's end."""
        return {"mode": self.mode, "turns": [outcome.to_dict() for outcome in self.outcomes]}


@dataclass(frozen=True, kw_only=True)
class BaseDialogueTask(ABC):
    """What tasks of ``TableAnalysisEnv`` have in common: all can be solved, none has a display."""

    verbose: Sequence[str] = ()
    feasible: bool = True
    vocabulary: Sequence[str] = ()
    keys: Sequence[str] = ()
    setup_key: str = ""

    @abstractmethod
    def begin(self, user: str | Mapping[str, Any], questions: int) -> Dialogue:
        """A new dialogue; see ``DialogueTask``."""

    def evaluate(self, final: FinalState) -> Verdict:
        """Judge the machine's kernel as if the agent had run all of this episode in one turn; never raises."""
        dialogue = self.begin("rules", 0)
        dialogue.ran("", "", True)
        dialogue.submit(final)
        assert dialogue.verdict is not None
        return dialogue.verdict


@runtime_checkable
class DialogueTask(KernelTaskLike, Protocol):
    """A task of ``TableAnalysisEnv``."""

    def begin(self, user: str | Mapping[str, Any], questions: int) -> Dialogue:
        """A new dialogue.

        Args:
            user: who answers questions, such as ``"rules"``.
            questions: how many are answered per turn.
        """
        ...


def say(texts: Sequence[str], screen: Any) -> Iterator[str]:
    """A scripted attempt of these texts; there is no screen."""
    yield from texts


def score_of(outcome: Outcome) -> float:
    """The share of intents that are right, in private modes times the recall (the paper's AccR)."""
    if outcome.error or not outcome.intents:
        return 0.0
    share = sum(intent.correct for intent in outcome.intents) / len(outcome.intents)
    return share * (1.0 if outcome.recall is None else outcome.recall)


def _checks(outcome: Outcome, named: bool) -> list[CheckResult]:
    prefix = f"{outcome.turn.split('#')[0].rpartition('/')[2]}: " if named else ""
    if outcome.error:
        return [CheckResult(f"{prefix}judge", "error", outcome.error)]
    checks = [
        CheckResult(f"{prefix}{intent.name}", "pass" if intent.correct else "fail", intent.message)
        for intent in outcome.intents
    ]
    if outcome.recall is not None:
        message = f"{outcome.recall:.0%} of the reference's private functions are called"
        checks.append(CheckResult(f"{prefix}library", "pass" if outcome.recall == 1 else "fail", message, weight=0.0))
    return checks
