"""SQL conditions of a user's over a history database: they can read its turns, and do nothing else."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from deskgym.task_suites.table_analysis.history_rows import COLUMNS

TABLES = ("dialogues", "turns", "pasts")
FUNCTIONS = (
    "abs", "avg", "coalesce", "count", "glob", "ifnull", "iif", "instr", "length", "like", "lower", "ltrim", "max",
    "min", "nullif", "round", "rtrim", "substr", "sum", "total", "trim", "upper",
)  # fmt: skip
"""The functions that a condition may call."""
TIMEOUT = 5.0
"""Seconds that a condition may take."""

_LONGEST = 10_000  # characters of a condition
_CHECK_EVERY = 10_000  # instructions of SQLite's machine, about a millisecond


def open_read_only(path: Path) -> sqlite3.Connection:
    """A connection that SQLite lets write nothing.

    Raises:
        sqlite3.Error: it cannot be opened.
    """
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def select_turns(
    path: Path, where: str, parameters: Sequence[Any] | Mapping[str, Any] = (), timeout: float = TIMEOUT
) -> list[dict[str, Any]]:
    """The rows of ``turns`` for which a condition holds, in order of dialogue and number.

    The connection is read-only, and SQLite's authorizer refuses whatever is not reading ``TABLES`` or calling
    ``FUNCTIONS``: no other statement, no other file, no pragma, no recursion.

    Args:
        path: the database.
        where: the condition, such as ``"mode = 'normal' AND query LIKE ?"``.
        parameters: for its ``?`` or ``:name``.
        timeout: seconds.

    Raises:
        ValueError: it is no condition, needs what is not allowed, or takes too long.
    """
    if not where.strip() or len(where) > _LONGEST:
        raise ValueError(f"an empty condition, or one of over {_LONGEST} characters; {_legal()}")
    query = f"SELECT {', '.join(COLUMNS)} FROM turns WHERE (\n{where}\n) ORDER BY dialogue, number"
    with _guarded(path, timeout) as connection:
        try:
            rows = connection.execute(query, parameters).fetchall()
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            problem = f"it takes longer than {timeout:g} s" if str(error) == "interrupted" else str(error).rstrip(".")
            raise ValueError(f"the condition {where!r} cannot be used: {problem}; {_legal()}") from error
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]


@contextmanager
def _guarded(path: Path, timeout: float) -> Iterator[sqlite3.Connection]:
    deadline = time.monotonic() + timeout
    with closing(open_read_only(path)) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1 << 24)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _CHECK_EVERY)
        connection.set_authorizer(_authorize)
        yield connection


def _authorize(action: int, one: str | None, other: str | None, database: str | None, cause: str | None) -> int:
    allowed = (
        action == sqlite3.SQLITE_SELECT
        or (action == sqlite3.SQLITE_READ and one in TABLES)
        or (action == sqlite3.SQLITE_FUNCTION and (other or "").lower() in FUNCTIONS)
    )
    return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY


def _legal() -> str:
    return f"legal is an SQL condition such as mode = 'normal' AND plot = 1, over the columns {', '.join(COLUMNS)}"
