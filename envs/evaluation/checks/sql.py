"""Checks of databases: what a query gives, and which rows have changed since the setup.

The database is a companion's, which the agent cannot forge, or an SQLite file that the agent's programs write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from json import dumps
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.table import table
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.compare import Cell, Rules, listed, pair
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


@dataclass(frozen=True)
class Change:
    """One row that must have changed. Exactly one of ``insert``, ``update`` and ``delete`` names its table.

    Attributes:
        insert: a new row.
        update: a row of the same primary key with other values.
        delete: a row that is no more.
        row: the new values of some columns; an inserted row may have any in the others, an updated one its old ones.
        where: old values of some columns of the updated or deleted row.
        count: how many such rows.
    """

    insert: str = ""
    update: str = ""
    delete: str = ""
    row: dict[str, Cell] = field(default_factory=dict)
    where: dict[str, Cell] = field(default_factory=dict)
    count: int = 1

    @property
    def kind(self) -> tuple[str, str]:
        """What happens, and in which table."""
        named = [(kind, name) for kind in ("insert", "update", "delete") if (name := getattr(self, kind))]
        if len(named) != 1:
            raise ValueError(f"a change has one of insert, update and delete, got {len(named)}")
        return named[0]

    def __str__(self) -> str:
        parts = [" ".join(self.kind)]
        for word, values in (("where", self.where), ("row", self.row)):
            if values:
                parts.append(f"{word} {shown({k: getattr(v, 'data', v) for k, v in values.items()}, 300)}")
        return " ".join(parts)


@dataclass(frozen=True)
class Changed:
    """A row that has changed: ``old`` is None where it was inserted, ``new`` where it was deleted."""

    table: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None

    @property
    def kind(self) -> tuple[str, str]:
        """What happened, and in which table."""
        return "insert" if self.old is None else "delete" if self.new is None else "update", self.table

    @property
    def columns(self) -> set[str]:
        """Which values of an updated row are others."""
        old, new = self.old or {}, self.new or {}
        return {name for name in {*old, *new} if old.get(name) != new.get(name)}

    def is_right(self, change: Change, ignored: Sequence[str]) -> bool:
        """Whether it is what should have happened."""
        if self.kind != change.kind:
            return False
        fits = Rules(rel=1e-9).fits
        if self.old is not None and self.new is not None:
            if any(name not in change.row and not _is_ignored(self.table, name, ignored) for name in self.columns):
                return False
        pairs = [(self.old, change.where), (self.new, change.row)]
        return all(
            row is not None and name in row and fits(row[name], right, True)
            for row, wanted in pairs
            for name, right in wanted.items()
        )

    def __str__(self) -> str:
        old, new = self.old or {}, self.new or {}
        if self.kind[0] == "update":
            same = {name: value for name, value in old.items() if name not in self.columns}
            changes = ", ".join(f"{name}: {old.get(name)!r} -> {new.get(name)!r}" for name in sorted(self.columns))
            return f"update {self.table} {changes} of {shown(same, 160)}"
        return f"{' '.join(self.kind)} {shown(dict(new or old), 300)}"


def _is_ignored(table: str, column: str, ignored: Sequence[str]) -> bool:
    return any(fnmatchcase(f"{table}.{column}", pattern) for pattern in ignored)


def _key(companion: str, path: str, database: str, ignore: list[str] | None) -> str:
    return f"sql.diff:{companion}:{path}:{database}:{ignore or []}"


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
    return {_key(companion, path, database, ignore): _read(start, companion, path, database, ignore or [], limit)}


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
    key = _key(companion, path, database, ignore)
    base: Contents = final.baseline(key)
    try:
        now: Contents = final.read_once(
            f"now:{key}", lambda _: _read(final, companion, path, database, ignore or [], limit)
        )
    except (ValueError, ServiceError) as error:  # it could be read at the start
        raise CheckFailed(f"{companion or path}: {error}") from None
    done = [change for name in sorted({*base, *now}) for change in changed_rows(name, base, now, ignore or [])]
    wanted = [change for change in changes for _ in range(change.count)]
    spare, missing = pair(
        list(range(len(done))), list(range(len(wanted))), lambda d, w: done[d].is_right(wanted[w], ignore or [])
    )
    lines = [f"this was not done: {wanted[k]}" for k in missing] + [f"this should not be: {done[k]}" for k in spare]
    return not lines, f"{companion or path}: {listed(lines) or f'just the {len(wanted)} right changes'}"


def changed_rows(name: str, base: Contents, now: Contents, ignore: Sequence[str]) -> list[Changed]:
    """What is different in a table: by the primary key that it had at the start, or else by its whole rows.

    A key that an agent has made, or under which a row of either has another one beside it, tells no rows apart.
    """
    old, new = (contents.get(name, {}).get("rows", []) for contents in (base, now))
    keys = base.get(name, {}).get("key", [])

    def bare(row: Mapping[str, Any]) -> str:
        return dumps({k: v for k, v in row.items() if not _is_ignored(name, k, ignore)}, sort_keys=True)

    before, after = ({dumps([row.get(key) for key in keys]): row for row in rows} for rows in (old, new))
    if keys and len(before) == len(old) and len(after) == len(new):
        changes = [Changed(name, before.get(k), after.get(k)) for k in {**before, **after}]
        return [c for c in changes if c.old is None or c.new is None or bare(c.old) != bare(c.new)]
    both = Counter(map(bare, old)) & Counter(map(bare, new))
    return [
        *(Changed(name, row, None) for row in _without(old, both.copy(), bare)),
        *(Changed(name, None, row) for row in _without(new, both.copy(), bare)),
    ]


def _without(rows: list[dict[str, Any]], known: Counter[str], bare: Any) -> list[dict[str, Any]]:
    """The rows that are not among the known ones, each counted."""
    left = []
    for row in rows:
        if known[bare(row)] > 0:
            known[bare(row)] -= 1
        else:
            left.append(row)
    return left


CHECKS: Mapping[str, CheckFunction] = {"sql": sql, "sql.diff": diff}
