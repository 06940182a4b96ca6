"""What tasks look at: rows of Superset's own database, and the settings of a saved chart."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.sql import diff
from deskgym.envs.evaluation.evaluator import CheckFailed, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.changed_rows import Change
from deskgym.envs.evaluation.readers.files import read_text
from deskgym.task_suites.programs.superset.service import DATABASE

_BOOKKEEPING = [
    "logs", "key_value", "cache_keys", "query", "tab_state", "table_schema", "ab_view_menu", "ab_permission_view",
    "*.created_on", "*.changed_on", "*.changed_by_fk", "*.last_saved_at", "*.last_saved_by_fk", "*.uuid", "*.perm",
    "*.schema_perm", "slices.query_context", "ab_user.last_login", "ab_user.login_count", "ab_user.fail_login_count",
    "sql_metrics.extra", "table_columns.extra",
]  # fmt: skip
"""What Superset notes by itself as pages are used."""

_OWNERS = {"slices": "slice_user", "dashboards": "dashboard_user", "tables": "sqlatable_user"}
_USUAL = (
    "metrics", "metric", "groupby", "groupbyRows", "groupbyColumns", "x_axis", "columns", "all_columns",
    "percent_metrics", "rolling_type", "time_compare", "resample_rule", "annotation_layers", "adhoc_filters",
)  # fmt: skip
"""Settings that change what a chart shows; a task that names none of them wants them empty."""


def _take(start: Start, may: list[str] | None = None, **arguments: Any) -> Mapping[str, Any]:
    base: Callable[..., Mapping[str, Any]] = diff.__dict__["baseline"]
    return {
        **base(start, companion="superset", ignore=_BOOKKEEPING + (may or [])),
        **base(start, companion="superset", database=DATABASE),
    }


@with_baseline(_take)
def changed(
    final: FinalState, changes: list[Change], warehouse: list[Change] | None = None, may: list[str] | None = None
) -> Outcome:
    """Just these rows have changed in Superset's own database and in the warehouse; see ``sql.diff``.

    What Superset notes by itself does not count. The one who makes a chart, a dashboard or a dataset is its owner.

    Args:
        final: the final state.
        changes: of Superset's own database.
        warehouse: those of the warehouse.
        may: columns that one way to do the task changes and another one does not, such as ``slices.params``.
    """
    owned = [
        Change(insert=_OWNERS[c.insert], row={"user_id": 1}, count=c.count) for c in changes if c.insert in _OWNERS
    ]
    passed, message = _outcome(diff(final, [*changes, *owned], companion="superset", ignore=_BOOKKEEPING + (may or [])))
    kept, rest = _outcome(diff(final, warehouse or [], companion="superset", database=DATABASE))
    return passed and kept, f"{message}; warehouse: {rest}"


def chart(final: FinalState, name: str, type: str, dataset: str, form: dict[str, Any]) -> Outcome:
    """One chart has this name; it is of a type, of a dataset, and has these settings.

    Args:
        final: the final state.
        name: its name.
        type: Superset's name of the kind, such as ``"pie"``.
        dataset: the dataset's name.
        form: its settings. A metric is written ``SUM(revenue)``, a filter ``region IN North, South``. Which columns,
            metrics, filters and calculations it has must be said; other settings may be what they like.
    """
    rows = final.companions["superset"].sql(
        "SELECT viz_type, table_name, slices.params FROM slices LEFT JOIN tables ON tables.id = datasource_id "
        "WHERE slice_name = ?",
        [name],
    )
    if len(rows) != 1:
        return False, f"{len(rows)} charts are called {name!r}; right is 1"
    found = json.loads(rows[0]["params"] or "{}")
    wanted = {**dict.fromkeys(_USUAL), **form, "viz_type": type}
    settings = {key: plain(found.get(key)) for key in wanted} | {"dataset": rows[0]["table_name"]}
    settings["viz_type"] = rows[0]["viz_type"] if found.get("viz_type") == rows[0]["viz_type"] else None
    right = {key: plain(value) for key, value in wanted.items()} | {"dataset": dataset}
    wrong = [f"{key} is {settings[key]!r}, right is {right[key]!r}" for key in right if settings[key] != right[key]]
    return not wrong, f"chart {name!r}: {'; '.join(wrong) or 'as asked'}"


def query_of(final: FinalState, dataset: str, rows: list[dict[str, Any]]) -> Outcome:
    """A virtual dataset's query is of the table orders, and gives these rows, in any order."""
    return _gives(final, "SELECT sql FROM tables WHERE table_name = ?", dataset, rows)


