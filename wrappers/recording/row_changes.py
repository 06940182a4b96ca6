"""The rows that an episode has changed in the databases that its checks compare: those the verdict rests on."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeGuard

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.checks.sql import Changed, changed_rows
from deskgym.envs.evaluation.readers.databases import Contents

_NOW = "now:"
"""Before the name of what was compared in ``FinalState.reads``; ``Machine.baselines`` has the start without it."""
_DIFF = "sql.diff:"
_MOST_ROWS, _MOST_COLUMNS = 200, 60
_MOST_NAME, _MOST_TEXT = 100, 300  # characters of a name, of a value
_LARGE = 1e300


def row_changes(final: FinalState) -> dict[str, Any]:
    """What ``sql.diff`` and checks like it have compared; nothing is read for it.

    Args:
        final: of an episode that was judged.

    Returns:
        ``rows``, at most 200, and ``more``: whether there are others. Of each row ``database`` (a companion's name, a
        file's path, or what the check calls it), ``table``, ``kind`` (``insert``, ``update``, ``delete``), ``old`` and
        ``new`` (values by column; None for none) and ``columns``: those of an updated row that are others. Long names
        and values are cut. Without rows where a check's own kind of contents cannot be told.
    """
    found: dict[str, dict[str, Any]] = {}
    try:
        for database, change in islice(_changes(final), 2 * _MOST_ROWS):  # two checks may name one row
            row = _told(database, change)
            found[json.dumps(row, sort_keys=True, default=str)] = row
    except (ArithmeticError, AttributeError, LookupError, RecursionError, SyntaxError, TypeError, ValueError):
        return {"rows": [], "more": False}  # the verdict is there: a recording must not lose it
    return {"rows": list(found.values())[:_MOST_ROWS], "more": len(found) > _MOST_ROWS}


def _changes(final: FinalState) -> Iterator[tuple[str, Changed]]:
    for name, (now, failure) in final.reads.items():
        key = name.removeprefix(_NOW)
        base = final.machine.baselines.get(key) if key != name and failure is None else None
        if _has_tables(base) and _has_tables(now):
            database, ignored = _compared(key)
            for table in sorted({*base, *now}):
                for change in changed_rows(table, base, now, ignored):
                    yield database, change


def _has_tables(value: Any) -> TypeGuard[Contents]:
    """Whether it is what ``envs.evaluation.readers.databases`` calls contents."""
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


def _told(database: str, change: Changed) -> dict[str, Any]:
    updated = sorted(change.columns) if change.kind[0] == "update" else []
    first = [*updated, *(name for name in change.new or change.old or {} if name not in updated)][:_MOST_COLUMNS]
    return {
        "database": database[:_MOST_NAME], "table": str(change.table)[:_MOST_NAME], "kind": change.kind[0],
        "old": _short(change.old, first), "new": _short(change.new, first),
        "columns": [str(name)[:_MOST_NAME] for name in updated[:_MOST_COLUMNS]],
    }  # fmt: skip


def _short(row: Mapping[str, Any] | None, columns: Sequence[str]) -> dict[str, Any] | None:
    if row is None:
        return None
    return {str(name)[:_MOST_NAME]: _value(row[name]) for name in columns if name in row}


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < _LARGE:  # false for what is no number
        return value
    return str(value)[:_MOST_TEXT]
