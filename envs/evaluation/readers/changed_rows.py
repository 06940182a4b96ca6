"""Rows of databases that have changed since the setup, and whether they are those that should have."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from json import dumps
from typing import Any, TypeGuard

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import Outcome
from deskgym.envs.evaluation.readers.compare import Cell, Rules, listed, pair
from deskgym.envs.evaluation.readers.databases import Contents

NOW = "now:"
"""Before the key of what was compared in ``FinalState.reads``; ``Machine.baselines`` has the start without it."""
_DIFF = "sql.diff:"


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


def judge_changes(what: str, done: Sequence[Changed], changes: Sequence[Change], ignore: Sequence[str]) -> Outcome:
    """Whether just the right rows have changed: too much fails, and so does twice.

    Args:
        what: has the rows, for the message.
        done: the rows that have changed.
        changes: those that should have.
        ignore: columns that do not matter, with their tables.
    """
    wanted = [change for change in changes for _ in range(change.count)]
    spare, missing = pair(
        list(range(len(done))), list(range(len(wanted))), lambda d, w: done[d].is_right(wanted[w], ignore)
    )
    lines = [f"this was not done: {wanted[k]}" for k in missing] + [f"this should not be: {done[k]}" for k in spare]
    return not lines, f"{what}: {listed(lines) or f'just the {len(wanted)} right changes'}"


def changed_rows(base: Contents, now: Contents, ignore: Sequence[str] = ()) -> list[Changed]:
    """The rows that are different, in all tables by their names; columns that match ``ignore`` do not count."""
    return [change for name in sorted({*base, *now}) for change in _changed_in(name, base, now, ignore)]


def compared_key(companion: str, path: str, database: str, ignore: Sequence[str] | None) -> str:
    """The key of what ``sql.diff`` has compared; ``compared_changes`` takes it apart again."""
    return f"{_DIFF}{companion}:{path}:{database}:{[*(ignore or [])]}"


def compared_changes(final: FinalState) -> Iterator[tuple[str, Changed]]:
    """The rows that checks of an episode have found to be different, with the database; nothing is read for it.

    The database is a companion's name, a file's path, or what the check calls it.
    """
    for name, (now, failure) in final.reads.items():
        key = name.removeprefix(NOW)
        base = final.machine.baselines.get(key) if key != name and failure is None else None
        if _has_tables(base) and _has_tables(now):
            database, ignored = _compared(key)
            for change in changed_rows(base, now, ignored):
                yield database, change


def _has_tables(value: Any) -> TypeGuard[Contents]:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(table, Mapping) and isinstance(table.get("rows"), list)
        for name, table in value.items()
    )


def _compared(key: str) -> tuple[str, list[str]]:
    """The database of what was compared, and the columns that the check does not look at."""
    if not key.startswith(_DIFF):
        return key, []
    head, _, names = key.removeprefix(_DIFF).partition(":[")  # companion:path:database:[names]
    companion, *path, database = head.split(":")
    ignored = [str(name) for name in ast.literal_eval(f"[{names}")]
    return " ".join(filter(None, (companion or ":".join(path), database))), ignored


def _changed_in(name: str, base: Contents, now: Contents, ignore: Sequence[str]) -> list[Changed]:
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
