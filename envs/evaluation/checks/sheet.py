"""Checks of what a workbook has beside its values: formulas, formats, charts, pivot tables. Values are for ``table``.

``in`` says which sheet: the path of an ``.xlsx`` file for its first one, or a mapping with ``path`` and ``sheet``.
Charts and pivot tables are looked for in all sheets where ``sheet`` is ``"*"``. What a sheet has is said at
``readers.spreadsheet``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.sheet_objects import Wanted, bare_reference, lacks_of
from deskgym.envs.evaluation.checks.state import lookup
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers.compare import listed
from deskgym.envs.evaluation.readers.recalculated import find_values
from deskgym.envs.evaluation.readers.table_source import (
    TableSource,
    column_name,
    find_sheet,
    parse_range,
    read_workbook,
)

MAX_CELLS = 100_000
_FUNCTION = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_REFERENCE = re.compile(r"(?:(?:'[^']+'|[\w.]+)!)?\$?[A-Z]{1,3}\$?\d+(?::\$?[A-Z]{1,3}\$?\d+)?")


def has(final: FinalState, in_: TableSource, at: str | list[str | int], that: Predicate) -> Outcome:
    """Something that a sheet has fits a predicate.

    Args:
        final: the final state.
        in_: the sheet.
        at: ``merged``, ``freeze``, ``filter.range``, ``hidden_rows``, ``hidden_columns``, ``widths``, ``state``,
            ``tables``, ``protected``, ``conditional``, ``validations``, ``charts``, ``pivots``, or a part of these.
        that: what it must be.

    Example:
        ```yaml
        - sheet.has: {in: /home/user/sales.xlsx, at: freeze, that: {equals: A2}}
        ```
    """
    value = lookup(find_sheet(final, in_), at)
    return that(value), f"{in_.name}: {at} is {shown(value)}; right is {that}"


def names(final: FinalState, in_: TableSource, that: Predicate) -> Outcome:
    """The names of the workbook's sheets, as a list in their order, fit a predicate.

    Args:
        final: the final state.
        in_: the workbook.
        that: what the list must be.

    Example:
        ```yaml
        - sheet.names: {in: /home/user/sales.xlsx, that: {contains: Summary}}
        ```
    """
    found = read_workbook(final, in_)["order"]
    return that(found), f"{in_.name}: its sheets are {shown(found)}; right is {that}"


def formula(
    final: FinalState,
    in_: TableSource,
    range: str,
    uses: list[str] | None = None,
    refers: list[str] | None = None,
    that: Predicate | None = None,
    absent: bool = False,
) -> Outcome:
    """Every cell of a range holds a formula.

    Args:
        final: the final state.
        in_: the sheet.
        range: such as ``D2:D13``.
        uses: functions that each formula must use, such as ``VLOOKUP``.
        refers: cells or ranges that each formula must refer to, with or without ``$``, such as ``Rates!A2:B9``;
            ``B#`` is the cell of column B in the formula's own row.
        that: what each formula's text, such as ``=B2*C2``, must be.
        absent: no cell of the range may hold a formula.

    Example:
        ```yaml
        - sheet.formula: {in: /home/user/sales.xlsx, range: D2:D13, uses: [ROUND], refers: ['B#', 'C#']}
        ```
    """
    wrong = []
    for row, place, cell in _cells(find_sheet(final, in_), range):
        text = cell["formula"]
        if absent or text is None:
            if absent != (text is None):
                wrong.append(f"{place} is {text}" if text else f"{place} holds {shown(cell['value'])}, no formula")
            continue
        bare = re.sub(r'"[^"]*"', "", text)
        used = {name.upper().replace("_XLFN.", "").replace("_XLWS.", "") for name in _FUNCTION.findall(bare)}
        seen = {bare_reference(found) for found in _REFERENCE.findall(bare)}
        wanted = [bare_reference(ref.replace("#", str(row))) for ref in refers or []]
        lacks = [f"no {name}" for name in uses or [] if name.upper() not in used]
        lacks += [f"no reference to {ref}" for ref in wanted if ref not in seen]
        if that is not None and not that(text):
            lacks.append(f"right is {that}")
        if lacks:
            wrong.append(f"{place} is {text}: {', '.join(lacks)}")
    return not wrong, f"{in_.name}, {range}: {listed(wrong) or 'right'}"


def cells(final: FinalState, in_: TableSource, range: str, has: dict[str, Wanted]) -> Outcome:
    """Every cell of a range has these properties.

    Args:
        final: the final state.
        in_: the sheet.
        range: such as ``A1:D1``.
        has: ``type`` (text, number, boolean, date, error, empty), ``format`` (the number format's code), ``bold``,
            ``italic``, ``underline``, ``strike``, ``font``, ``size``, ``color``, ``fill`` (as ``#rrggbb``),
            ``horizontal``, ``vertical``, ``wrap``, ``border`` (sides and their styles).

    Example:
        ```yaml
        - sheet.cells: {in: /home/user/sales.xlsx, range: A1:D1, has: {bold: true, fill: '#ffff00'}}
        ```
    """
    wrong = []
    for _, place, cell in _cells(find_values(final, in_, range), range):
        bad = lacks_of({**cell["style"], "type": cell["type"]}, has)
        if bad:
            wrong.append(f"{place}: {', '.join(bad)}")
    return not wrong, f"{in_.name}, {range}: {listed(wrong) or 'right'}"


def _cells(sheet: Mapping[str, Any], area: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Row, place and what is known of each cell of a range."""
    top, left, bottom, right = parse_range(area)
    if (bottom - top + 1) * (right - left + 1) > MAX_CELLS:
        raise CheckFailed(f"{area} has more than {MAX_CELLS} cells")
    filled = {(cell[0], cell[1]): cell for cell in sheet["cells"]}
    for row in range(top, bottom + 1):
        for column in range(left, right + 1):
            _, _, value, kind, text, style = filled.get((row, column), (row, column, None, "empty", None, None))
            known = {"value": value, "type": kind, "formula": text}
            yield (
                row,
                f"{column_name(column)}{row}",
                {**known, "style": {} if style is None else sheet["styles"][style]},
            )


CHECKS: Mapping[str, CheckFunction] = {
    "sheet.has": has,
    "sheet.names": names,
    "sheet.formula": formula,
    "sheet.cells": cells,
}
