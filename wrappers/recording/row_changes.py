"""The rows that an episode has changed in the databases that its checks compare: those the verdict rests on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.checks.sql import Changed, changed_rows

_NOW = (
    "now:"  # FinalState.reads has it before the name of what was compared; machine.baselines has the start without it
)
_MOST_ROWS = 200
_MOST_TEXT = 300  # characters of a value


def row_changes(final: FinalState) -> list[dict[str, Any]]:
    """What the checks ``sql.diff`` and ``mail.diff`` have compared; nothing is read for it.

    Args:
        final: of an episode that was judged.

    Returns:
        Of each row ``database`` (a companion's name, a file's path, or ``mail``), ``table``, ``kind`` (``insert``,
        ``update``, ``delete``), ``old`` and ``new`` (values by column; None for none) and ``columns``: those of an
        updated row that are others. At most 200 rows.
    """
    found = [_told(database, change) for database, change in _changes(final)]
    return found[:_MOST_ROWS]


def _changes(final: FinalState) -> Iterator[tuple[str, Changed]]:
    for name, (now, failure) in final.reads.items():
        key = name.removeprefix(_NOW)
        base = final.machine.baselines.get(key) if key != name else None
        if failure is None and isinstance(base, Mapping) and isinstance(now, Mapping):
            ignored = _ignored(key)
            for table in sorted({*base, *now}):
                for change in changed_rows(table, dict(base), dict(now), ignored):
                    yield key.removeprefix("sql.diff:").split(":")[0] or key.split(":")[2], change


def _ignored(key: str) -> list[str]:
    """The columns that a check of this name does not look at."""
    _, found, names = key.rpartition(":[")
    return [str(name) for name in ast.literal_eval(f"[{names}")] if found else []


def _told(database: str, change: Changed) -> dict[str, Any]:
    return {
        "database": database, "table": change.table, "kind": change.kind[0], "old": _short(change.old),
        "new": _short(change.new), "columns": sorted(change.columns) if change.kind[0] == "update" else [],
    }  # fmt: skip


def _short(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if row is None:
        return None
    return {
        name: value if value is None or isinstance(value, bool | int | float) else str(value)[:_MOST_TEXT]
        for name, value in row.items()
    }
