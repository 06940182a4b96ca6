"""Checks of what a workbook has beside its values: formulas, formats, charts, pivot tables. Values are for ``table``.

``in`` says which sheet: the path of an ``.xlsx`` file for its first one, or a mapping with ``path`` and ``sheet``.
Charts and pivot tables are looked for in all sheets where ``sheet`` is ``"*"``. What a sheet has is said at
``readers.spreadsheet``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.state import lookup
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction
from deskgym.envs.evaluation.predicates import Predicate, plain, same
from deskgym.envs.evaluation.readers.compare import listed
from deskgym.envs.evaluation.readers.tables import TableSource, column_name, find_sheet, parse_range, read_workbook

Outcome = tuple[bool, str]
Wanted = Predicate | bool | float | str | None
"""A property as a task file writes it: a predicate or a value; texts are compared without case and spacing."""

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
        seen = {_bare(found) for found in _REFERENCE.findall(bare)}
        wanted = [_bare(ref.replace("#", str(row))) for ref in refers or []]
        lacks = [f"no {name}" for name in uses or [] if name.upper() not in used]
        lacks += [f"no reference to {ref}" for ref in wanted if ref not in seen]
        if that is not None and not that(text):
            lacks.append(f"right is {that}")
        if lacks:
            wrong.append(f"{place} is {text}: {', '.join(lacks)}")
    return not wrong, f"{in_.name}, {range}: {listed(wrong) or 'right'}"


def _bare(reference: str) -> str:
    return reference.replace("$", "").replace("'", "").casefold()


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
    for _, place, cell in _cells(find_sheet(final, in_), range):
        bad = _lacks({**cell["style"], "type": cell["type"]}, has)
        if bad:
            wrong.append(f"{place}: {', '.join(bad)}")
    return not wrong, f"{in_.name}, {range}: {listed(wrong) or 'right'}"


def conditional(
    final: FinalState,
    in_: TableSource,
    range: str,
    type: str | None = None,
    operator: str | None = None,
    values: list[Wanted] | None = None,
    has: dict[str, Wanted] | None = None,
) -> Outcome:
    """A conditional format covers a range.

    Args:
        final: the final state.
        in_: the sheet.
        range: the cells that it must cover; it may cover more.
        type: ``cellIs``, ``expression``, ``colorScale``, ``dataBar``, ``iconSet``, ``top10``, ``aboveAverage``,
            ``containsText``, ``duplicateValues``, ...
        operator: of ``cellIs``: ``greaterThan``, ``lessThan``, ``between``, ``equal``, ...
        values: its formulas; a number is compared as one.
        has: ``fill``, ``color``, ``bold``, ``rank``, ``text``, ``icons``, ... see ``readers.spreadsheet.rule_data``.

    Example:
        ```yaml
        - sheet.conditional:
            in: /home/user/sales.xlsx
            range: C2:C13
            type: cellIs
            operator: greaterThan
            values: [1000]
            has: {fill: {not: {equals: {to: null}}}}
        ```
    """
    return _rule(
        final, in_, "conditional", "conditional format", range, {"type": type, "operator": operator}, values, has
    )


def validation(
    final: FinalState,
    in_: TableSource,
    range: str,
    type: str | None = None,
    operator: str | None = None,
    values: list[Wanted] | None = None,
    has: dict[str, Wanted] | None = None,
) -> Outcome:
    """A data validation covers a range.

    Args:
        final: the final state.
        in_: the sheet.
        range: the cells that it must cover; it may cover more.
        type: ``list``, ``whole``, ``decimal``, ``date``, ``textLength``, ``custom``.
        operator: ``between``, ``greaterThan``, ...
        values: its formulas; a number is compared as one.
        has: ``list`` (the entries), ``title``, ``message``, ``prompt``, ``stop``, ``blank``.

    Example:
        ```yaml
        - sheet.validation: {in: /home/user/sales.xlsx, range: B2:B9, type: whole, operator: between, values: [1, 10]}
        ```
    """
    return _rule(final, in_, "validations", "data validation", range, {"type": type, "operator": operator}, values, has)


def _rule(
    final: FinalState, source: TableSource, key: str, noun: str, area: str, given: Mapping[str, Wanted],
    values: Sequence[Wanted] | None, has: Mapping[str, Wanted] | None,
) -> Outcome:  # fmt: skip
    def lacks(rule: Mapping[str, Any]) -> list[str]:
        bad = [] if _covers(rule["range"], area) else [f"range is {rule['range']}, not {area}"]
        bad += _lacks(rule, {name: want for name, want in given.items() if want is not None} | dict(has or {}))
        found = [_number(text) for text in rule["formulas"]]
        if values is not None and not (len(found) == len(values) and all(map(_fits, found, values))):
            bad.append(f"values are {shown(found)}, not {shown(list(values))}")
        return bad

    return _some(source, noun, find_sheet(final, source).get(key, []), lacks)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text.strip('"')


def _covers(ranges: str, area: str) -> bool:
    """Whether one of several ranges has all cells of another one."""
    top, left, bottom, right = parse_range(area)
    boxes = [parse_range(part) for part in ranges.split()]
    return any(box[0] <= top and box[1] <= left and box[2] >= bottom and box[3] >= right for box in boxes)


@dataclass(frozen=True)
class Series:
    """A series of a chart.

    Attributes:
        values: the range of its values, such as ``B2:B13`` or ``Sheet1!B2:B13``.
        categories: the range of its categories, or of a scatter chart's x values.
        title: its name.
    """

    values: str
    categories: str | None = None
    title: Predicate | str | None = None


def chart(
    final: FinalState,
    in_: TableSource,
    type: str | None = None,
    title: Predicate | str | None = None,
    series: list[Series] | None = None,
    x_title: Predicate | str | None = None,
    y_title: Predicate | str | None = None,
    has: dict[str, Wanted] | None = None,
) -> Outcome:
    """The sheet has such a chart.

    Args:
        final: the final state.
        in_: the sheet, or all with ``sheet: "*"``.
        type: ``column``, ``bar`` (lying), ``line``, ``pie``, ``area``, ``scatter``, ``doughnut``, ``radar``.
        title: of the chart.
        series: all of its series, in any order; ranges are compared without ``$``, and without the sheet's name where
            none is given here.
        x_title: of the horizontal axis.
        y_title: of the vertical axis.
        has: ``legend`` (r, l, t, b), ``grouping`` (stacked, percentStacked, clustered, standard).

    Example:
        ```yaml
        - sheet.chart:
            in: {path: /home/user/sales.xlsx, sheet: '*'}
            type: column
            title: Sales by region
            series: [{values: 'B2:B13', categories: 'A2:A13'}]
        ```
    """
    fields = {"type": type, "title": title, "x_title": x_title, "y_title": y_title}
    wanted = {name: want for name, want in fields.items() if want is not None} | dict(has or {})

    def lacks(chart: Mapping[str, Any]) -> list[str]:
        bad = _lacks(chart, wanted)
        left = list(chart["series"])
        for one in series or []:
            found = next((item for item in left if _is_series(item, one)), None)
            if found is None:
                bad.append(f"no series is {one.values}" + (f" over {one.categories}" if one.categories else ""))
            else:
                left.remove(found)
        if series is not None and (left or bad):
            found = [(item["values"], item["categories"], item["title"]) for item in chart["series"]]
            bad.append(f"its series (values, categories, title) are {shown(found, 300)}")
        return bad

    return _some(in_, "chart", [chart for sheet in _sheets(final, in_) for chart in sheet.get("charts", [])], lacks)


def _is_series(item: Mapping[str, Any], wanted: Series) -> bool:
    return (
        _same_range(item["values"], wanted.values)
        and (wanted.categories is None or _same_range(item["categories"], wanted.categories))
        and (wanted.title is None or _fits(item["title"], wanted.title))
    )


def _same_range(got: str | None, right: str) -> bool:
    got, right = _bare(got or ""), _bare(right)
    return got == right if "!" in right else got.rpartition("!")[2] == right


def pivot(
    final: FinalState,
    in_: TableSource,
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    values: list[dict[str, str]] | None = None,
    filters: list[str] | None = None,
    source: str | None = None,
) -> Outcome:
    """The sheet has such a pivot table.

    Args:
        final: the final state.
        in_: the sheet, or all with ``sheet: "*"``.
        rows: the names of the row fields, in order.
        columns: of the column fields.
        values: of the data fields, each ``{field: Amount, function: sum}`` (count, average, max, min, ...).
        filters: of the page fields.
        source: the range of its data, such as ``Sheet1!A1:D99``.

    Example:
        ```yaml
        - sheet.pivot:
            in: {path: /home/user/sales.xlsx, sheet: '*'}
            rows: [Region]
            values: [{field: Amount, function: sum}]
            source: Sales!A1:D99
        ```
    """

    def lacks(pivot: Mapping[str, Any]) -> list[str]:
        bad = []
        for name, want in (("rows", rows), ("columns", columns), ("filters", filters)):
            if want is not None and [*map(plain, pivot[name])] != [*map(plain, want)]:
                bad.append(f"{name} are {shown(pivot[name])}, not {shown(want)}")
        found = [(plain(item["field"]), item["function"]) for item in pivot["values"]]
        if values is not None and found != [(plain(v["field"]), v.get("function", "sum")) for v in values]:
            bad.append(f"values are {shown(found)}, not {shown(values)}")
        if source is not None and not _same_range(pivot["source"], source):
            bad.append(f"source is {pivot['source']}, not {source}")
        return bad

    return _some(in_, "pivot table", [item for sheet in _sheets(final, in_) for item in sheet.get("pivots", [])], lacks)


def _sheets(final: FinalState, source: TableSource) -> list[Mapping[str, Any]]:
    return read_workbook(final, source)["sheets"] if source.sheet == "*" else [find_sheet(final, source)]


def _some(
    source: TableSource, noun: str, items: Sequence[Mapping[str, Any]], lacks: Callable[[Mapping[str, Any]], list[str]]
) -> Outcome:
    """Whether one of the items lacks nothing; the message says what the one lacks that is nearest."""
    found = [[f"it cannot be read: {item['unreadable']}"] if "unreadable" in item else lacks(item) for item in items]
    if not found:
        return False, f"{source.name}: there is no {noun}" + ("" if source.sheet == "*" else f" on {source.sheet!r}")
    nearest = min(found, key=len)
    more = f"; the nearest of {len(found)}" if len(found) > 1 else ""
    return not nearest, f"{source.name}: {noun}: {listed(nearest) or 'right'}{more if nearest else ''}"


def _lacks(item: Mapping[str, Any], wanted: Mapping[str, Wanted]) -> list[str]:
    """Which properties are not as wanted."""
    return [
        f"{name} is {shown(item.get(name))}, not {want if isinstance(want, Predicate) else repr(want)}"
        for name, want in wanted.items()
        if not _fits(item.get(name), want)
    ]


def _fits(value: Any, want: Wanted) -> bool:
    if isinstance(want, Predicate):
        return want(value)
    if isinstance(value, str) and isinstance(want, str):
        return plain(value) == plain(want)
    return not value if want is None or want is False else same(value, want)


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
    "sheet.conditional": conditional,
    "sheet.validation": validation,
    "sheet.chart": chart,
    "sheet.pivot": pivot,
}
