"""What is played of a task for its proof: its oracle earns 1, doing nothing and every wrong attempt earn 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Result(Protocol):
    """How an episode went; ``deskgym.agents.base.EpisodeResult`` is one."""

    @property
    def seed(self) -> int | None: ...  # noqa: D102
    @property
    def outcome(self) -> str: ...  # noqa: D102
    @property
    def score(self) -> float | None: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def steps(self) -> int: ...  # noqa: D102
    @property
    def seconds(self) -> float: ...  # noqa: D102
    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


@dataclass(frozen=True)
class Attempt:
    """One way of playing a task, and the score that it must get.

    Attributes:
        task: id of a task or template.
        agent: name for ``make_agent``.
        expected: 1 for the oracle, else 0.
    """

    task: str
    agent: str
    expected: float


SKIPPED = "not played: the task could not be set up before"
"""The message of an attempt that would only wait for the same deadline again."""


@dataclass(frozen=True)
class AttemptReport:
    """An attempt and how its episodes went, one per reset."""

    attempt: Attempt
    results: Sequence[Result]

    @property
    def problems(self) -> list[str]:
        """What is not as it must be, one text per episode."""
        problems = []
        for result in self.results:
            prefix = f"{self.attempt.agent} seed {result.seed}: "
            if result.outcome not in ("solved", "failed"):
                problems.append(f"{prefix}{result.outcome}: {result.message}")
            elif result.score != self.attempt.expected:
                found = f" ({result.message})" if result.message else ""
                problems.append(f"{prefix}score {result.score:g}, must be {self.attempt.expected:g}{found}")
        return problems

    @property
    def good(self) -> int:
        """Episodes that went as they must."""
        return len(self.results) - len(self.problems)

    @property
    def skipped(self) -> bool:
        """Whether it was not played."""
        return all(result.message == SKIPPED for result in self.results)

    @property
    def may_be_luck(self) -> bool:
        """Whether what went wrong can be a busy machine's: nothing earned a reward that it must not earn."""
        return all(result.score in (None, 0.0) or self.attempt.expected for result in self.results)


def attempts_of(task: str, wrong: Iterable[str]) -> list[Attempt]:
    """All attempts on a task: its oracle, doing nothing, and the wrong attempts of these names."""
    return [
        Attempt(task, "oracle", 1.0),
        Attempt(task, "noop", 0.0),
        *(Attempt(task, f"wrong:{name}", 0.0) for name in wrong),
    ]


def mutants_of_task(task: str, names: Iterable[str]) -> list[Attempt]:
    """One attempt for each mutant of a task's oracle."""
    return [Attempt(task, f"mutant:{name}", 0.0) for name in names]


def problems_of(reports: Sequence[AttemptReport]) -> list[str]:
    """What is wrong with a task, by the reports of all of its attempts."""
    problems = [problem for report in reports for problem in report.problems]
    if not any(report.attempt.agent.startswith("wrong:") for report in reports):
        problems.append("the task has no wrong attempt")
    return problems
