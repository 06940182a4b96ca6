"""The charts of a sheet: what they show, and their type, title and legend."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from deskgym.task_suites.importers.spider2v.metrics.judging import GoldBroken
from deskgym.task_suites.importers.spider2v.metrics.workbooks import REFERENCE, Workbook

PROPERTIES = ("type", "title", "legend")
_DIRECTION = re.compile(r"\bhorizontal\b|\bcolumn charts?\b", re.IGNORECASE)
_GROUPING = re.compile(r"\bstacked\b", re.IGNORECASE)
_OF_PIVOT = re.compile(r"\Apt@(data )?")
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"

Sheet = tuple[Workbook, str]


def charts_differ(found: Sheet, right: Sheet, wanted: Sequence[str], instruction: str, corrected: bool) -> str:
    """How the charts of two sheets differ, or ``""``.

    Upstream knows a chart by the ranges that it shows, and cannot tell bars from columns. Corrected: the direction and
    the stacking count where the instruction names them, and so do two charts of the same ranges.
    """
    if unknown := set(wanted) - set(PROPERTIES):
        raise GoldBroken(f"chart_props has {sorted(unknown)}: legal are {', '.join(PROPERTIES)}")
    if not corrected:
        charts, golds = (
            [_as_upstream(one, wanted) for one in book.sheet(name)["charts"]] for book, name in (found, right)
        )
        return "" if set(charts) == set(golds) else f"its charts are {charts}, right are {golds}"
    also = [*(["direction"] if "type" in wanted and _DIRECTION.search(instruction) else ()),
            *(["grouping"] if "type" in wanted and _GROUPING.search(instruction) else ())]  # fmt: skip
    pair = [Counter(_shown(chart, [*wanted, *also]) for chart in _read_charts(*one)) for one in (found, right)]
    return "" if pair[0] == pair[1] else f"its charts are {list(pair[0])}, right are {list(pair[1])}"


def _as_upstream(chart: dict[str, Any], wanted: Sequence[str]) -> tuple[object, ...]:
    """By what openpyxl reads of it; it reads no chart of dates that LibreOffice wrote."""
    if "unreadable" in chart:
        return ("unreadable", chart["unreadable"])
    found = {"type": tuple(chart["types"]), "title": chart["title"], "legend": chart["legend"]}
    series = tuple((one["values"] or "", one["categories"] or "") for one in chart["series"])
    return (series, *(found[name] for name in wanted))


def _read_charts(book: Workbook, sheet: str) -> Iterator[Element]:
    """The charts of a sheet that are not hidden. Raises CheckFailed."""
    for place in book.related(book.part_of(sheet), "drawing").values():
        drawing, parts = book.part(place), book.related(place, "chart")
        for anchor in drawing if drawing is not None else ():
            hidden = any(one.get("hidden") in ("1", "true") for one in anchor.iter() if one.tag.endswith("}cNvPr"))
            for reference in () if hidden else anchor.iter(f"{_CHART}chart"):
                chart = book.part(parts.get(reference.get(REFERENCE, ""), "none"))
                if chart is not None:
                    yield chart


def _shown(chart: Element, wanted: Sequence[str]) -> tuple[object, ...]:
    """The ranges that a chart shows, and its properties."""
    kinds = [one for area in chart.iter(f"{_CHART}plotArea") for one in area if one.tag.endswith("Chart")]
    series = tuple((_range(one, "val", "yVal"), _range(one, "cat", "xVal")) for one in chart.iter(f"{_CHART}ser"))
    title = next(chart.iterfind(f"{_CHART}chart/{_CHART}title"), None)
    legend = next(chart.iter(f"{_CHART}legend"), None)
    found: dict[str, object] = {
        "type": tuple(sorted(one.tag.removeprefix(_CHART) for one in kinds)),
        "title": " ".join("".join(one.text or "" for one in title.iter(_TEXT)).split()) if title is not None else "",
        "legend": _value(legend, "legendPos", "r") if legend is not None else None,
        "direction": [_value(one, "barDir", "") for one in kinds][:1] == ["bar"],
        "grouping": tuple(_value(one, "grouping", "") for one in kinds),
    }
    return (series, *(found[name] for name in wanted))


def _range(series: Element, *names: str) -> str:
    """What a series refers to, without signs and quotes; of a pivot table, as LibreOffice writes it again."""
    for name in names:
        for part in series.iterfind(f"{_CHART}{name}"):
            for formula in part.iter(f"{_CHART}f"):
                return _OF_PIVOT.sub("", (formula.text or "").replace("$", "").replace("'", "").casefold())
    return ""


def _value(element: Element, name: str, default: str) -> str:
    return next((one.get("val", default) for one in element.iterfind(f"{_CHART}{name}")), default)