def saved_query(final: FinalState, name: str, rows: list[dict[str, Any]]) -> Outcome:
    """One query of SQL Lab is saved under this name; it is of the table orders, and gives these rows, in any order."""
    return _gives(final, "SELECT sql FROM saved_query WHERE label = ?", name, rows)


def _gives(final: FinalState, where: str, name: str, rows: list[dict[str, Any]]) -> Outcome:
    superset = final.companions["superset"]
    found = superset.sql(where, [name])
    if len(found) != 1 or not re.search(r"(?i)\bfrom\s+(public\.)?orders\b", found[0]["sql"] or ""):
        return False, f"{name!r} is {found}; right is one query of the table orders"
    try:
        given = superset.sql(found[0]["sql"].rstrip("; \n"), database=DATABASE)
    except ServiceError as error:
        raise CheckFailed(f"the query of {name!r}: {error}") from None
    return _same(given, rows)


def downloaded(final: FinalState, rows: list[dict[str, Any]], folder: str = "/home/user/Downloads") -> Outcome:
    """A query was run in SQL Lab, and the one file in a folder is a CSV table of these rows, in any order."""
    asked = final.companions["superset"].sql("SELECT count(*) AS n FROM query WHERE status = 'success'")
    listed = final.machine.run(["ls", "-A", folder]).stdout.decode().split("\n")[:-1]
    if not asked[0]["n"] or len(listed) != 1:
        return False, f"{asked[0]['n']} queries, and {folder} holds {listed}; right are some, and one file"
    given = csv.DictReader(io.StringIO(read_text(final, f"{folder}/{listed[0]}").removeprefix("\ufeff")))
    return _same(list(given), rows)


def _same(given: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]) -> Outcome:
    found, right = ([{k: str(v) for k, v in row.items()} for row in table] for table in (given, rows))
    ordered = [sorted(table, key=lambda row: sorted(row.items())) for table in (found, right)]
    return ordered[0] == ordered[1], f"the rows are {shown(found, 300)}; right is {shown(right, 300)}"


def plain(value: Any) -> Any:
    """A setting of a chart as a person would write it: texts, and lists of them; None for one that is empty."""
    if isinstance(value, list):
        return [part for part in map(plain, value) if part is not None] or None
    if not isinstance(value, Mapping):
        return None if value in (None, "", "None", False) else str(value)
    if "subject" in value or "clause" in value:
        return _filter(value)
    if value.get("expressionType") == "SIMPLE":
        return f"{value.get('aggregate')}({(value.get('column') or {}).get('column_name')})"
    sql = re.sub(r"[\s\"]", "", str(value.get("sqlExpression") or value))
    return re.sub(r"^\w+(?=\()", lambda match: match[0].upper(), sql)


def _filter(value: Mapping[str, Any]) -> str | None:
    if value.get("expressionType") != "SIMPLE":
        return f"sql {value.get('sqlExpression')}"
    right, operator = value.get("comparator"), value.get("operator")
    if operator == "TEMPORAL_RANGE" and right == "No filter":
        return None
    if isinstance(right, list):
        right, operator = ", ".join(sorted(map(str, right))), "IN" if len(right) > 1 or operator != "IN" else "=="
    return f"{value.get('subject')} {operator} {right}"


def _outcome(outcome: Outcome) -> tuple[bool, str]:
    return (outcome, "") if isinstance(outcome, bool) else outcome


CHECKS: Mapping[str, Callable[..., Outcome]] = {
    "superset.changed": changed,
    "superset.chart": chart,
    "superset.query_of": query_of,
    "superset.saved_query": saved_query,
    "superset.downloaded": downloaded,
}
"""By the names that task files use."""
