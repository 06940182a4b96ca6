"""What was measured: named rows of times with their medians and spread."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Row:
    """One thing that was measured several times.

    Attributes:
        key: names it in the JSON, such as ``"kalgebra/step/click/screenshot"``.
        what: the same in words.
        samples: ms each.
    """

    key: str
    what: str
    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """In ms."""
        return float(np.median(self.samples))

    def to_dict(self) -> dict[str, Any]:
        """JSON: n, median, 10th and 90th percentile, extremes and every sample, in ms."""
        p10, p90 = np.percentile(self.samples, [10, 90])
        numbers = {"median": self.median, "p10": p10, "p90": p90, "min": min(self.samples), "max": max(self.samples)}
        return {
            "key": self.key,
            "what": self.what,
            "n": len(self.samples),
            **{name: round(float(number), 3) for name, number in numbers.items()},
            "samples": [round(sample, 3) for sample in self.samples],
        }


class Rows:
    """The rows of one run, in the order in which they were first added to."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def add(self, key: str, what: str, ms: float) -> None:
        """One more sample of a row, which is made if there is none of that key."""
        self._rows.setdefault(key, Row(key, what)).samples.append(ms)

    @contextmanager
    def timed(self, key: str, what: str) -> Iterator[None]:
        """Add what the body takes."""
        start = time.perf_counter()
        yield
        self.add(key, what, (time.perf_counter() - start) * 1000)

    def __getitem__(self, key: str) -> Row:
        return self._rows[key]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def __contains__(self, key: str) -> bool:
        return key in self._rows


def number(value: float) -> str:
    """Three digits, and never an exponent."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def spread(row: Mapping[str, Any]) -> str:
    """The 10th to the 90th percentile of a row's JSON."""
    return f"{number(row['p10'])}–{number(row['p90'])}"
