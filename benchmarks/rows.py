"""What was measured: named rows of numbers with their medians and spread."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PERCENTILES = (5, 10, 90, 95)


@dataclass
class Row:
    """One thing that was measured several times.

    Attributes:
        key: names it in the JSON, such as ``"kalgebra/step/click/screenshot"``.
        what: the same in words.
        unit: of the samples.
        samples: what was measured.
    """

    key: str
    what: str
    unit: str = "ms"
    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """In the row's unit."""
        return float(np.median(self.samples))

    def to_dict(self) -> dict[str, Any]:
        """JSON: n, median, percentiles, extremes and every sample."""
        percentiles = np.percentile(self.samples, PERCENTILES)
        numbers = {
            "median": self.median,
            **{f"p{percent}": value for percent, value in zip(PERCENTILES, percentiles, strict=True)},
            "min": min(self.samples),
            "max": max(self.samples),
        }
        return {
            "key": self.key,
            "what": self.what,
            "unit": self.unit,
            "n": len(self.samples),
            **{name: round(float(number), 3) for name, number in numbers.items()},
            "samples": [round(sample, 3) for sample in self.samples],
        }


class Rows:
    """The rows of one run, in the order in which they were first added to."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}

    def add(self, key: str, what: str, value: float, unit: str = "ms") -> None:
        """One more sample of a row, which is made if there is none of that key."""
        self._rows.setdefault(key, Row(key, what, unit)).samples.append(value)

    @contextmanager
    def timed(self, key: str, what: str) -> Iterator[None]:
        """Add what the body takes, in ms."""
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
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def spread(row: Mapping[str, Any], percent: int = 10) -> str:
    """From one percentile of a row's JSON to its counterpart: the 10th to the 90th, or the 5th to the 95th."""
    return f"{number(row[f'p{percent}'])}–{number(row[f'p{100 - percent}'])}"
