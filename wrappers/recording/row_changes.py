"""The rows that an episode has changed in the databases that its checks compare: those the verdict rests on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.readers.changed_rows import Changed, compared_changes

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
        for database, change in islice(compared_changes(final), 2 * _MOST_ROWS):  # two checks may name one row
            row = _told(database, change)
            found[json.dumps(row, sort_keys=True, default=str)] = row
    except (ArithmeticError, AttributeError, LookupError, RecursionError, SyntaxError, TypeError, ValueError):
        return {"rows": [], "more": False}  # the verdict is there: a recording must not lose it
    return {"rows": list(found.values())[:_MOST_ROWS], "more": len(found) > _MOST_ROWS}


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
