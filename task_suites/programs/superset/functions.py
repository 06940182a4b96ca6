"""What tasks ask of the warehouse's data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.programs.superset import shop


def column_count(table: str) -> int:
    """How many columns a table of the warehouse has."""
    return len(shop.TABLES[table])


def busy(by: str, least: int, shift: int) -> list[dict[str, Any]]:
    """How many orders of at least so many units each value of a column has, once ``shift`` has changed the units."""
    names = [*shop.TABLES["orders"]]
    at, units = names.index(by), names.index("quantity")
    count = Counter(row[at] for row in shop.rows("orders") if (row[units] + row[0] * shift) % 9 + 1 >= least)
    return [{by: value, "orders": number} for value, number in sorted(count.items())]


def busy_number(by: str, value: str, least: int, shift: int) -> int:
    """How many orders of at least so many units one value of a column has, once ``shift`` has changed the units."""
    return next((row["orders"] for row in busy(by, least, shift) if row[by] == value), 0)


def busy_total(least: int, shift: int) -> int:
    """How many orders of at least so many units there are, once ``shift`` has changed the units."""
    return sum(row["orders"] for row in busy("region", least, shift))


def cells(rows: list[dict[str, Any]]) -> list[list[Any]]:
    """Rows without the names of their columns."""
    return [list(row.values()) for row in rows]


def typed(rows: list[list[Any]]) -> str:
    """Rows as one types them into a sheet: Tab between the cells of a row, Return after it."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def length(rows: list[Any]) -> int:
    """How many rows there are."""
    return len(rows)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "superset.column_count": column_count,
    "superset.busy": busy,
    "superset.busy_number": busy_number,
    "superset.busy_total": busy_total,
    "superset.cells": cells,
    "superset.typed": typed,
    "superset.length": length,
}
