"""Positions on the axes of two figures, made comparable: categories by their labels, dates by their day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_NS_PER_DAY = 86_400_000_000_000
_REACH = 0.5 + 1e-6
"""Of a category to both sides, of the distance between two."""


class Axis:
    """One axis, ``"x"`` or ``"y"``, of the gold and of the other figure.

    When the gold's are categories, a position is the rank of its category among the gold's, plus how far it is from
    the category's middle; labels that are numbers or dates count as these. So other orders and numbers compare.

    Args:
        gold: (positions, labels) of the gold's categories, or None.
        got: of the other figure's.
    """

    def __init__(self, gold: Any, got: Any) -> None:
        self.categorical = gold is not None
        labels = [] if gold is None else [_label(text) for text in gold[1]]
        numbers = [_number(label) for label in labels]
        if None in numbers:
            names: dict[str, float] = {label: float(rank) for rank, label in enumerate(sorted(set(labels)))}
        else:
            names = {label: number for label, number in zip(labels, numbers, strict=True) if number is not None}
        self.numeric = None not in numbers
        self._ticks = {"gold": self._read(gold, names), "got": self._read(got, names)}

    def _read(self, ticks: Any, names: Mapping[str, float]) -> tuple[Any, Any] | None:
        """Sorted positions and values of one figure's categories; None where its positions are taken as they are."""
        if ticks is None:
            return None
        labels = [_label(text) for text in ticks[1]]
        numbers = [_number(label) for label in labels]
        if not self.categorical and None in numbers:
            return None
        others = [np.nan if number is None or not self.numeric else number for number in numbers]
        values = [names.get(label, other) for label, other in zip(labels, others, strict=True)]
        order = np.argsort(ticks[0])
        return np.asarray(ticks[0], dtype=float)[order], np.asarray(values, dtype=float)[order]

    def place(self, side: str, positions: Any, whole: bool = False) -> Any:
        """The comparable positions, NaN where there is none; ``whole``: those of the categories."""
        positions = np.asarray(positions, dtype=float)
        ticks = self._ticks[side]
        if ticks is None:
            return np.full(positions.shape, np.nan) if self.categorical and not self.numeric else positions
        nearest = _nearest(ticks[0], positions)
        apart = positions - ticks[0][nearest]
        values = np.where(np.abs(apart) <= _REACH, ticks[1][nearest], np.nan)
        return values if whole else values + apart

    def order(self, side: str, length: int) -> Any:
        """The places of ``length`` rows of an image in the categories' order; None where a label is missing."""
        ticks = self._ticks[side]
        if ticks is None or len(ticks[1]) != length:
            return None if self.categorical and not self.numeric else np.arange(length)
        return None if np.isnan(ticks[1]).any() else np.argsort(ticks[1], kind="stable")


class Coordinates:
    """How positions in two axes compare.

    Attributes:
        rtol: tolerance, of the range of the gold's data along each axis.
        categorical: one of the gold's axes has categories.
    """

    def __init__(self, gold: Mapping[str, Any], got: Mapping[str, Any], rtol: float, atol: float) -> None:
        self.rtol = rtol
        self._axes = {name: Axis(_categories(gold, name), _categories(got, name)) for name in ("x", "y")}
        self._periods = {"gold": str(gold["period"]), "got": str(got["period"])}
        self.categorical = any(axis.categorical for axis in self._axes.values())
        spans = {name: _span(gold, name, self._axes[name], self.gold) for name in ("x", "y")}
        self.tolerance = {name: rtol * spans[name] + atol for name in spans}

    def gold(self, axis: str, positions: Any, whole: bool = False) -> Any:
        """Positions of the gold along ``axis``."""
        return self._axes[axis].place("gold", self._dated(axis, positions, "gold"), whole)

    def got(self, axis: str, positions: Any, whole: bool = False) -> Any:
        """Positions of the other figure along ``axis``."""
        return self._axes[axis].place("got", self._dated(axis, positions, "got"), whole)

    def _dated(self, axis: str, positions: Any, side: str) -> Any:
        """Positions; on an x axis of days where the other one is of pandas' periods, as such periods."""
        periods = self._periods
        if axis != "x" or periods["gold"] == periods["got"]:
            return positions
        return _ordinals(positions, periods[side], periods["gold"] or periods["got"])

    def close(self, gold: Any, got: Any, axes: str = "xy") -> bool:
        """Two arrays of shape (n, len(axes)) agree, column by column within the axis' tolerance."""
        allowed = np.asarray([self.tolerance[axis] for axis in axes])
        with np.errstate(invalid="ignore"):
            return gold.shape == got.shape and bool((np.abs(gold - got) <= allowed).all())

    def sorted(self, path: Any, axes: str = "xy") -> Any:
        """The rows in an order that little noise does not change."""
        steps = np.asarray([self.tolerance[axis] or 1e-12 for axis in axes])
        keys = np.round(path / steps)
        return path[np.lexsort([*path.T[::-1], *keys.T[::-1]])]

    def same_rule(self, gold: Any, got: Any) -> bool:
        """Two lines across the axes are the same."""
        axis = gold[0]
        if axis != got[0]:
            return False
        expected, found = self.gold(axis, np.asarray([gold[1]])), self.got(axis, np.asarray([got[1]]))
        return bool(abs(expected[0] - found[0]) <= self.tolerance[axis])

    def image(self, values: Any, side: str) -> Any:
        """An image's array with its rows and columns in the categories' order; None where labels are missing."""
        values = np.asarray(values, dtype=float)
        if values.ndim < 2:
            return values
        rows, columns = (
            self._axes[axis].order(side, length) for axis, length in zip("yx", values.shape[:2], strict=True)
        )
        return None if rows is None or columns is None else values[rows][:, columns]


