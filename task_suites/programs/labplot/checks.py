"""What a project of LabPlot's has: columns by their numbers, and plots by what they show of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFunction, Outcome
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.programs.labplot.functions import line
from deskgym.task_suites.programs.labplot.project import columns, plots, project


def columns_(final: FinalState, path: str, has: dict[str, Any], sheet: str | None = None) -> Outcome:
    """A spreadsheet of the saved project has these columns, and no others.

    Args:
        final: the final state.
        path: the project.
        has: the numbers of columns, by their names.
        sheet: name of the spreadsheet in the project; any one if left out.
    """
    root = project(final, legal_path(path))
    sheets: dict[str, dict[str, list[float] | None]] = {}
    for place, values in columns(root).items():
        where, _, name = place.rpartition("/")
        sheets.setdefault(where, {})[name] = values
    right = any(
        found.keys() == has.keys() and all(_same(found[name], has[name]) for name in has)
        for where, found in sheets.items()
        if sheet is None or where == f"{root.get('name')}/{sheet}"
    )
    return right, f"{path} has {shown(sheets, 400)}; right is {sheet or 'one spreadsheet'} with {shown(has, 400)}"


def plot(final: FinalState, path: str, x: list[float], y: list[float], looks: dict[str, Any] | None = None) -> Outcome:
    """The saved project shows one curve, of these numbers, in a plot that looks so.

    Args:
        final: the final state.
        path: the project.
        x: the numbers of the column that the curve has for x.
        y: those for y.
        looks: what ``project.plots`` says of the plot and its curve, by its names; what is left out may be anything.
    """
    root = project(final, legal_path(path))
    found, values = plots(root), columns(root)
    curves = [{**each, **curve} for each in found for curve in each["curves"]]
    looks = looks or {}
    right = (
        len(curves) == 1
        and _same(values.get(curves[0]["x"]), x)
        and _same(values.get(curves[0]["y"]), y)
        and all(_agrees(curves[0].get(name), wanted) for name, wanted in looks.items())
    )
    return right, f"{path} shows {shown(found, 600)}; right is one curve of the columns asked for, and {shown(looks)}"


def fit(final: FinalState, path: str, x: list[float], y: list[float]) -> Outcome:
    """The saved project shows one fit, the line of least squares through these numbers.

    Args:
        final: the final state.
        path: the project.
        x: the numbers of the column that is fitted for x.
        y: those for y.
    """
    root = project(final, legal_path(path))
    fits, values = [each for plot in plots(root) for each in plot["fits"]], columns(root)
    if len(fits) != 1 or not fits[0]["xs"] or not fits[0]["ys"]:
        return False, f"{path} shows {len(fits)} fits; right is one that has been calculated"
    found = fits[0]
    if found["degree"] != "1" or not all(map(math.isfinite, [*found["xs"], *found["ys"]])):
        return False, f"{path} has a fit of another model than a straight line, or without numbers"
    offset, slope = line(x, y)
    away = max(abs(b - offset - slope * a) for a, b in zip(found["xs"], found["ys"], strict=False))
    right = (
        _same(values.get(found["x"]), x)
        and _same(values.get(found["y"]), y)
        and len(found["xs"]) == len(found["ys"])
        and max(found["xs"]) - min(found["xs"]) > 0.5 * (max(x) - min(x))
        and away <= 1e-6 * (max(y) - min(y))
    )
    said = f"{path} fits {found['y']} against {found['x']}, at most {away:.3g} from the line of least squares"
    return right, f"{said}; right is {offset:.4g} + {slope:.4g} x of the columns asked for"


def histogram(final: FinalState, path: str, of: list[float], beside: str) -> Outcome:
    """The saved project shows one histogram, of these numbers, in a worksheet of its own.

    Args:
        final: the final state.
        path: the project.
        of: the numbers of the column.
        beside: name of the worksheet that was there before.
    """
    root = project(final, legal_path(path))
    found = [(plot["worksheet"], each["data"]) for plot in plots(root) for each in plot["histograms"]]
    right = (
        len(found) == 1 and _same(columns(root).get(found[0][1]), of) and found[0][0] != f"{root.get('name')}/{beside}"
    )
    return right, f"{path} shows {shown(found)}; right is a histogram of the column asked for, not in {beside}"


def _agrees(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, str):
        return isinstance(found, str) and found.split() == wanted.split()
    return _same(found, wanted)


def _same(values: Sequence[float] | None, right: Sequence[float]) -> bool:
    return (
        values is not None
        and len(values) == len(right)
        and all(math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12) for a, b in zip(values, right, strict=True))
    )


CHECKS: Mapping[str, CheckFunction] = {
    "labplot.columns": columns_,
    "labplot.plot": plot,
    "labplot.fit": fit,
    "labplot.histogram": histogram,
}
"""By the names that task files use."""
