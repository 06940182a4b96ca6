"""``compare_table``: a workbook's sheets by rules: their cells, charts, pivot tables and looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from deskgym.envs.evaluation.readers.table_source import column_name, parse_range
from deskgym.task_suites.importers.spider2v.metrics.charts import charts_differ
from deskgym.task_suites.importers.spider2v.metrics.frames import frames_differ, read_frame
from deskgym.task_suites.importers.spider2v.metrics.judging import (
    GoldBroken,
    Judging,
    Value,
    brief,
    content,
    metric,
    of_gold,
)
from deskgym.task_suites.importers.spider2v.metrics.pivots import pivots_differ
from deskgym.task_suites.importers.spider2v.metrics.styles import check_cell, styles_differ
from deskgym.task_suites.importers.spider2v.metrics.workbooks import Workbook, find_sheet

DIGITS = 4
"""Decimals that count, as upstream has it."""

Sheet = tuple[Workbook, str]


@metric
def compare_table(
    result: Value, expected: Value, judging: Judging, *, rules: Sequence[Mapping[str, Any]]
) -> tuple[float, str]:
    """All rules hold: ``sheet_name``, ``sheet_data``, ``chart``, ``pivot_table``, ``style``, ``check_cell``."""
    with of_gold(expected):
        gold = _read_gold(content(expected), expected.name if isinstance(expected, Path) else "the gold")
    found = Workbook.read(content(result), "the workbook")
    if not rules:
        raise GoldBroken("compare_table has no rules")
    for rule in rules:
        problem = _check(rule, found, gold, judging)
        if problem:
            return 0.0, f"{rule['type']} {rule.get('sheet_idx0', rule.get('sheet_idx', ''))}: {problem[:1500]}"
    return 1.0, f"all {len(rules)} rules hold"


@lru_cache(maxsize=4)
def _read_gold(data: bytes, name: str) -> Workbook:
    """A gold, read once: it takes a second."""
    return Workbook.read(data, name)


def _check(rule: Mapping[str, Any], result: Workbook, gold: Workbook, judging: Judging) -> str:
    try:
        if rule["type"] == "sheet_name":
            names, right = result.book["order"], gold.book["order"]
            return "" if names == right else f"its sheets are {names}, right are {right}"
        if rule["type"] == "check_cell":
            return check_cell(find_sheet(rule["sheet_idx"], result, gold), rule["coordinate"], rule["props"])
        right = rule["sheet_idx1"]
        if judging.corrected and isinstance(right, int):  # upstream compares the result with itself
            right = f"EI{right}"
        one, other = (find_sheet(selector, result, gold) for selector in (rule["sheet_idx0"], right))
        if rule["type"] == "sheet_data":
            return _cells_differ(one, other, rule.get("precision", DIGITS), judging.corrected)
        if rule["type"] == "chart":
            return charts_differ(one, other, rule["chart_props"], judging.instruction, judging.corrected)
        if rule["type"] == "pivot_table":
            return pivots_differ(one, other, rule["pivot_props"], judging.corrected)
        if rule["type"] == "style":
            return styles_differ(one, other, rule["props"], judging.corrected)
    except KeyError as error:
        raise GoldBroken(f"the rule {dict(rule)} has no {error}") from None
    raise GoldBroken(f"there is no rule of type {rule['type']!r}")


def _cells_differ(found: Sheet, right: Sheet, digits: int, corrected: bool) -> str:
    """How the values of two sheets differ, or ``""``.

    Upstream compares what pandas makes of them, see ``frames``. Corrected: cell by cell, so that the kinds of the other
    cells of a column make no difference.
    """
    sheets = [book.sheet(name) for book, name in (found, right)]
    if not corrected:
        return frames_differ(read_frame(sheets[0], digits), read_frame(sheets[1], digits))
    cells, golds = (
        {(cell[0], cell[1]): (cell[2], cell[3]) for cell in sheet["cells"] if cell[2] is not None} for sheet in sheets
    )
    labels = _labels(sheets[1])
    for place in sorted(cells.keys() | golds.keys()):
        value, wanted = cells.get(place), golds.get(place)
        if value is not None and wanted is not None and {value[0], wanted[0]} <= labels.get(place, set()):
            continue
        if value is None or wanted is None or not _same(value, wanted, digits):
            name = f"{column_name(place[1])}{place[0]}"
            return f"{name} is {_shown(value)}, right is {_shown(wanted)}"
    return ""


def _labels(gold: dict[str, Any]) -> dict[tuple[int, int], set[str]]:
    """What LibreOffice's versions write above a pivot table's values.

    Above columns one names their field, another says "Data"; a value that is a row too gets a star when a file is
    opened.
    """
    found: dict[tuple[int, int], set[str]] = {}
    for pivot in gold.get("pivots", ()):
        if "unreadable" not in pivot:
            top, left = parse_range(pivot["range"])[:2]
            names = {value["name"] or "" for value in pivot["values"]}
            stars = names | {name.removesuffix("*") for name in names}
            found[(top, left + len(pivot["rows"]))] = {"Data", *pivot["columns"]} if pivot["columns"] else stars
    return found


def _same(cell: tuple[Any, str], right: tuple[Any, str], digits: int) -> bool:
    (value, kind), (wanted, other) = cell, right
    if kind == other == "number":
        return bool(abs(value - wanted) <= max(0.5 * 10**-digits, 1e-9 * abs(wanted)))
    if kind == other == "date":
        return value == wanted or _close(value, wanted)
    return bool(kind == other and value == wanted)


def _close(value: str, wanted: str) -> bool:
    """Whether two moments are one: a spreadsheet has them as fractions of a day."""
    try:
        return abs((datetime.fromisoformat(value) - datetime.fromisoformat(wanted)).total_seconds()) < 1
    except (ValueError, TypeError):
        return False


def _shown(cell: tuple[Any, str] | None) -> str:
    return "empty" if cell is None else f"{brief(cell[0])} ({cell[1]})"
