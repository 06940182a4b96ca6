"""Checks of what lies on a workbook's sheets: conditional formats, data validations, charts and pivot tables.

Each looks for one thing that is as wanted, and says of the nearest one what it lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFunction, Outcome
from deskgym.envs.evaluation.predicates import Predicate, plain, same
from deskgym.envs.evaluation.readers.compare import Cell, Rules, differences, listed
from deskgym.envs.evaluation.readers.table_source import TableSource, find_sheet, parse_range, read_workbook
from deskgym.envs.evaluation.readers.tables import read_table

MIN_CHART = 32  # pixels each way
Wanted = Predicate | bool | float | str | None
"""A property as a task file writes it: a predicate or a value; texts are compared without case and spacing."""


def conditional(
    final: FinalState,
    in_: TableSource,
    range: str,
    type: str | None = None,
    operator: str | None = None,
    values: list[Wanted] | None = None,
    has: dict[str, Wanted] | None = None,
    only: bool = False,
) -> Outcome:
    """A conditional format covers a range.

    Args:
        final: the final state.
        in_: the sheet.
        range: the cells that it must cover; it may cover more, if not ``only``.
        type: ``cellIs``, ``expression``, ``colorScale``, ``dataBar``, ``iconSet``, ``top10``, ``aboveAverage``,
            ``containsText``, ``duplicateValues``, ...
        operator: of ``cellIs``: ``greaterThan``, ``lessThan``, ``between``, ``equal``, ...
        values: its formulas; a number is compared as one.
        has: ``fill``, ``color``, ``bold``, ``rank``, ``text``, ``icons``, ... see ``readers.spreadsheet.rule_data``.
        only: it covers no other cells, and the sheet has no other one, which could undo it.

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
    given = {"type": type, "operator": operator}
    return _rule(final, in_, "conditional", "conditional format", range, given, values, has, only)


def validation(
    final: FinalState,
    in_: TableSource,
    range: str,
    type: str | None = None,
    operator: str | None = None,
    values: list[Wanted] | None = None,
    has: dict[str, Wanted] | None = None,
    only: bool = False,
) -> Outcome:
    """A data validation covers a range.

    Args:
        final: the final state.
        in_: the sheet.
        range: the cells that it must cover; it may cover more, if not ``only``.
        type: ``list``, ``whole``, ``decimal``, ``date``, ``textLength``, ``custom``.
        operator: ``between``, ``greaterThan``, ...
        values: its formulas; a number is compared as one.
        has: ``list`` (the entries), ``title``, ``message``, ``prompt``, ``stop``, ``blank``.
        only: it covers no other cells, and the sheet has no other one.

    Example:
        ```yaml
        - sheet.validation: {in: /home/user/sales.xlsx, range: B2:B9, type: whole, operator: between, values: [1, 10]}
        ```
    """
    given = {"type": type, "operator": operator}
    return _rule(final, in_, "validations", "data validation", range, given, values, has, only)


def _rule(
    final: FinalState, source: TableSource, key: str, noun: str, area: str, given: Mapping[str, Wanted],
    values: Sequence[Wanted] | None, has: Mapping[str, Wanted] | None, only: bool,
) -> Outcome:  # fmt: skip
    def lacks(rule: Mapping[str, Any]) -> list[str]:
        covered = _covers(rule["range"], area) and not (only and not _covers(area, rule["range"]))
        bad = [] if covered else [f"range is {rule['range']}, not {area}"]
        bad += lacks_of(rule, {name: want for name, want in given.items() if want is not None} | dict(has or {}))
        found = [_number(text) for text in rule["formulas"]]
        if values is not None and not (len(found) == len(values) and all(map(_fits, found, values))):
            bad.append(f"values are {shown(found)}, not {shown(list(values))}")
        return bad

    return _some(source, noun, find_sheet(final, source).get(key, []), lacks, only)


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text.strip('"')


