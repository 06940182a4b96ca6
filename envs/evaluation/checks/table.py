"""Checks of tables: in workbooks, text files, Parquet files and databases that the agent left.

``in`` says where the table is: a path, or a mapping of ``TableSource``'s attributes. How cells are compared is said at
``readers.compare.Rules``. What the right rows are may be written inline, be in a file beside the task (``like``), or be
computed: ``rows: "{gold}"`` takes what a registered function gave for the parameter ``gold``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers.compare import Cell, Rules, differences, kind, listed
from deskgym.envs.evaluation.readers.table_source import TableSource, parse_range
from deskgym.envs.evaluation.readers.tables import Table, cell_value, read_sheet, read_table


def table(
    final: FinalState,
    in_: TableSource,
    rows: list[list[Cell] | dict[str, Cell]] | None = None,
    like: TableSource | None = None,
    columns: list[str] | None = None,
    ordered: bool = True,
    more: bool = False,
    abs: float = 0.0,
    rel: float = 1e-9,
    loose: bool = False,
) -> Outcome:
    """A table's rows are these.

    Args:
        final: the final state.
        in_: the agent's table.
        rows: the right rows: lists in the order of ``columns``, or mappings by column; a cell may be a predicate.
        like: in place of ``rows``, where a table with the right rows is.
        columns: the columns that are compared; all of the agent's if left out, and then their names and order count
            where ``like`` is given.
        ordered: false: in any order.
        more: true: the agent's table may have other rows too.
        abs: tolerance of numbers.
        rel: the same as a share of the right number.
        loose: texts are compared without case and spacing, and the text of a number is taken for it.

    Example:
        ```yaml
        - table:
            in: {path: /home/user/sales.xlsx, sheet: Summary, range: A3:C9}
            columns: [Region, Total]
            rows: [[North, 120.5], [South, {between: [80, 90]}]]
            ordered: false
            abs: 0.01
        ```
    """
    got = read_table(final, in_)
    if (rows is None) == (like is None):
        raise ValueError("a table is compared either with rows or with what it is like")
    typed, right = True, rows or []
    if like is not None:
        reference = read_table(final, like)
        if columns is None and [*map(str.casefold, got.columns)] != [*map(str.casefold, reference.columns)]:
            return False, f"{got.name}: its columns are {shown(got.columns)}; right are {shown(reference.columns)}"
        reference = reference.pick(columns or reference.columns) if columns else reference
        typed, right = reference.typed, [list(row) for row in reference.rows]
    elif columns is None and right and isinstance(right[0], Mapping):
        columns = list(right[0])
    got = got.pick(columns) if columns is not None else got
    wanted = [_in_columns(row, got) for row in right]
    wanted = [[cell_value(cell, typed) for cell in row] for row in wanted]
    wrong = differences(got, wanted, Rules(abs, rel, loose), ordered, more)
    return not wrong, f"{got.name}: {listed(wrong) or f'its {len(got.rows)} rows are right'}"


def _in_columns(row: Any, got: Table) -> list[Any]:
    """A right row as a list in the order of the agent's columns."""
    if isinstance(row, Mapping):
        if set(row) != set(got.columns):
            raise ValueError(f"the right row {shown(row)} is not of the columns {shown(list(got.columns))}")
        return [row[name] for name in got.columns]
    if len(row) != len(got.columns):
        raise CheckFailed(
            f"{got.name}: it has {len(got.columns)} columns, {shown(list(got.columns))}; right are {len(row)}"
        )
    return list(row)


def cell(
    final: FinalState, in_: TableSource, that: Predicate, at: str | None = None, column: str | None = None
) -> Outcome:
    """One cell fits a predicate: the one ``at`` a place, or that of a ``column`` in the only row of ``in``.

    In a text file, what reads as a number is one. An empty cell is null.

    Args:
        final: the final state.
        in_: the agent's table; ``where`` chooses the row.
        that: what the cell must be.
        at: such as ``B7``.
        column: its name.

    Example:
        ```yaml
        - table.cell:
            in: {path: /home/user/sales.xlsx, where: {Region: {equals: North}}}
            column: Total
            that: {close: {to: 120.5, abs: 0.01}}
        ```
    """
    if (at is None) == (column is None):
        raise ValueError("a cell is named either by its place (at) or by its column")
    if at is not None:
        cells = read_sheet(final, in_)
        value = cells.values.get(parse_range(at)[:2])
        typed, where = cells.typed, f"{in_.name}, {at}"
    else:
        got = read_table(final, in_).pick([column or ""])
        if len(got.rows) != 1:
            return False, f"{got.name}: {len(got.rows)} rows were found, right is one"
        value, typed, where = got.rows[0][0], got.typed, f"{got.name}, {got.places[0]}, column {column!r}"
    value = cell_value(value, typed)
    return that(value), f"{where} is {kind(value)}; right is {that}"


