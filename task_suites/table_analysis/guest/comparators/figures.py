"""The data drawn in two figures (see ``figure_data.drawn``): the same, whatever their order and style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from deskgym.task_suites.table_analysis.guest.comparators.axes import Coordinates, coordinates
from deskgym.task_suites.table_analysis.guest.comparators.matching import pairing
from deskgym.task_suites.table_analysis.guest.comparators.rules import Rules

RTOL = 1e-3
"""Of the range of an axis: much less than can be seen."""


def drawn_difference(gold: list[dict[str, Any]], got: Any, rules: Rules) -> str:
    """What differs, or ``""``.

    Each axes of the gold must have one in ``got`` that shows the same data, and there must be no others. In an axes
    every series must be there and no more: lines, points, bars (upright and lying ones differ), areas, wedges, images.
    Order of series, colours, widths of bars, titles, scales and legends do not count. Points of one colour each are
    a series each, whether drawn at once or one by one, unless the gold's are all of one; bars drawn one by one are one
    series. Bars of no length count as none. Categories may be in any order along their axis, but must have the gold's
    labels. Lines across the whole axes (``axhline``) must be there when the gold has them, and may be when it has none.

    A line is not a scatter plot of the same points: it says that what is between them means something.
    """
    if not isinstance(got, list):
        return f"a {type(got).__name__} where drawn data were expected"
    if len(gold) != len(got):
        return f"data in {len(got)} axes where {len(gold)} were expected" if got else "nothing is drawn"
    if pairing(gold, got, lambda expected, found: not axes_difference(expected, found, rules)) is not None:
        return ""
    return next(filter(None, (axes_difference(*pair, rules) for pair in zip(gold, got, strict=True))), "other data")


def axes_difference(gold: Mapping[str, Any], got: Mapping[str, Any], rules: Rules) -> str:
    """What differs between two axes, or ``""``."""
    where = coordinates(gold, got, RTOL if rules.rtol is None else rules.rtol, rules.atol or 0.0)
    compared = {
        "lines": _Lines,
        "points": _Points,
        "bars": _Bars,
        "areas": _Areas,
        "images": _Images,
        "wedges": _Wedges,
    }
    for kind, compare in compared.items():
        problem = compare(where).difference(gold[kind], got[kind])
        if problem:
            return f"{kind}: {problem}"
    if gold["rules"] and pairing(gold["rules"], got["rules"], where.same_rule) is None:
        return "rules: other lines across the axes"
    return ""


class _Series:
    """Compares the series of one kind.

    Args:
        where: how positions compare.
    """

    def __init__(self, where: Coordinates) -> None:
        self.where = where

    def difference(self, gold: list[Any], got: list[Any]) -> str:
        """What differs between two lists of series."""
        if len(gold) != len(got):
            return f"{len(got)} series where {len(gold)} were expected"
        return "" if pairing(gold, got, self.same) is not None else "other data"

    def same(self, gold: Any, got: Any) -> bool:
        """Two series are the same."""
        if len(gold[0]) != len(got[0]):
            return False
        expected = np.column_stack([self.where.gold("x", gold[0]), self.where.gold("y", gold[1])])
        found = np.column_stack([self.where.got("x", got[0]), self.where.got("y", got[1])])
        return self.same_path(expected, found)

    def same_path(self, gold: Any, got: Any) -> bool:
        """Two arrays of shape (n, 2) are the same."""
        return self.where.close(gold, got)


class _Lines(_Series):
    """A line may be drawn from either end; along categories from any to any."""

    def same_path(self, gold: Any, got: Any) -> bool:
        ends = (got, got[::-1])
        if any(self.where.close(gold, path) for path in ends):
            return True
        return self.where.categorical and self.where.close(self.where.sorted(gold), self.where.sorted(got))


class _Points(_Series):
    """Points have no order; where the gold's are all one series, colours that tell groups apart are no difference."""

    def difference(self, gold: list[Any], got: list[Any]) -> str:
        if len(gold) == 1 < len(got):
            got = [tuple(np.concatenate([series[place] for series in got]) for place in (0, 1))]
        return super().difference(gold, got)

    def same_path(self, gold: Any, got: Any) -> bool:
        return self.where.close(self.where.sorted(gold), self.where.sorted(got))


class _Areas(_Series):
    """An outline may begin anywhere, and be walked either way."""

    def same_path(self, gold: Any, got: Any) -> bool:
        return self.where.close(gold, got) or self.where.close(self.where.sorted(gold), self.where.sorted(got))


class _Bars(_Series):
    """Bars have no order."""

    def difference(self, gold: list[Any], got: list[Any]) -> str:
        problem = super().difference(gold, got)
        if problem and (_one_by_one(gold) or _one_by_one(got)):
            return super().difference(_pooled(gold), _pooled(got))
        return problem

    def same(self, gold: Any, got: Any) -> bool:
        if gold[0] != got[0] or len(gold[1]) != len(got[1]):
            return False
        along, across = (gold[0], "y" if gold[0] == "x" else "x")
        tables = []
        for read, series in ((self.where.gold, gold), (self.where.got, got)):
            middle = read(along, series[1], whole=True)
            tables.append(np.column_stack([middle, read(across, series[2]), read(across, series[3])]))
        axes = along + across + across
        expected, found = (self.where.sorted(table, axes) for table in tables)
        return self.where.close(expected, found, axes)


class _Wedges(_Series):
    """Shares with their labels, where both have labels."""

    def difference(self, gold: list[Any], got: list[Any]) -> str:
        if len(gold) != len(got):
            return f"{len(got)} where {len(gold)} were expected"
        labelled = all(label for label, _ in [*gold, *got])

        def same(expected: Any, found: Any) -> bool:
            if labelled and expected[0].strip().casefold() != found[0].strip().casefold():
                return False
            return bool(abs(expected[1] - found[1]) <= RTOL)

        return "" if pairing(gold, got, same) is not None else "other shares"


class _Images(_Series):
    """Arrays; rows and columns of categories may be in any order."""

    def same(self, gold: Any, got: Any) -> bool:
        expected, found = self.where.image(gold, "gold"), self.where.image(got, "got")
        if expected is None or found is None or expected.shape != found.shape:
            return False
        span = float(np.nanmax(expected) - np.nanmin(expected)) if np.isfinite(expected).any() else 0.0
        near = np.isclose(found, expected, rtol=0, atol=span * self.where.rtol + 1e-12, equal_nan=True)
        return bool(near.all())


def _one_by_one(bars: list[Any]) -> bool:
    return len(bars) > 1 and all(len(series[1]) == 1 for series in bars)


def _pooled(bars: list[Any]) -> list[Any]:
    """All bars of a direction as one series."""
    pooled = []
    for along in ("x", "y"):
        chosen = [series for series in bars if series[0] == along]
        if chosen:
            pooled.append((along, *(np.concatenate([series[place] for series in chosen]) for place in (1, 2, 3))))
    return pooled
