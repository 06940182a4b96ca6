"""Checks of databases: what a query gives, and which rows have changed since the setup.

The database is a companion's, which the agent cannot forge, or an SQLite file that the agent's programs write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.checks.table import table
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.changed_rows import NOW, Change, changed_rows, compared_key, judge_changes
from deskgym.envs.evaluation.readers.compare import Cell
from deskgym.envs.evaluation.readers.databases import Contents, ask_sqlite, read_contents, read_sqlite
from deskgym.envs.evaluation.readers.files import LIMIT
from deskgym.envs.evaluation.readers.table_source import TableSource
from deskgym.envs.evaluation.readers.tables import find_companion
from deskgym.envs.provision.services import Postgresql, Sqlite


def sql(
    final: FinalState,
    query: str,
    rows: list[list[Cell] | dict[str, Cell]],
    companion: str = "",
    path: str = "",
    database: str = "",
    ordered: bool = True,
    more: bool = False,
    abs: float = 0.0,
    rel: float = 1e-9,
    loose: bool = False,
) -> Outcome:
    """A query gives these rows.

    Args:
        final: the final state.
        query: a SELECT.
        rows: as in ``table``.
        companion: whose database is asked.
        path: in its place, an SQLite file in the agent's machine.
        database: which of the companion's databases; the first one if left out.
        ordered: false: in any order.
        more: true: it may give other rows too.
        abs: tolerance of numbers.
        rel: the same as a share of the right number.
        loose: texts are compared without case and spacing.

    Example:
        ```yaml
        - sql:
            companion: shop
            query: SELECT status, total FROM orders WHERE customer = 'Ada'
            rows: [[paid, {close: {to: 12.5, abs: 0.01}}]]
        ```
    """
    source = TableSource(path, companion=companion, database=database, query=query)
    return table(final, source, rows, ordered=ordered, more=more, abs=abs, rel=rel, loose=loose)


def _read(start: Start, companion: str, path: str, database: str, ignore: list[str], limit: int) -> Contents:
    """The whole database. Raises CheckFailed where an agent's file cannot be read."""
    if not companion:
        content, log = read_sqlite(start.machine, path, limit)

        def ask_file(query: str) -> list[dict[str, Any]]:
            answer = ask_sqlite(content, log, query, path)
            return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]

        return read_contents(ask_file, False, ignore)
    service = find_companion(start, companion)
    known = [item for item in service.spec.data if isinstance(item, (Postgresql, Sqlite))]
    wanted = next((i for i in known if database in ("", getattr(i, "database", ""), getattr(i, "path", ""))), None)
    return read_contents(
        lambda query: service.sql(query, database=database or None), isinstance(wanted, Postgresql), ignore
    )


def _base(
    start: Start, companion: str = "", path: str = "", database: str = "", ignore: list[str] | None = None,
    limit: int = LIMIT, **_: Any,
) -> dict[str, Any]:  # fmt: skip
    """The database as the setup left it."""
    return {
        compared_key(companion, path, database, ignore): _read(start, companion, path, database, ignore or [], limit)
    }


@with_baseline(_base)
def diff(
    final: FinalState,
    changes: list[Change],
    companion: str = "",
    path: str = "",
    database: str = "",
    ignore: list[str] | None = None,
    limit: int = LIMIT,
) -> Outcome:
    """Since the setup, just these rows have changed in the whole database: too much fails, and so does twice.

    Args:
        final: the final state.
        changes: each by ``insert``, ``update`` or ``delete`` with a table's name, ``where`` (old values), ``row`` (new
            values) and ``count``. Other columns of an updated row must be as they were.
        companion: whose database.
        path: in its place, an SQLite file in the agent's machine.
        database: which of the companion's databases; the first one if left out.
        ignore: names of tables that do not matter, and of columns with their tables (``orders.seen_at``,
            ``*.updated_at``); ``*`` stands for anything.
        limit: bytes of the file that are read at most.

    Example:
        ```yaml
        - sql.diff:
            companion: shop
            changes:
              - {update: orders, where: {id: 7}, row: {status: paid}}
              - {insert: notes, row: {order_id: 7, text: {contains: paid}}}
            ignore: [sessions, '*.updated_at']
        ```
    """
    key = compared_key(companion, path, database, ignore)
    base: Contents = final.baseline(key)
    try:
        now: Contents = final.read_once(
            f"{NOW}{key}", lambda _: _read(final, companion, path, database, ignore or [], limit)
        )
    except (ValueError, ServiceError) as error:  # it could be read at the start
        raise CheckFailed(f"{companion or path}: {error}") from None
    return judge_changes(companion or path, changed_rows(base, now, ignore or []), changes, ignore or [])


CHECKS: Mapping[str, CheckFunction] = {"sql": sql, "sql.diff": diff}
