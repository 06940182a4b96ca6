"""A task about procedures: what is shown, what is asked, and how good an answer is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import FinalState
from deskgym.envs.errors import DeskgymError
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.procedures.judges import Judge, LexicalJudge
from deskgym.task_suites.procedures.material import Moment

MAX_STEPS = 3
"""An answer that cannot be read costs a step, and may be given again."""


class Unreadable(DeskgymError):
    """An answer has not the form that was asked for; the message says what is legal."""


@dataclass(frozen=True)
class Grade:
    """How good an answer is.

    Attributes:
        score: the reward, in [0, 1].
        metrics: the figures that it comes from, by name; higher is better.
        message: what was found and what is right.
    """

    score: float
    metrics: Mapping[str, float]
    message: str


@dataclass(frozen=True, eq=False)
class ProcedureTask(ABC):
    """One question about procedures; a ``deskgym.envs.episode.TaskLike`` that needs no machine.

    Attributes:
        id: such as ``"ranking/47#3"``.
        instruction: what is asked, and the form of an answer.
        evidence: the texts that it is about.
        pictures: that the texts name by number, from 0.
        source: where it comes from, with its licence.
        seed: the instance's, None where there is one only.
        params: what was drawn.
    """

    kind: ClassVar[str]
    """Which of the six tasks."""

    id: str
    instruction: str
    evidence: str
    source: str = field(repr=False)
    pictures: tuple[Path, ...] = field(default=(), repr=False)
    seed: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)

    verbose: ClassVar[Sequence[str]] = ()
    max_steps: ClassVar[int] = MAX_STEPS
    difficulty: ClassVar[str] = "medium"
    split: ClassVar[str | None] = None
    feasible: ClassVar[bool] = True
    vocabulary: ClassVar[Sequence[str]] = ()
    keys: ClassVar[Sequence[str]] = ()

    @property
    def tags(self) -> Sequence[str]:
        """The kind of task."""
        return (self.kind,)

    @abstractmethod
    def read(self, answer: str) -> Any:
        """What an answer says.

        Raises:
            Unreadable: it has not the form that was asked for.
        """

    @abstractmethod
    def grade(self, said: Any, judge: Judge) -> Grade:
        """How good an answer is, by what it says."""

    @property
    @abstractmethod
    def right(self) -> str:
        """An answer that earns the reward."""

    @property
    @abstractmethod
    def wrong(self) -> Mapping[str, str]:
        """Answers that earn nothing, by name."""

    @abstractmethod
    def guess(self, rng: np.random.Generator) -> str:
        """An answer of the right form that knows nothing: what chance earns."""

    def judged(self, answer: str | None, judge: Judge) -> tuple[Verdict, Mapping[str, float]]:
        """The verdict on an answer, and its metrics; None and an unreadable answer score 0."""
        try:
            if answer is None:
                raise Unreadable("no answer was given")
            grade = self.grade(self.read(answer), judge)
        except Unreadable as error:
            return Verdict(0.0, (CheckResult(self.kind, "fail", str(error)),)), {}
        check = CheckResult(self.kind, "pass" if grade.score >= 1 else "fail", grade.message)
        return Verdict(grade.score, (check,)), grade.metrics

    # --- a TaskLike

    def prepare(self, machine: Machine) -> None:  # noqa: B027 - it is whole
        """There is nothing to prepare."""

    def evaluate(self, final: FinalState) -> Verdict:
        """Judge the answer, by the judge that is the same everywhere."""
        return self.judged(final.answer, LexicalJudge())[0]

    def oracle(self, screen: Any) -> Iterator[Any]:
        """Give a right answer."""
        yield [Action("answer", text=self.right)]

    @property
    def wrong_attempts(self) -> Mapping[str, Callable[[Any], Iterator[Any]]]:
        """Give each of the wrong answers."""
        return {name: partial(_answered, answer) for name, answer in self.wrong.items()}


def _answered(answer: str, screen: Any) -> Iterator[Any]:
    yield [Action("answer", text=answer)]


def numbered(moments: Sequence[Moment], first: int = 0, actions: bool = True) -> str:
    """A recording as text: its pictures by number, and what was done between them."""
    lines: list[str] = []
    for number, moment in enumerate(moments, first):
        if actions and moment.action is not None:
            lines.append(f"Action: {moment.action}")
        lines.append(f"Picture {number}")
    return "\n".join(lines)
