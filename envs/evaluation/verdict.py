"""A Verdict: what the evaluation of a final state found, check by check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class CheckResult:
    """What one check found.

    Attributes:
        name: which check, such as ``"kalgebra.curve"``.
        outcome: ``"pass"``, ``"fail"``, or ``"error"`` when the check itself could not be carried out.
        message: what was expected and what was found, for a person to read.
        weight: its share in a partial score.
    """

    name: str
    outcome: Literal["pass", "fail", "error"]
    message: str = ""
    weight: float = 1.0

    def __bool__(self) -> bool:
        return self.outcome == "pass"


@dataclass(frozen=True)
class Verdict:
    """The outcome of an evaluation.

    Attributes:
        score: in [0, 1]; 1 exactly when every check passed, else 0 (``partial`` has the finer number).
        checks: one result per check, in the task's order.
        error: why no score could be given, or None. A verdict with an error has score 0 and is not a failure of the
            agent: leave such episodes out of success rates.
        notes: what a reader of the score should know, such as a gold that was corrected.
    """

    score: float
    checks: tuple[CheckResult, ...] = ()
    error: str | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def success(self) -> bool:
        """Whether the task was solved."""
        return self.error is None and self.score >= 1.0

    @property
    def partial(self) -> float:
        """The weighted share of passed checks, in [0, 1]."""
        total = sum(check.weight for check in self.checks)
        return sum(check.weight for check in self.checks if check) / total if total else self.score

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-able data, as in ``info["verdict"]``."""
        data = asdict(self)
        data["checks"] = [asdict(check) for check in self.checks]
        return data | {"notes": list(self.notes), "success": self.success, "partial": self.partial}

    @classmethod
    def from_checks(cls, checks: Sequence[CheckResult], notes: Sequence[str] = ()) -> Verdict:
        """All checks must pass. Any check in error makes the whole verdict an error, unless another one failed.

        A failed check decides alone: whatever the broken one would have said, the score is 0.
        """
        checks = tuple(checks)
        if not checks:
            return cls(0.0, error="the task has no checks", notes=tuple(notes))
        failed = any(check.outcome == "fail" for check in checks)
        broken = [f"{check.name}: {check.message}" for check in checks if check.outcome == "error"]
        error = "; ".join(broken) if broken and not failed else None
        return cls(float(all(checks)), checks, error, tuple(notes))
