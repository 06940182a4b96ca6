"""Whether the counts of a soak grow: a straight line through each, and what it may rise by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

WARM = 0.25  # the first part of the checkpoints, in which caches fill, has no part in the trends
MEMORY = "memory of ours, MiB"
COLUMNS = ("what", "before", "first", "last", "after", "growth in 1,000 episodes", "verdict")

ALLOWED: dict[str, float | None] = {
    "processes on the host": 1.0,
    "machines": 1.0,
    "processes in machines": None,
    "zombies": 1.0,
    "strays": 1.0,
    "file descriptors": 2.0,
    MEMORY: 8.0,
    "memory available, MiB": None,
    "mounts": 1.0,
    "state folders": 1.0,
    "runtime records": 1.0,
    "control groups": 1.0,
    "network namespaces": 1.0,
    "temporary files": 1.0,
    "shared memory files": 1.0,
    "network namespaces, kernel": None,
}
"""What each count may for certain have grown by in a run; None is only reported: others on the host move it too."""

RETURNS = tuple(name for name, allowed in ALLOWED.items() if allowed is not None and name != MEMORY)
"""The counts that must be what they were when all is closed."""


@dataclass(frozen=True)
class Trend:
    """How one count went.

    Attributes:
        what: it counts.
        before: when nothing was open.
        first: at the first checkpoint.
        last: at the last.
        after: when all was closed again.
        per_1000: the slope of a straight line through the checkpoints, in 1,000 episodes.
        error: half the width of the slope's 95 % confidence interval.
        grown: what it has grown by at the least, over the checkpoints: the lower end of that interval.
    """

    what: str
    before: float
    first: float
    last: float
    after: float
    per_1000: float
    error: float
    grown: float

    @property
    def leak(self) -> bool:
        """Whether it grows by more than is allowed, or does not come back."""
        allowed = ALLOWED[self.what]
        if allowed is None:
            return False
        return self.grown > allowed or (self.what in RETURNS and self.after > self.before)

    def cells(self) -> list[str]:
        """One line of the table."""
        numbers = [f"{value:g}" if value == int(value) else f"{value:.1f}" for value in self._values()]
        verdict = "reported" if ALLOWED[self.what] is None else "fail: LEAK" if self.leak else "ok"
        return [self.what, *numbers, f"{self.per_1000:+.2f} ± {self.error:.2f}", verdict]

    def _values(self) -> tuple[float, ...]:
        return self.before, self.first, self.last, self.after


def trends_of(data: Mapping[str, Any]) -> list[Trend]:
    """The trends of a run, in ``ALLOWED``'s order.

    Args:
        data: with the counts ``before`` and ``after``, and ``samples`` of them that have their ``episode`` too.
    """
    samples = data["samples"]
    used = samples[int(len(samples) * WARM) :]
    episodes = np.array([sample["episode"] for sample in used], float)
    return [
        Trend(
            what,
            data["before"][what],
            samples[0][what],
            samples[-1][what],
            data["after"][what],
            *_line(episodes, np.array([sample[what] for sample in used], float)),
        )
        for what in ALLOWED
        if what in data["before"]
    ]


def _line(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> tuple[float, float, float]:
    """Least squares: the slope in 1,000 of ``x``, half its 95 % interval, and the least rise over all of ``x``."""
    if len(x) < 3:
        raise ValueError(f"{len(x)} checkpoints are too few for a trend; legal are 3 or more")
    slope, offset = np.polyfit(x, y, 1)
    rest = np.sum((y - slope * x - offset) ** 2) / (len(x) - 2)
    error = 2.0 * np.sqrt(rest / np.sum((x - x.mean()) ** 2))
    return float(slope) * 1000, float(error) * 1000, float((slope - error) * (x[-1] - x[0]))