def column(final: FinalState, in_: TableSource, column: str, that: Predicate) -> Outcome:
    """A column's values, as a list from top to bottom, fit a predicate.

    Args:
        final: the final state.
        in_: the agent's table.
        column: its name.
        that: what the list must be.

    Example:
        ```yaml
        - table.column:
            in: /home/user/clean.csv
            column: Date
            that: {each: {matches: '[0-9]{4}-[0-9]{2}-[0-9]{2}'}}
        ```
    """
    got = read_table(final, in_).pick([column])
    values = [cell_value(row[0], got.typed) for row in got.rows]
    wrong = [f"{place} is {kind(v)}" for place, v in zip(got.places, values, strict=True) if not that([v])]
    each = isinstance(that.data, Mapping) and list(that.data) == ["each"]
    return that(values), f"{got.name}, column {column!r}: {listed(wrong) if each else shown(values)}; right is {that}"


def header(final: FinalState, in_: TableSource, that: Predicate) -> Outcome:
    """The names of the columns, as a list, fit a predicate.

    Args:
        final: the final state.
        in_: the agent's table.
        that: what the list must be.

    Example:
        ```yaml
        - table.header: {in: /home/user/clean.csv, that: {equals: [Name, Date, Amount]}}
        ```
    """
    got = read_table(final, in_)
    return that(list(got.columns)), f"{got.name}: its columns are {shown(list(got.columns))}; right is {that}"


def count(final: FinalState, in_: TableSource, that: Predicate) -> Outcome:
    """The number of rows below the header fits a predicate; ``where`` in the source says which rows count.

    Args:
        final: the final state.
        in_: the agent's table.
        that: what the number must be.

    Example:
        ```yaml
        - table.count:
            in: {path: /home/user/shop.db, table: orders, where: {status: {equals: open}}}
            that: {equals: 3}
        ```
    """
    got = read_table(final, in_)
    return that(len(got.rows)), f"{got.name}: it has {len(got.rows)} rows; right is {that}"


def sorted_(final: FinalState, in_: TableSource, by: list[str], descending: bool = False) -> Outcome:
    """The rows are in order of these columns: numbers by value, before texts without regard to case; empty cells last.

    That no row is lost is for another check.

    Args:
        final: the final state.
        in_: the agent's table.
        by: the columns, the most important one first; ``-Total`` is the other way round than the rest.
        descending: from the largest to the smallest.

    Example:
        ```yaml
        - table.sorted: {in: /home/user/sales.xlsx, by: [Region, -Total]}
        ```
    """
    got = read_table(final, in_)
    order = [(got.index(name.removeprefix("-")), descending != name.startswith("-")) for name in by]
    for k, (first, second) in enumerate(zip(got.rows, got.rows[1:], strict=False)):
        for index, down in order:
            a, b = _rank(first[index], got.typed), _rank(second[index], got.typed)
            if a == b:
                continue
            empty = a[0] == 2 or b[0] == 2
            if a > b if empty or not down else a < b:
                return False, (
                    f"{got.name}: {got.columns[index]!r} is {kind(first[index])} in {got.places[k]} and "
                    f"{kind(second[index])} in {got.places[k + 1]}, which belongs above it"
                )
            break
    return True, f"{got.name}: its {len(got.rows)} rows are sorted by {', '.join(by)}"


def _rank(value: Any, typed: bool) -> tuple[int, Any]:
    number = cell_value(value, typed)
    if isinstance(number, (int, float)):
        return 0, number
    return (2, "") if value in (None, "") else (1, str(value).casefold())


CHECKS: Mapping[str, CheckFunction] = {
    "table": table,
    "table.cell": cell,
    "table.column": column,
    "table.header": header,
    "table.count": count,
    "table.sorted": sorted_,
}
