"""Checks of the account's tables, which the server tells whoever has the companion's key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.compare import Cell, Rules, differences, listed
from deskgym.envs.evaluation.readers.tables import Table, find_companion
from deskgym.task_suites.programs.fakesnow.program import ask


def _asked(start: Start, what: str, **more: str) -> dict[str, Any]:
    try:
        return ask(find_companion(start, "fakesnow"), do=what, **more)
    except ServiceError as error:
        raise CheckFailed(str(error)) from None


def table(
    final: FinalState,
    name: str,
    columns: list[str],
    rows: list[list[Cell]],
    kind: Literal["table", "view"] = "table",
    types: list[str] | None = None,
    abs: float = 0.0,
) -> Outcome:
    """A table or view of the account has these columns and rows, in any order of the rows.

    Args:
        final: the final state.
        name: of it, with database and schema: ``SHOP.PUBLIC.ORDERS``.
        columns: their names in order; case does not count.
        rows: the right rows; dates and times are texts.
        kind: which of both it is.
        types: of the columns, as DuckDB calls them, such as ``BIGINT``, ``VARCHAR``, ``DATE`` and ``DOUBLE``.
        abs: tolerance of numbers.
    """
    found = _asked(final, "tables").get(name)
    if found is None or found["kind"] != kind:
        return False, f"{name} is {'not there' if found is None else 'a ' + found['kind']}; right is a {kind}"
    if "error" in found:
        return False, f"{name} cannot be read: {found['error']}"
    names = [column.upper() for column, _ in found["columns"]]
    if names != [column.upper() for column in columns]:
        return False, f"{name} has the columns {', '.join(names)}; right are {', '.join(columns)}"
    if types and types != (are := [type_.partition("(")[0] for _, type_ in found["columns"]]):
        return False, f"the columns of {name} are {', '.join(are)}; right is {', '.join(types)}"
    return _compare(name, found, rows, abs)


def follows(final: FinalState, view: str, change: str, rows: list[list[Cell]]) -> Outcome:
    """A view has these rows once its tables have others: its rows are not written into it.

    Args:
        final: the final state.
        view: its full name.
        change: a statement in DuckDB's dialect that changes the tables; it is taken back.
        rows: the right rows then, in any order.
    """
    found = _asked(final, "follow", view=view, change=change)
    if "error" in found:
        return False, f"{view} cannot be read after {change}: {found['error']}"
    return _compare(f"{view} after {change}", found, rows)


def _compare(name: str, found: dict[str, Any], rows: list[list[Cell]], tolerance: float = 0.0) -> Outcome:
    places = [f"row {k}" for k in range(1, len(found["rows"]) + 1)]
    table = Table(name, [column for column, _ in found["columns"]], found["rows"], places)
    wrong = differences(table, rows, Rules(tolerance), ordered=False, more=False)
    return not wrong, f"{name}: {listed(wrong) or f'its {len(rows)} rows are right'}"


@with_baseline(lambda start, **_: {"fakesnow": _asked(start, "tables")})
def unchanged(final: FinalState, but: list[str] | None = None) -> Outcome:
    """The account's tables and views are as at the start, and there are no others.

    One that cannot be read, because it has more than 10,000 rows, say, counts as changed.

    Args:
        final: the final state.
        but: full names of those that do not count.
    """
    before, now = final.baseline("fakesnow"), _asked(final, "tables")
    unread = {name for name, found in now.items() if "error" in found}
    others = {name for name in {*before, *now} if _content(before, name) != _content(now, name)}
    names = sorted((others | unread) - {*(but or [])})
    return not names, f"fakesnow: changed, made or dropped beside {but or []}: {', '.join(names) or 'nothing'}"


def rows(final: FinalState, name: str, count: int, columns: list[str], types: list[str]) -> Outcome:
    """A table of the account has so many rows and these columns, whatever is in them.

    Args:
        final: the final state.
        name: of it, with database and schema.
        count: of the rows.
        columns: their names in order.
        types: of the columns, as DuckDB calls them; ``JSON`` is Snowflake's variant.
    """
    found = _asked(final, "tables").get(name)
    if found is None or "error" in found or found["kind"] != "table":
        return False, f"{name} is not there, no table, or cannot be read"
    are = [[column.upper(), type_.partition("(")[0]] for column, type_ in found["columns"]]
    right = [[column.upper(), type_] for column, type_ in zip(columns, types, strict=True)]
    said = f"{name} has {len(found['rows'])} rows and the columns {are}; right are {count} and {right}"
    return len(found["rows"]) == count and are == right, said


def staged(final: FinalState, stage: str, file: str, text: str) -> Outcome:
    """A stage has a file of this name with this text, packed or not, and no other.

    Args:
        final: the final state.
        stage: its full name: ``SHOP.PUBLIC.LANDING``.
        file: without ``.gz``.
        text: what is in it.
    """
    folder = stage.replace(".", "/") + "/"
    names = [name[len(folder) :] for name in _asked(final, "state")["files"] if name.startswith(folder)]
    if names not in ([file], [f"{file}.gz"]):
        return False, f"the stage {stage} has {names or 'no files'}; right is {file}"
    found = _asked(final, "staged", path=folder + names[0])["text"]
    return found == text, f"the stage's {names[0]} has {shown(found)}; right is {shown(text)}"


def _content(tables: dict[str, Any], name: str) -> Any:
    """What a table has, whatever the order of its rows."""
    found = tables.get(name)
    return found if found is None or "rows" not in found else {**found, "rows": sorted(map(str, found["rows"]))}


CHECKS: Mapping[str, CheckFunction] = {
    "fakesnow.table": table,
    "fakesnow.rows": rows,
    "fakesnow.follows": follows,
    "fakesnow.unchanged": unchanged,
    "fakesnow.staged": staged,
}
"""By the names that task files use."""
