"""What task files ask of the tables: them, their forms as files, and the right answers by SQL."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Literal

from deskgym.task_suites.programs.retail import tables as made
from deskgym.task_suites.programs.retail.tables import Table

_TYPES = {
    "sqlite": ("INTEGER", "REAL", "TEXT"), "postgresql": ("integer", "numeric", "text"),
    "mysql": ("INT", "DECIMAL(12,2)", "VARCHAR(120)"), "duckdb": ("INTEGER", "DOUBLE", "VARCHAR"),
}  # fmt: skip
_LINE = re.compile(r'(\S+) - - \[(\d\d)/Mar/2024:(\d\d):\d\d:\d\d \+0000\] "(\S+) (\S+) \S+" (\d{3}) (\d+)')


def tables(seed: int, orders: int = 40) -> dict[str, Table]:
    """The tables customers, products, orders, order_items and payments; see ``tables.tables``."""
    return made.tables(seed, orders)


def spoiled(seed: int) -> Table:
    """A list of customers with dirt."""
    return made.spoiled_customers(seed)


def cleaned(table: Table) -> Table:
    """What a list of customers with dirt is when it is clean."""
    return made.clean_customers(table)


def log(seed: int) -> str:
    """A web server's log with broken lines."""
    return made.access_log(seed)


def log_table(text: str) -> Table:
    """The lines of such a log that are whole: host, day, hour, method, path, status, size."""
    rows = [_LINE.fullmatch(line) for line in text.splitlines()]
    return [
        ["host", "day", "hour", "method", "path", "status", "size"],
        *([int(it) if it.isdigit() else it for it in row.groups()] for row in rows if row),
    ]


def query(tables: dict[str, Table], sql: str) -> Table:
    """The rows that a SELECT gives of tables, in SQLite's dialect, without a header.

    Raises:
        sqlite3.Error: the query is wrong.
    """
    with sqlite3.connect(":memory:") as base:
        base.executescript(script(tables, "sqlite"))
        return [list(row) for row in base.execute(sql)]


def script(
    tables: dict[str, Table],
    dialect: Literal["sqlite", "postgresql", "mysql", "duckdb"],
    names: list[str] | None = None,
    schema: str = "",
) -> str:
    """SQL statements that make tables and fill them.

    A column's type is that of its values. A first column of different whole numbers is the primary key.
    """
    lines = []
    for name in names or list(tables):
        header, *rows = tables[name]
        place = f"{schema}.{name}" if schema else name
        kinds = [_kind(dialect, column, [row[k] for row in rows]) for k, column in enumerate(header)]
        numbers = [row[0] for row in rows]
        if isinstance(numbers[0], int) and len(set(numbers)) == len(numbers):
            kinds[0] += " PRIMARY KEY"
        columns = ", ".join(f"{column} {kind}" for column, kind in zip(header, kinds, strict=True))
        lines.append(f"CREATE TABLE {place} ({columns});")
        values = ",\n".join(f"({', '.join(map(_literal, row))})" for row in rows)
        lines.append(f"INSERT INTO {place} VALUES\n{values};")
    return "\n".join(lines) + "\n"


