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


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "superset.column_count": column_count,
    "superset.busy": busy,
    "superset.busy_number": busy_number,
}