def _covers(ranges: str, areas: str) -> bool:
    """Whether each of some areas lies in one of several ranges."""
    boxes = [parse_range(part) for part in ranges.split()]
    return all(
        any(box[0] <= top and box[1] <= left and box[2] >= bottom and box[3] >= right for box in boxes)
        for top, left, bottom, right in map(parse_range, areas.split())
    )


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
    only: bool = False,
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
        only: there is no other chart.

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
        bad = lacks_of(chart, wanted)
        if min(chart["size"]) < MIN_CHART:
            bad.append("it is too small to be seen")
        if type is not None and len(chart["types"]) > 1:
            bad.append(f"it mixes the types {shown(chart['types'])}")
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

    charts = [chart for sheet in _sheets(final, in_) for chart in sheet.get("charts", [])]
    return _some(in_, "chart", charts, lacks, only)


def _is_series(item: Mapping[str, Any], wanted: Series) -> bool:
    return (
        _same_range(item["values"], wanted.values)
        and (wanted.categories is None or _same_range(item["categories"], wanted.categories))
        and (wanted.title is None or _fits(item["title"], wanted.title))
    )


def _same_range(got: str | None, right: str) -> bool:
    got, right = bare_reference(got or ""), bare_reference(right)
    return got == right if "!" in right else got.rpartition("!")[2] == right


def pivot(
    final: FinalState,
    in_: TableSource,
    rows: list[str] | None = None,
    columns: list[str] | None = None,
    values: list[dict[str, str]] | None = None,
    filters: list[str] | None = None,
    source: str | None = None,
    shows: list[list[Cell]] | None = None,
    only: bool = False,
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
        shows: rows that stand in its cells, in this order.
        only: there is no other pivot table.

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
        if shows is not None:
            table = read_table(final, replace(in_, sheet=pivot["sheet"], range=pivot["range"], header=False))
            if any(len(row) != len(table.columns) for row in shows):
                bad.append(f"it has {len(table.columns)} columns of cells, not {len(shows[0])}")
            else:
                bad += differences(table, shows, Rules(), ordered=True, more=True)
        return bad

    pivots = [{**item, "sheet": sheet["name"]} for sheet in _sheets(final, in_) for item in sheet.get("pivots", [])]
    return _some(in_, "pivot table", pivots, lacks, only)


def _sheets(final: FinalState, source: TableSource) -> list[Mapping[str, Any]]:
    if source.sheet != "*":
        return [find_sheet(final, source)]
    return [sheet for sheet in read_workbook(final, source)["sheets"] if source.hidden or sheet["state"] == "visible"]


def _some(
    source: TableSource, noun: str, items: Sequence[Mapping[str, Any]],
    lacks: Callable[[Mapping[str, Any]], list[str]], only: bool,
) -> Outcome:  # fmt: skip
    """Whether one of the items lacks nothing; the message says what the one lacks that is nearest."""
    found = [[f"it cannot be read: {item['unreadable']}"] if "unreadable" in item else lacks(item) for item in items]
    if not found:
        return False, f"{source.name}: there is no {noun}" + ("" if source.sheet == "*" else f" on {source.sheet!r}")
    if only and len(found) > 1:
        return False, f"{source.name}: it has {len(found)} of the kind {noun}; right is one"
    nearest = min(found, key=len)
    more = f"; the nearest of {len(found)}" if len(found) > 1 else ""
    return not nearest, f"{source.name}: {noun}: {listed(nearest) or 'right'}{more if nearest else ''}"


def lacks_of(item: Mapping[str, Any], wanted: Mapping[str, Wanted]) -> list[str]:
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


def bare_reference(reference: str) -> str:
    """A reference without what does not matter: ``$``, quotes and case."""
    return reference.replace("$", "").replace("'", "").casefold()


CHECKS: Mapping[str, CheckFunction] = {
    "sheet.conditional": conditional,
    "sheet.validation": validation,
    "sheet.chart": chart,
    "sheet.pivot": pivot,
}
