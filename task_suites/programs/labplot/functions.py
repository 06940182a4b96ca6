"""What tasks ask of data: measurements with noise that differ by the seed, and what is right of them."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

_QUANTITIES = (
    ("time", "height", "mass"), ("voltage", "current", "noise"), ("mass", "length", "width"),
    ("depth", "pressure", "salinity"), ("dose", "response", "age"),
)  # fmt: skip

Statistic = Literal["Arithmetic mean", "Geometric mean", "Harmonic mean", "Contraharmonic mean"]


def measurements(seed: int) -> dict[str, Any]:
    """Three series of positive numbers: names ``x``, ``y``, ``z``; ``xs``, ``ys`` (along a line), ``zs`` (along none).

    ``text`` is a CSV file of x and y, ``table`` has their numbers by name, and ``columns`` those of all three.
    """
    draw = random.Random(f"measurements {seed}")
    x, y, z = draw.choice(_QUANTITIES)
    slope, offset = draw.uniform(0.5, 5), draw.uniform(5, 20)
    xs = [0.5 + k for k in range(draw.randint(12, 24))]
    ys = [round(offset + slope * at + draw.gauss(0, 0.4), 3) for at in xs]
    zs = [value / 100 for value in draw.sample(range(100, 2000), len(xs))]
    rows = [f"{a:.3f},{b:.3f}" for a, b in zip(xs, ys, strict=True)]  # LabPlot takes 16.06 in the first one for a date
    text = "\n".join([f"{x},{y}", *rows]) + "\n"
    table = {x: xs, y: ys}
    return {
        "x": x,
        "y": y,
        "z": z,
        "xs": xs,
        "ys": ys,
        "zs": zs,
        "text": text,
        "table": table,
        "columns": table | {z: zs},
    }


def computed(of: dict[str, Any], name: str, factor: float, power: int, term: float) -> dict[str, list[float]]:
    """The columns of measurements, and one more: factor x^power + term."""
    return {**of["columns"], name: [factor * x**power + term for x in of["xs"]]}


def arranged(of: dict[str, Any], by: str, order: Literal["Ascending", "Descending"]) -> dict[str, list[float]]:
    """The columns of measurements with their rows in the order of one column."""
    key = of["columns"][by]
    rows = sorted(range(len(key)), key=key.__getitem__, reverse=order == "Descending")
    return {name: [values[row] for row in rows] for name, values in of["columns"].items()}


def statistic(of: list[float], which: Statistic) -> float:
    """A mean, as LabPlot names it."""
    if which == "Contraharmonic mean":
        return sum(value * value for value in of) / sum(of)
    means: Mapping[str, Callable[[list[float]], float]] = {
        "Arithmetic mean": statistics.fmean, "Geometric mean": statistics.geometric_mean,
        "Harmonic mean": statistics.harmonic_mean,
    }  # fmt: skip
    return means[which](of)


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Offset and slope of the line of least squares."""
    slope, offset = statistics.linear_regression(x, y)
    return offset, slope


def parameter(of: dict[str, Any], which: Literal["c0", "c1"], y: Literal["ys", "zs"] = "ys") -> float:
    """A parameter of the linear fit to measurements."""
    return line(of["xs"], of[y])[int(which[1])]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "labplot.measurements": measurements,
    "labplot.computed": computed,
    "labplot.arranged": arranged,
    "labplot.statistic": statistic,
    "labplot.parameter": parameter,
}
"""By the names that task files use."""
