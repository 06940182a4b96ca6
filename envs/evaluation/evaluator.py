"""The Evaluator: runs a task's checks on the final state and says pass, fail or error for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from deskgym.envs.episode import FinalState, Stop
from deskgym.envs.errors import AnswerTooLarge, MachineError, ServiceDown
from deskgym.envs.evaluation.verdict import CheckResult, Verdict
from deskgym.envs.machines.base import Machine

if TYPE_CHECKING:
    from deskgym.envs.provision.companions import Companion


class CheckFailed(Exception):  # noqa: N818 - it is an outcome, not an error
    """Raised inside a check: the state is not right, and the message says how. The outcome is "fail"."""


Outcome = tuple[bool, str]
"""Whether a check passed, and what was expected and found."""
CheckFunction = Callable[..., Outcome]
"""``check(final, **arguments)``."""


class Start(Protocol):
    """Where a baseline is read: a task's ``Setup``, or a final state."""

    @property
    def machine(self) -> Machine:
        """The agent's machine."""
        ...

    @property
    def companions(self) -> Mapping[str, Companion]:
        """The services beside it."""
        ...


Baseline = Callable[..., Mapping[str, Any]]
"""``baseline(start, **arguments)``: values by key, which the check finds with ``final.baseline(key)``."""


def with_baseline(take: Baseline) -> Callable[[CheckFunction], CheckFunction]:
    """Decorates a check that compares with the state at the episode's start: ``take`` gets the check's arguments."""

    def decorate(check: CheckFunction) -> CheckFunction:
        check.__dict__["baseline"] = take
        return check

    return decorate


@dataclass(frozen=True)
class Check:
    """One check of a final state.

    Attributes:
        name: as in the task file, such as ``"file.text"``.
        test: returns whether it passed, and what was expected and found. CheckFailed is a fail, and so is what
            ``FinalState.blames_agent`` takes for the agent's doing; any other exception is an error of the check.
        baseline: reads, when the setup is done, what the check compares with; or None.
    """

    name: str
    test: Callable[[FinalState], Outcome]
    baseline: Callable[[Start], Mapping[str, Any]] | None = None

    @classmethod
    def bound(cls, name: str, function: CheckFunction, arguments: Mapping[str, Any]) -> Check:
        """The check that a function and its arguments make, with its baseline if it has one."""
        take = getattr(function, "baseline", None)
        return cls(name, partial(function, **arguments), take and partial(take, **arguments))

    def __call__(self, final: FinalState) -> CheckResult:
        """Carry it out; never raises."""
        try:
            passed, message = self.test(final)
        except (CheckFailed, ServiceDown, AnswerTooLarge) as error:
            return CheckResult(self.name, "fail", str(error))
        except Exception as error:
            if final.blames_agent(error):
                return CheckResult(self.name, "fail", f"the agent left what cannot be read: {error}")
            what = f"the machine broke ({error.kind})" if isinstance(error, MachineError) else type(error).__name__
            return CheckResult(self.name, "error", f"{what}: {error}")
        return CheckResult(self.name, "pass" if passed else "fail", message)


End = Literal["done", "answer", "fail"]
"""How an agent should end a task."""

RIGHT_STOPS: Mapping[End, tuple[Stop, ...]] = {
    "done": ("done", "limit"),
    "answer": ("answer",),
    "fail": ("fail",),
}
"""Which stops can earn the reward, by how the task should end.

An agent that forgot DONE but left the right state when its steps ran out has solved the task: Spider2-V and
ScienceBoard count it too. FAIL on a feasible task earns 0 whatever the state is, and so does an answer that
nobody asked for.
"""


@dataclass(frozen=True)
class Evaluator:
    """Runs all checks; all must pass.

    The first line of every verdict is a check named ``stop``, with no weight in the partial score. All
    checks run even when one has failed, so that the verdict tells all that is wrong.

    Attributes:
        checks: in order.
        end: how the agent should end the episode.
        notes: handed on to the verdict.
    """

    checks: Sequence[Check]
    end: End = "done"
    notes: Sequence[str] = ()

    def evaluate(self, final: FinalState) -> Verdict:
        """The verdict; never raises."""
        if not self.checks and self.end != "fail":
            return Verdict(0.0, error="the task has no checks", notes=tuple(self.notes))
        results = [self._stop(final), *(check(final) for check in self.checks)]
        return Verdict.from_checks(results, self.notes)

    def take_baselines(self, start: Start) -> dict[str, Any]:
        """What the checks compare with, read when the setup is done."""
        taken = [check.baseline(start) for check in self.checks if check.baseline]
        return {key: value for part in taken for key, value in part.items()}

    def _stop(self, final: FinalState) -> CheckResult:
        legal = RIGHT_STOPS[self.end]
        outcome: Literal["pass", "fail"] = "pass" if final.stop in legal else "fail"
        return CheckResult("stop", outcome, f"stopped with {final.stop!r}; right is {self.end!r}", weight=0.0)