def _kind(dialect: str, column: str, values: list[Any]) -> str:
    whole, broken, text = _TYPES[dialect]
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, int) for value in known):
        return whole
    if known and all(isinstance(value, (int, float)) for value in known):
        return broken
    is_date = all(isinstance(it, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", it) for it in known)
    return "DATE" if is_date and known and dialect != "sqlite" else text


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return str(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''") + "'"


def csv_text(table: Table, delimiter: str = ",") -> str:
    """A table as CSV with a header; empty where there is no value."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(table)
    return text.getvalue()


def json_lines(table: Table) -> str:
    """A table as one JSON object a line."""
    header, *rows = table
    return "".join(json.dumps(dict(zip(header, row, strict=True))) + "\n" for row in rows)


def nested_json(tables: dict[str, Table]) -> str:
    """Orders as a JSON array, each with its customer and its items in it."""
    people = {row[0]: row for row in tables["customers"][1:]}
    found = []
    for number, customer, day, status, channel in tables["orders"][1:]:
        lines = [row for row in tables["order_items"][1:] if row[0] == number]
        found.append(
            {
                "id": number, "date": day, "status": status, "channel": channel,
                "customer": {"name": people[customer][1], "city": people[customer][3]},
                "items": [{"product": row[1], "quantity": row[2], "price": row[3]} for row in lines],
            }
        )  # fmt: skip
    return json.dumps(found, indent=1) + "\n"


def with_cell(table: Table, row: int, column: str, value: str | float | None) -> Table:
    """A table in which one cell is another; rows count from 1 below the header."""
    changed = [list(cells) for cells in table]
    changed[row][changed[0].index(column)] = value
    return changed


def body(table: Table) -> Table:
    """The rows below the header."""
    return table[1:]


def joined(rows: Table, separator: str = ",") -> str:
    """Rows as lines of text."""
    return "".join(separator.join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)


def replace(text: str, old: str, new: str) -> str:
    """A text with another in place of a part that it must have."""
    if old not in text:
        raise ValueError(f"{old!r} is not in {text!r}")
    return text.replace(old, new)


def literal(columns: list[str], rows: Table) -> str:
    """A SELECT of rows that are written out: what somebody types who does not want to compute them."""
    lines = [
        "select " + ", ".join(f"{_literal(cell)} as {column}" for cell, column in zip(row, columns, strict=True))
        for row in rows
    ]
    return " union all ".join(lines)


def with_row(table: Table, row: list[Any]) -> Table:
    """A table with one more row at its end."""
    return [*table, row]


def history(table: Table, later: Table, columns: list[str]) -> dict[str, Table]:
    """What a snapshot has after some orders changed: order_id, status, channel of ``current`` and ``outdated`` rows.

    Args:
        table: the orders, with a header.
        later: the same orders later, in the same order.
        columns: a change in these is kept.
    """
    header, found = table[0], {"current": list[Any](), "outdated": list[Any]()}
    for old, new in zip(table[1:], later[1:], strict=True):
        before, after = ([row[header.index(column)] for column in columns] for row in (old, new))
        kept = [[row[header.index(column)] for column in ("order_id", "status", "channel")] for row in (old, new)]
        found["current"].append(kept[before != after])
        if before != after:
            found["outdated"].append(kept[0])
    return found


def loads(now: str, ages: list[int], names: list[str]) -> dict[str, str]:
    """Tables as CSV, by name, whose last row was loaded so many hours ago."""
    end = datetime.fromisoformat(now)
    return {
        name: csv_text(
            [["id", "loaded_at"], *([k, (end - timedelta(hours=age + 24 * (3 - k))).isoformat(" ")] for k in range(4))]
        )
        for name, age in zip(names, ages, strict=True)
    }


def older(ages: list[int], names: list[str], limit: int) -> list[str]:
    """The names whose age is above a limit."""
    return [name for name, age in zip(names, ages, strict=True) if age > limit]


def listed(items: list[Any], separator: str = ", ") -> str:
    """Items in one text."""
    return separator.join(map(str, items))


def pick(of: dict[str, Any], key: str) -> Any:
    """The value of a key."""
    return of[key]


def named(name: str, table: Table) -> dict[str, Table]:
    """One table by its name."""
    return {name: table}


def under(header: list[str], rows: Table) -> Table:
    """Rows below a header."""
    return [header, *rows]


def duplicated(seed: int) -> Table:
    """Contacts (id, name, city, loaded) of which some ids come two or three times, never at the same time."""
    draw = random.Random(seed)
    found: Table = []
    for number, name, _, city, *_ in made.tables(seed)["customers"][1:]:
        days = draw.sample(range(1, 28), draw.choice((1, 1, 2, 3)))
        found += [[number, name, draw.choice((city, "Vienna", "Basel")), f"2024-03-{day:02}"] for day in days]
    draw.shuffle(found)
    return [["id", "name", "city", "loaded"], *found]


def months(table: Table, odd: int) -> list[str]:
    """The orders of January to March 2024 as three CSV files; that of the month ``odd`` has semicolons."""
    header, *rows = table
    return [
        csv_text([header, *(row for row in rows if row[2][:7] == f"2024-{month:02}")], ";" if month == odd else ",")
        for month in (1, 2, 3)
    ]


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "retail.csv": csv_text,
    **{
        f"retail.{function.__name__}": function
        for function in (
            body, cleaned, joined, json_lines, literal, log, log_table, nested_json, query, replace, script, spoiled,
            tables, with_cell, with_row, history, loads, older, listed, pick, named, under, duplicated, months,
        )
    },
}  # fmt: skip
"""By the names that task files use."""
