"""Whole databases as JSON: every row of every table, of a companion or of an SQLite file of the agent's."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.files import MAX_ROWS
from deskgym.envs.machines.base import Machine

Ask = Callable[[str], list[dict[str, Any]]]
"""Gives a query's rows, by column."""

Contents = dict[str, dict[str, list[Any]]]
"""By table: its ``rows`` (values by column), and the names of the columns of its primary ``key``."""

_SQLITE_TABLES = """
SELECT m.name AS "table", c.name AS "column", c.pk FROM sqlite_master m JOIN pragma_table_info(m.name) c
WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND m.sql NOT LIKE 'CREATE VIRTUAL%'
ORDER BY 1, c.cid
"""
_POSTGRESQL_TABLES = """
SELECT CASE c.relnamespace::regnamespace::text WHEN 'public' THEN '' ELSE c.relnamespace::regnamespace || '.' END
  || c.relname AS "table", c.oid::regclass::text AS quoted, a.attname AS "column",
  coalesce(array_position(i.indkey::int2[], a.attnum), -1) + 1 AS pk
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND c.relnamespace::regnamespace::text NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY 1, a.attnum
"""


def read_contents(ask: Ask, postgresql: bool, ignore: list[str]) -> Contents:
    """All rows of all tables, but for those whose names fit one of ``ignore``.

    Raises:
        ValueError: there are more than ``MAX_ROWS`` rows.
    """
    tables: dict[str, list[dict[str, Any]]] = {}
    for column in ask(_POSTGRESQL_TABLES if postgresql else _SQLITE_TABLES):
        if not any(fnmatchcase(column["table"], pattern) for pattern in ignore):
            tables.setdefault(column["table"], []).append(column)
    if not tables:
        return {}
    found: Contents = {
        name: {"key": [column["column"] for column in columns if column["pk"]], "rows": []}
        for name, columns in tables.items()
    }
    for row in ask(" UNION ALL ".join(_select(name, columns, postgresql) for name, columns in tables.items())):
        found[row["t"]]["rows"].append(row["r"] if postgresql else json.loads(row["r"]))
    if sum(len(table["rows"]) for table in found.values()) > MAX_ROWS:
        raise ValueError(f"the database has more than {MAX_ROWS} rows; ignore the tables that do not matter")
    return found


def _select(name: str, columns: list[dict[str, Any]], postgresql: bool) -> str:
    text = name.replace("'", "''")
    if postgresql:
        return f'SELECT \'{text}\' AS t, to_jsonb("deskgym row") AS r FROM {columns[0]["quoted"]} AS "deskgym row"'
    pairs = []
    for column in columns:
        quoted = '"' + column["column"].replace('"', '""') + '"'
        label = column["column"].replace("'", "''")
        pairs.append(f"'{label}', CASE typeof({quoted}) WHEN 'blob' THEN hex({quoted}) ELSE {quoted} END")
    table = name.replace('"', '""')
    return f"SELECT '{text}' AS t, json_object({', '.join(pairs)}) AS r FROM \"{table}\""


def read_sqlite(machine: Machine, path: str, limit: int) -> tuple[bytes, bytes | None]:
    """An SQLite file and its write-ahead log, where there is one.

    The log has what a program that is still open, or was killed, has not moved into the file itself.

    Raises:
        CheckFailed: the file, or a log that is there, cannot be read.
    """
    try:
        content = machine.get(path, limit=limit)
        try:
            return content, machine.get(f"{path}-wal", limit=limit)
        except GuestCallError as error:
            if error.kind != "FileNotFoundError":
                raise
            return content, None
    except GuestCallError as error:
        raise CheckFailed(f"{path}: it cannot be read: {error}") from None


def ask_sqlite(database: bytes, log: bytes | None, query: str, name: str) -> dict[str, Any]:
    """What a query gives of an SQLite file: columns and rows.

    Args:
        database: the file.
        log: its write-ahead log, which has what is not yet in the file itself.
        query: a SELECT.
        name: for messages.

    Raises:
        CheckFailed: it cannot be read.
    """
    asked = {
        "database": base64.b64encode(database).decode(), "query": query, "rows": MAX_ROWS,
        "wal": None if log is None else base64.b64encode(log).decode(),
    }  # fmt: skip
    return dict(limited.read("database", json.dumps(asked).encode(), name))
