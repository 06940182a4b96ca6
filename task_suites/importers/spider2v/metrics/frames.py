"""A sheet as ``pandas.read_excel`` makes a table of it, and when two such tables are equal: upstream's ``sheet_data``.

Its rules decide scores, so they are kept here without pandas: the first row is the header; a text that reads as a
number is one; a column of whole numbers is not equal to one with a gap or a fraction; in a column of mixed kinds
nothing is rounded.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from deskgym.envs.evaluation.evaluator import CheckFailed

MAX_AREA = 3_000_000  # cells, empty ones included
_MISSING = {
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
}  # fmt: skip
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|\s*[+-]?(inf|infinity)\s*", re.IGNORECASE)
_MOST_INT = 2**63 - 1

Column = tuple[object, str, list[Any]]
"""Name, kind (``int``, ``float``, ``bool``, ``date`` or ``object``) and values; None where one is missing."""


def read_frame(sheet: dict[str, Any], digits: int) -> list[Column]:
    """The columns of a sheet, their numbers rounded.

    Args:
        sheet: as ``readers.spreadsheet`` gives it.
        digits: decimals that are kept.

    Raises:
        CheckFailed: it is too large.
    """
    grid = {(row, column): _value(value, kind) for row, column, value, kind, *_ in sheet["cells"]}
    grid = {place: value for place, value in grid.items() if value != ""}
    if not grid:
        return []
    height, width = (max(place[k] for place in grid) for k in (0, 1))
    if height * width > MAX_AREA:
        raise CheckFailed(f"its {height} rows of {width} columns are too many to compare")
    names = _names([grid.get((1, column), "") for column in range(1, width + 1)])
    columns = []
    for column, name in enumerate(names, 1):
        kind, values = _typed([grid.get((row, column), "") for row in range(2, height + 1)])
        if kind == "float":
            values = [None if value is None else _rounded(value, digits) for value in values]
        columns.append((name, kind, values))
    return columns


def _value(value: Any, kind: str) -> Any:
    """A cell's; an error is missing, a date is a pair so that it is no text."""
    if value is None or kind == "error":
        return None if kind == "error" else ""
    if kind == "number":
        return int(value) if isinstance(value, float) and value.is_integer() else value
    return ("date", value) if kind == "date" else value


def _names(header: Sequence[Any]) -> list[object]:
    """Unnamed and repeated columns get names of their own."""
    names: list[object] = []
    for k, value in enumerate(header):
        names.append(f"Unnamed: {k}" if value in ("", None) else value)
    seen: Counter[object] = Counter()
    taken = {name for name in names if isinstance(name, str)}
    for k, name in enumerate(names):
        new, count = name, seen[_key(name)]
        while count and new in taken | {name}:
            new, count = f"{_plain(name)}.{count}", count + 1
        seen[_key(name)] = max(count, seen[_key(name)] + 1)
        names[k] = new
        if isinstance(new, str):
            taken.add(new)
    return names


def _key(name: object) -> object:
    return (isinstance(name, bool), name)


def _plain(name: object) -> object:
    return name[1] if isinstance(name, tuple) else name


def _typed(cells: Sequence[Any]) -> tuple[str, list[Any]]:
    """A column's kind and values."""
    values = [None if value is None or (isinstance(value, str) and value in _MISSING) else value for value in cells]
    there = [value for value in values if value is not None]
    if there and all(isinstance(value, bool) for value in there):
        return ("bool" if len(there) == len(values) else "object"), values
    if there and all(isinstance(value, tuple) for value in there):
        return "date", values
    numbers = [_number(value) for value in values]
    if any(number is None and value is not None for number, value in zip(numbers, values, strict=True)):
        return "object", values
    if there and len(there) == len(values) and all(isinstance(number, int) for number in numbers):
        if all(abs(number) <= _MOST_INT for number in numbers if number is not None):
            return "int", numbers
    return "float", [None if number is None else float(number) for number in numbers]


def _number(value: Any) -> int | float | None:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return None
    return int(value) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", value) else float(value)


def _rounded(value: float, digits: int) -> float:
    """As numpy rounds: scaled, to the next even whole number, and back."""
    scaled = value * 10**digits
    return round(scaled) / 10**digits if math.isfinite(scaled) else value


def frames_differ(found: Sequence[Column], right: Sequence[Column]) -> str:
    """How two tables differ, or ``""``."""
    names, wanted = [column[0] for column in found], [column[0] for column in right]
    if [_key(name) for name in names] != [_key(name) for name in wanted]:
        return f"its columns are {[_plain(name) for name in names]}, right are {[_plain(name) for name in wanted]}"
    for (name, kind, values), (_, other, others) in zip(found, right, strict=True):
        if len(values) != len(others):
            return f"it has {len(values)} rows, right are {len(others)}"
        if kind != other:
            return f"column {_plain(name)!r} is of {kind}, right is {other}"
        for k, (value, wanted_value) in enumerate(zip(values, others, strict=True), 2):
            if type(value) is not type(wanted_value) and not _alike(value, wanted_value) or value != wanted_value:
                return f"column {_plain(name)!r}, row {k} is {_plain(value)!r}, right is {_plain(wanted_value)!r}"
    return ""


def _alike(value: object, other: object) -> bool:
    """Whether both are numbers: 1 and 1.0 are equal, True is neither."""
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in (value, other))