def coordinates(gold: Mapping[str, Any], got: Mapping[str, Any], rtol: float, atol: float) -> Coordinates:
    """How positions in the axes ``gold`` and ``got`` compare."""
    return Coordinates(gold, got, rtol, atol)


def _nearest(ticks: Any, positions: Any) -> Any:
    """For each position the place of the nearest tick; ``ticks`` are sorted."""
    return np.searchsorted((ticks[1:] + ticks[:-1]) / 2, positions)


def _categories(axes: Mapping[str, Any], name: str) -> Any:
    """The categories of an axis, or None: also when some data stand at none of them."""
    ticks = axes["ticks"][name]
    if ticks is None or not len(ticks[0]):
        return None
    at = np.concatenate([*_positions(axes, name, bases=False), np.empty(0)])
    positions = np.sort(np.asarray(ticks[0], dtype=float))
    apart = np.abs(at - positions[_nearest(positions, at)])
    return ticks if (apart <= _REACH).all() else None


def _positions(axes: Mapping[str, Any], name: str, bases: bool = True) -> list[Any]:
    """All positions along an axis; ``bases``: also from where to where bars reach."""
    column = 0 if name == "x" else 1
    positions = [path[column] for kind in ("lines", "points", "areas") for path in axes[kind]]
    for along, *bar in axes["bars"]:
        positions += bar[:1] if along == name else bar[1:] if bases else []
    return positions


def _span(gold: Mapping[str, Any], name: str, axis: Axis, read: Callable[..., Any]) -> float:
    """The range of the gold's data along an axis; the size of its one value where all are the same."""
    found = np.concatenate([*(read(name, positions) for positions in _positions(gold, name)), np.empty(0)])
    if not len(found):
        return 1.0
    span = float(found.max() - found.min()) or float(np.abs(found).max())
    return min(span, 100.0) if axis.categorical and not axis.numeric else span


def _ordinals(positions: Any, own: str, period: str) -> Any:
    """Days since 1970, or pandas' ordinals of frequency ``own``, as ordinals of frequency ``period``."""
    import pandas as pd

    if own == period:
        return positions
    positions = np.asarray(positions, dtype=float)
    if own:
        moments = pd.PeriodIndex.from_ordinals(np.round(positions).astype("i8"), freq=own).to_timestamp()
    else:
        moments = pd.DatetimeIndex((np.round(positions * _NS_PER_DAY)).astype("i8").view("M8[ns]"))
    return moments.to_period(period).asi8.astype(float)


def _label(text: str) -> str:
    return " ".join(str(text).split()).casefold()


def _number(label: str) -> float | None:
    """The number, or the day since 1970, that a label says."""
    try:
        return float(label)
    except ValueError:
        pass
    try:
        day = float(np.datetime64(label, "ns").astype("i8")) / _NS_PER_DAY
    except ValueError:
        return None
    return day if label[:1].isdigit() else None
