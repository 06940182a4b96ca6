"""The numbers that the step loop has to reach, and whether a run did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from deskgym.benchmarks.conventional import VARIANTS, Variant
from deskgym.benchmarks.desks import PROGRAMS
from deskgym.benchmarks.rows import Rows, number

RATIOS = {
    (True, "full"): 25.0,
    (True, None): 40.0,
    (False, "full"): 15.0,
    (False, None): 25.0,
}
"""How many times faster than the conventional loop a step must be, by ``Variant``'s sleeps and tree."""


@dataclass(frozen=True)
class Target:
    """One target with what a run got.

    Attributes:
        what: in words.
        limit: ``got`` may be at most this, or must be at least this.
        got: measured; where there are several programs, the worst.
        unit: of both.
        at_least: which of the two the limit is.
        detail: what ``got`` is made of.
    """

    what: str
    limit: float
    got: float
    unit: str
    at_least: bool = False
    detail: str = ""

    @property
    def passed(self) -> bool:
        """Whether it is reached."""
        return self.got >= self.limit if self.at_least else self.got <= self.limit

    @property
    def verdict(self) -> str:
        """``PASS`` or ``MISS``, and by how much unless it is just reached: in percent of the limit."""
        word, percent = "PASS" if self.passed else "MISS", abs(self.got - self.limit) / self.limit * 100
        return f"{word} by {percent:{'.0f' if percent >= 1 else '.1g'}}%" if percent else word

    @property
    def limit_text(self) -> str:
        """Such as ``"≤ 40 ms"``."""
        return f"{'≥' if self.at_least else '≤'} {number(self.limit)} {self.unit}".rstrip()

    def to_dict(self) -> dict[str, Any]:
        """JSON."""
        return {
            "what": self.what, "at_least": self.at_least, "limit": self.limit, "got": round(self.got, 3),
            "unit": self.unit, "passed": self.passed, "verdict": self.verdict, "detail": self.detail,
        }  # fmt: skip

    def cells(self) -> list[str]:
        """One line of the table: what, target, measured, verdict."""
        measured = f"{number(self.got)} {self.unit}".rstrip()
        return [
            self.what,
            self.limit_text,
            measured + (f" ({self.detail})" if self.detail else ""),
            self.verdict,
        ]


COLUMNS = ("what", "target", "measured (median)", "verdict")


def loop_targets(rows: Rows, programs: Sequence[str]) -> list[Target]:
    """How many times longer the conventional loop's steps take, of the worse program."""
    found = []
    for variant in VARIANTS:
        ratios = {PROGRAMS[name].title: ratio(rows, name, variant) for name in programs}
        detail = ", ".join(f"{title} {value:.1f}" for title, value in ratios.items())
        what = f"conventional ÷ ours, {variant.name}"
        worst = min(ratios.values())
        found.append(Target(what, RATIOS[variant.sleeps, variant.tree], worst, "×", at_least=True, detail=detail))
    return found


def ratio(rows: Rows, name: str, variant: Variant) -> float:
    """How many times longer the conventional loop's median step takes than ours, over the same actions."""
    view = "screenshot + a11y" if variant.tree else "screenshot"
    return rows[f"{name}/conventional/{variant.name}"].median / rows[f"{name}/step/{view}"].median
