"""Own data in place of ``all_databases.sql``, which upstream's snapshot lacks: tables of other tasks' CSV files."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

FILE = "all_databases.sql"
ROWS = 400
"""Rows of a table at most."""

_FLIGHTS, _GAMES = "*/tutorial_flights.csv", "*/video_game_sales.csv"
_NUMBERS = ("cost", "distance", "_sales")
TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "flights": (_FLIGHTS, {}),
    "games": (_GAMES, {}),
    "game_sales": (_GAMES, {}),
    "game": (_GAMES, {"year": "timestamp"}),
}
"""By name: the file that a table's rows are from, and types that are not guessed from a column's name."""


def sources(folder: Path) -> list[Path]:
    """The CSV files below upstream's folder of the app; empty where the copy lacks one of them."""
    found = [min(folder.glob(pattern), default=None) for pattern in (_FLIGHTS, _GAMES)]
    return [path for path in found if path is not None] if None not in found else []


def script(folder: Path) -> str:
    """SQL statements that make the tables; ``folder`` must have the ``sources``."""
    return "".join(line for name in TABLES for line in _table(folder, name))


def _table(folder: Path, name: str) -> Iterator[str]:
    pattern, given = TABLES[name]
    with open(min(folder.glob(pattern)), encoding="utf-8", newline="") as file:
        header, *rows = itertools.islice(csv.reader(file), ROWS + 1)
    types = [given.get(column) or _type(column) for column in header]
    columns = ", ".join(f'"{column}" {kind}' for column, kind in zip(header, types, strict=True))
    yield f"CREATE TABLE {name} ({columns});\n"
    for row in rows:
        values = ", ".join(_value(cell, kind) for cell, kind in zip(row, types, strict=True))
        yield f"INSERT INTO {name} VALUES ({values});\n"


def _type(column: str) -> str:
    name = column.lower()
    if name == "travel date":
        return "timestamp"
    if name == "rank":
        return "bigint"
    return "double precision" if name == "year" or name.endswith((*_NUMBERS, "itude")) else "text"


def _value(cell: str, kind: str) -> str:
    if cell in ("", "N/A"):
        return "NULL"
    if kind == "timestamp" and len(cell) == 4:
        return f"'{cell}-01-01'"
    return cell if kind in ("bigint", "double precision") else "'" + cell.replace("'", "''") + "'"
