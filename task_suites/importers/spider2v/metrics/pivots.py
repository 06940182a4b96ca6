"""The pivot tables of a sheet, read from the file's own parts: fields, hidden items, functions and source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.table_source import parse_range
from deskgym.task_suites.importers.spider2v.metrics.judging import GoldBroken
from deskgym.task_suites.importers.spider2v.metrics.workbooks import Workbook

PROPERTIES = ("filter", "col_fields", "row_fields", "data_fields")
_VALUES = -2  # the number of the field that stands for the names of several values

Item = tuple[bool | None, int]
"""Whether an item is hidden, and its number among the shared ones."""


@dataclass(frozen=True)
class Pivot:
    """A pivot table.

    Attributes:
        sheet: where its data are.
        area: their first row and column, and last row and column.
        names: of the data's columns.
        shared: the items of each column, as texts.
        items: by column, those that the table knows.
        rows: numbers of columns, in order; ``columns`` and ``filters`` too.
        values: column, function and how it is shown, for each value.
    """

    sheet: str
    area: tuple[int, int, int, int]
    names: Sequence[str]
    shared: Sequence[Sequence[str]]
    items: Sequence[Sequence[Item]]
    rows: Sequence[int]
    columns: Sequence[int]
    filters: Sequence[int]
    values: Sequence[tuple[int, str, str]]

    @property
    def unused(self) -> tuple[int, int]:
        """How many columns on the left and on the right have no items."""
        used = [k for k, items in enumerate(self.items) if items]
        return (used[0], len(self.items) - 1 - used[-1]) if used else (len(self.items), 0)

    def as_upstream(self, wanted: Sequence[str]) -> tuple[object, object]:
        """What upstream compares: the source without unused columns, and the properties by numbers of columns."""
        left, right = self.unused
        top, first, bottom, last = self.area
        found: dict[str, object] = {}
        if "filter" in wanted:
            used = self.items[left : len(self.items) - right]
            found["selection"] = tuple(frozenset(items) for items in used)
            found["filters"] = frozenset(self.filters)
        if "col_fields" in wanted:
            found["columns"] = tuple(k - left for k in self.columns)
        if "row_fields" in wanted:
            found["rows"] = tuple(k - left for k in self.rows)
        if "data_fields" in wanted:
            found["values"] = tuple((k - left, function, shown) for k, function, shown in self.values)
        return (top, first + left, bottom, last - right, self.sheet), tuple(sorted(found.items()))

    def by_names(self, wanted: Sequence[str]) -> object:
        """The same by the names of columns, with the hidden items of those that the table uses."""
        found: dict[str, object] = {"source": (self.sheet.casefold(), self.area[0], self.area[2])}
        if "filter" in wanted:
            used = {*self.rows, *self.columns, *self.filters} - {_VALUES}
            hidden = {(self._name(k), item) for k in used for item in self._hidden(k)}
            found["filter"] = (frozenset(self._name(k) for k in self.filters), frozenset(hidden))
        if "col_fields" in wanted:
            found["columns"] = tuple(self._name(k) for k in self.columns if k != _VALUES)
        if "row_fields" in wanted:
            found["rows"] = tuple(self._name(k) for k in self.rows if k != _VALUES)
        if "data_fields" in wanted:
            found["values"] = tuple((self._name(k), function, shown) for k, function, shown in self.values)
        return tuple(sorted(found.items()))

    def _name(self, number: int) -> str:
        return self.names[number].strip() if 0 <= number < len(self.names) else str(number)

    def _hidden(self, number: int) -> list[str]:
        shared = self.shared[number] if 0 <= number < len(self.shared) else ()
        items = self.items[number] if 0 <= number < len(self.items) else ()
        return [shared[k] if 0 <= k < len(shared) else str(k) for hidden, k in items if hidden]


def pivots_differ(
    found: tuple[Workbook, str], right: tuple[Workbook, str], wanted: Sequence[str], corrected: bool
) -> str:
    """How the pivot tables of two sheets differ, or ``""``; corrected: by names, whatever the source's columns."""
    if unknown := set(wanted) - set(PROPERTIES):
        raise GoldBroken(f"pivot_props has {sorted(unknown)}: legal are {', '.join(PROPERTIES)}")
    tables, golds = read_pivots(*found), read_pivots(*right)
    if corrected:
        pair = [Counter(pivot.by_names(wanted) for pivot in pivots) for pivots in (tables, golds)]
        return "" if pair[0] == pair[1] else f"its pivot tables are {list(pair[0])}, right are {list(pair[1])}"
    dicts = [dict(pivot.as_upstream(wanted) for pivot in pivots) for pivots in (tables, golds)]
    return "" if dicts[0] == dicts[1] else f"its pivot tables are {dicts[0]}, right are {dicts[1]}"


def read_pivots(book: Workbook, sheet: str) -> list[Pivot]:
    """The pivot tables of a sheet. Raises CheckFailed."""
    found = []
    for part in book.related(book.part_of(sheet), "pivotTable").values():
        table = book.part(part)
        cache = next((book.part(one) for one in book.related(part, "pivotCacheDefinition").values()), None)
        if table is None or cache is None:
            raise CheckFailed(f"a pivot table of {sheet!r} has no source")
        try:
            found.append(_pivot(table, cache))
        except (ValueError, TypeError, LookupError) as error:
            raise CheckFailed(f"a pivot table of {sheet!r} cannot be read: {error}") from None
    return found


def _pivot(table: Element, cache: Element) -> Pivot:
    source = _each(cache, "worksheetSource")[0]
    fields = list(_each(cache, "cacheField"))
    return Pivot(
        source.get("sheet", ""),
        parse_range(source.get("ref", "")),
        [field.get("name", "") for field in fields],
        [[item.get("v", "") for one in _each(field, "sharedItems") for item in one] for field in fields],
        [[(_flag(item.get("h")), int(item.get("x", ""))) for item in _each(field, "item") if item.get("x")]
         for field in _each(table, "pivotField")],
        _numbers(table, "rowFields", "x"), _numbers(table, "colFields", "x"), _numbers(table, "pageFields", "fld"),
        [(int(one.get("fld", "")), one.get("subtotal", "sum"), one.get("showDataAs", "normal"))
         for one in _each(table, "dataField")],
    )  # fmt: skip


def _each(element: Element, name: str) -> list[Element]:
    return [one for one in element.iter() if one.tag.endswith(f"}}{name}")]


def _numbers(table: Element, name: str, key: str) -> list[int]:
    return [int(one.get(key, "")) for fields in _each(table, name) for one in fields]


def _flag(text: str | None) -> bool | None:
    return None if text is None else text in ("1", "true")
