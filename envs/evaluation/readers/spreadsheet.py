"""Reads a spreadsheet: a program of its own, see ``limited``. Standard input is the file, standard output JSON.

The answer is ``{"sheets": [...], "styles": [...], "names": {...}}``; ``sheet_data`` says what a sheet has. Of an ods
file only names, values and what is hidden are read. What cannot be read is ``{"unreadable": why}``.
"""

from __future__ import annotations

import io
import json
import os
import sys
import warnings
import zipfile
from collections import Counter
from datetime import date, datetime, time, timedelta
from typing import Any

os.environ["OPENPYXL_LXML"] = "False"  # with defusedxml the standard library's parser expands nothing

import openpyxl
from openpyxl.drawing.spreadsheet_drawing import SpreadsheetDrawing
from openpyxl.formatting.formatting import ConditionalFormatting
from openpyxl.styles.colors import COLOR_INDEX
from openpyxl.utils.cell import coordinate_to_tuple, get_column_letter
from openpyxl.worksheet._reader import WorkSheetParser, WorksheetReader
from openpyxl.worksheet.cell_range import CellRange, MultiCellRange
from openpyxl.worksheet.formula import ArrayFormula

MAX_UNPACKED = 128 << 20  # bytes of all parts
MAX_PARTS = 2000
MAX_CELLS = 500_000
MAX_COLUMNS = 16_384
EMU = 9525  # per pixel
MIN_SIZE = 0.5  # points of a row, characters of a column
MAX_ANSWER = 128 << 20  # one long text may stand in every cell


class Unreadable(Exception):
    """The file is not what can be read within the limits."""


def check_archive(data: bytes) -> None:
    """Refuse what is no ZIP archive of bounded size. The sizes in its directory bound what is unpacked."""
    if data[:4] == b"\xd0\xcf\x11\xe0":
        raise Unreadable("it is encrypted, or in the old binary format")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
    names = Counter(part.filename.casefold() for part in parts)
    if twice := [name for name, count in names.items() if count > 1]:
        raise Unreadable(f"it has two parts called {twice[0]}: each program may show another one")
    if len(parts) > MAX_PARTS:
        raise Unreadable(f"it has {len(parts)} parts; at most {MAX_PARTS} are read")
    if (size := sum(part.file_size for part in parts)) > MAX_UNPACKED:
        raise Unreadable(f"it unpacks to {size >> 20} MiB; at most {MAX_UNPACKED >> 20} MiB are read")


def _keep_ranges(reader: Any) -> None:
    """In place of openpyxl's way, which makes a cell for every place of a merged range, all 10^10 of a sheet."""
    if reader.parser.merged_cells:
        reader.ws.merged_cells = MultiCellRange([CellRange(item.ref) for item in reader.parser.merged_cells.mergeCell])


def _keep_extensions(parser: Any, element: Any) -> None:
    """In place of openpyxl's way, which drops the conditional formats of Excel 2010. A bar has a usual rule beside."""
    rules = [rule for rule in element.iter() if rule.tag.endswith("}cfRule") and rule.get("type") != "dataBar"]
    parser.formatting += [f"a rule of the type {rule.get('type')} in an extension" for rule in rules]


def _keep_rules(parser: Any, element: Any) -> None:
    """In place of openpyxl's way, which drops what it cannot read. A program may do so, and show it."""
    try:
        parser.formatting.append(ConditionalFormatting.from_tree(element))
    except TypeError as error:
        parser.formatting.append(str(error))


def _bind_rules(reader: Any, bind: Any = WorksheetReader.bind_formatting) -> None:
    """Keep apart what cannot be read."""
    rules = reader.parser.formatting
    reader.ws.unreadable = [{"unreadable": rule} for rule in rules if isinstance(rule, str)]
    reader.parser.formatting = [rule for rule in rules if not isinstance(rule, str)]
    bind(reader)


WorkSheetParser.parse_extensions = _keep_extensions
WorkSheetParser.parse_formatting = _keep_rules
WorksheetReader.bind_formatting = _bind_rules
WorksheetReader.bind_merged_cells = _keep_ranges
WorksheetReader.bind_hyperlinks = lambda reader: None


def xlsx(data: bytes) -> dict[str, Any]:
    """An Office Open XML workbook: once with its formulas, once with the values that were stored with them."""
    check_archive(data)
    book = openpyxl.load_workbook(io.BytesIO(data), rich_text=False)
    values = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    if sum(len(sheet._cells) for sheet in book.worksheets) > MAX_CELLS:
        raise Unreadable(f"it has more than {MAX_CELLS} cells")
    styles: dict[str, int] = {}
    sheets = [sheet_data(sheet, values[sheet.title], styles) for sheet in book.worksheets]
    sheets += [
        {"name": sheet.title, "state": sheet.sheet_state, "charts": _each(chart_data, sheet._charts)}
        for sheet in book.chartsheets
    ]
    for series in (series for sheet in sheets for chart in sheet["charts"] for series in chart.get("series", [])):
        if series["title"] is None:  # nothing was stored with the reference
            series["title"] = cell_text(values, series["title_from"] or "")
    return {
        "sheets": sheets,
        "order": book.sheetnames,
        "active": book.active.title if book.active is not None else None,
        "styles": [json.loads(style) for style in styles],
        "names": {name: defined.attr_text for name, defined in book.defined_names.items()},
    }


def sheet_data(sheet: Any, values: Any, styles: dict[str, int]) -> dict[str, Any]:
    """One sheet. ``cells`` are ``[row, column, value, type, formula or None, number of its style]``, from 1."""
    cells = []
    arrays = [cell.value for cell in sheet._cells.values() if isinstance(cell.value, ArrayFormula)]
    areas = [(CellRange(array.ref).bounds, array.text) for array in arrays]
    for (row, column), cell in sorted(sheet._cells.items()):
        style = json.dumps(style_data(cell)) if cell.has_style else "{}"
        stored = values._cells.get((row, column))
        value, kind = plain(None if stored is None else stored.value)
        formula = getattr(cell.value, "text", cell.value) if cell.data_type == "f" else None
        if formula is None:
            formula = next((text for (left, top, right, bottom), text in areas
                            if left <= column <= right and top <= row <= bottom), None)  # fmt: skip
        if formula is None and cell.data_type == "e":
            kind = "error"
        if stored is not None and stored.data_type == "e":
            kind = "error"
        if value is not None or formula is not None or style != "{}":
            number = styles.setdefault(style, len(styles))
            cells.append([row, column, value, kind, formula, number])
    dimensions = sheet.column_dimensions
    return {
        "name": sheet.title,
        "state": sheet.sheet_state,
        "cells": cells,
        "merged": sorted(str(area) for area in sheet.merged_cells.ranges),
        "freeze": sheet.freeze_panes,
        "filter": filter_data(sheet.auto_filter),
        "hidden_rows": sorted(number for number, row in sheet.row_dimensions.items() if _unseen(row, row.height)),
        "hidden_columns": [
            get_column_letter(number)
            for column in dimensions.values()
            if _unseen(column, column.width)
            for number in range(column.min, min(column.max, MAX_COLUMNS) + 1)
        ],
        "widths": {name: column.width for name, column in dimensions.items() if column.customWidth},
        "tables": {name: table.ref for name, table in sheet.tables.items()},
        "protected": bool(sheet.protection.sheet),
        "conditional": [
            *(_safe(rule_data, rule, _places(area)) for area in sheet.conditional_formatting for rule in area.rules),
            *sheet.unreadable,
        ],
        "validations": _each(validation_data, sheet.data_validations.dataValidation),
        "charts": _each(chart_data, sheet._charts),
        "pivots": _each(pivot_data, sheet._pivots),
    }


def _unseen(line: Any, size: float | None) -> bool:
    """Whether nobody sees a row or column: it is hidden, or thinner than a letter's stroke."""
    return bool(line.hidden) or (size is not None and size < MIN_SIZE)


def cell_text(book: Any, place: str) -> str | None:
    """The text of a cell such as ``Sheet1!B1``."""
    name, _, corner = place.rpartition("!")
    if name not in book.sheetnames or not corner or ":" in corner:
        return None
    cell = book[name]._cells.get(coordinate_to_tuple(corner))
    return None if cell is None or cell.value is None else str(cell.value)


def plain(value: Any) -> tuple[Any, str]:
    """A value as JSON, and its type: number, text, boolean, date, empty."""
    if isinstance(value, bool):
        return value, "boolean"
    if value is None or value == "":
        return None, "empty"
    if isinstance(value, (int, float)):
        return value, "number"
    if isinstance(value, datetime):
        return (value.date() if value.time() == time() else value).isoformat(), "date"
    if isinstance(value, (date, time)):
        return value.isoformat(), "date"
    if isinstance(value, timedelta):
        return value.total_seconds() / 86400, "number"
    return str(value), "text"


def color(of: Any) -> str | None:
    """A colour as ``#rrggbb``, or ``theme:4`` where only the theme knows."""
    if of is None:
        return None
    if of.type == "rgb" and isinstance(of.rgb, str):
        return f"#{of.rgb[-6:].lower()}"
    if of.type == "indexed" and of.indexed < len(COLOR_INDEX):
        return f"#{COLOR_INDEX[of.indexed][-6:].lower()}"
    return f"theme:{of.theme}" if of.type == "theme" else None


def style_data(cell: Any) -> dict[str, Any]:
    """What a cell looks like; only what is not as usual, but for the number format."""
    font, fill, align, border = cell.font, cell.fill, cell.alignment, cell.border
    fields = {
        "bold": bool(font.b), "italic": bool(font.i), "strike": bool(font.strike), "wrap": bool(align.wrap_text),
        "underline": font.u, "font": font.name, "size": font.sz, "color": color(font.color),
        "fill": color(fill.fgColor) if getattr(fill, "fill_type", None) == "solid" else None,
        "horizontal": align.horizontal, "vertical": align.vertical, "rotation": align.textRotation or None,
        "indent": align.indent or None,
        "border": {side: line.style for side in ("left", "right", "top", "bottom") if (line := getattr(border, side))
                   and line.style},
    }  # fmt: skip
    return {"format": cell.number_format} | {key: value for key, value in fields.items() if value}


def filter_data(auto: Any) -> dict[str, Any] | None:
    """The range of the automatic filter, and the values that each filtered column lets through, by its number."""
    if not auto.ref:
        return None
    columns = {}
    for column in auto.filterColumn:
        listed = list(column.filters.filter) if column.filters else []
        custom = column.customFilters.customFilter if column.customFilters else []
        columns[str(column.colId + 1)] = listed or [f"{item.operator or 'equal'} {item.val}" for item in custom]
    return {"range": auto.ref, "columns": columns}


def _places(of: Any) -> str:
    """The ranges that something covers, without a sheet's name, which a forged one may have."""
    return " ".join(area.coord for area in of.sqref.ranges)


def rule_data(rule: Any, area: str) -> dict[str, Any]:
    """A conditional format."""
    style = rule.dxf
    scale = rule.colorScale
    return {
        "range": area, "type": rule.type, "operator": rule.operator, "formulas": [str(f) for f in rule.formula],
        "text": rule.text, "rank": rule.rank, "bottom": rule.bottom, "percent": rule.percent,
        "above": rule.aboveAverage, "priority": rule.priority,
        "fill": color(style.fill.bgColor if style.fill.bgColor.rgb != "00000000" else style.fill.fgColor)
        if style and style.fill else None,
        "color": color(style.font.color) if style and style.font else None,
        "bold": bool(style and style.font and style.font.b),
        "scale": [color(c) for c in scale.color] if scale else None,
        "bar": color(rule.dataBar.color) if rule.dataBar else None,
        "icons": rule.iconSet.iconSet if rule.iconSet else None,
    }  # fmt: skip


def validation_data(rule: Any) -> dict[str, Any]:
    """A data validation; ``list`` are the entries where they are written in it."""
    first = rule.formula1
    entries = first[1:-1].split(",") if rule.type == "list" and first and first[:1] == '"' else None
    return {
        "range": _places(rule), "type": rule.type, "operator": rule.operator, "list": entries,
        "formulas": [f for f in (first, rule.formula2) if f is not None], "blank": bool(rule.allow_blank),
        "title": rule.errorTitle, "message": rule.error, "prompt": rule.prompt, "stop": rule.errorStyle or "stop",
    }  # fmt: skip


def reference(of: Any) -> str | None:
    """What a series refers to, without signs and quotes: ``Sheet1!B2:B9``."""
    for part in (of, *(getattr(of, name, None) for name in ("numRef", "strRef", "multiLvlStrRef"))):
        if isinstance(found := getattr(part, "f", None), str):
            return found.replace("$", "").replace("'", "")
    return None


def title(of: Any) -> str | None:
    """A chart's, an axis's or a series' title: its text, or what was stored of the cell that it refers to."""
    text = getattr(of, "tx", None) if getattr(of, "tagname", "") == "title" else of
    if text is None:
        return None
    if getattr(text, "v", None) is not None:
        return str(text.v)
    if getattr(text, "rich", None) is not None:
        return "\n".join("".join(run.t or "" for run in line.r or ()) for line in text.rich.p).strip()
    stored = getattr(getattr(text, "strRef", None), "strCache", None)
    return " ".join(str(point.v) for point in stored.pt) if stored else None


def _seen_charts(drawing: Any, charts: Any = SpreadsheetDrawing._chart_rels.fget) -> list[Any]:
    """The charts that openpyxl finds, without those that nobody sees: it forgets whether they are hidden."""
    for kind in ("absoluteAnchor", "oneCellAnchor", "twoCellAnchor"):
        setattr(drawing, kind, [anchor for anchor in getattr(drawing, kind) if not _is_hidden(anchor.graphicFrame)])
    return list(charts(drawing))


def _is_hidden(frame: Any) -> bool:
    about = getattr(getattr(frame, "nvGraphicFramePr", None), "cNvPr", None)
    return bool(getattr(about, "hidden", False))


SpreadsheetDrawing._chart_rels = property(_seen_charts)


def chart_data(chart: Any) -> dict[str, Any]:
    """A chart: type, titles, legend, series, and where and how large it is."""
    kind = type(chart).__name__.removesuffix("Chart").removesuffix("3D").removesuffix("Chart").lower()
    direction = getattr(chart, "barDir", None)
    series = [
        {
            "title": title(one.tx), "title_from": reference(one.tx),
            "values": reference(one.val if one.val is not None else one.yVal),
            "categories": reference(one.cat if one.cat is not None else one.xVal),
        }
        for part in chart._charts for one in part.ser
    ]  # fmt: skip
    corner = getattr(chart.anchor, "_from", None)
    return {
        "type": "column" if direction == "col" else kind, "title": title(chart.title), "series": series,
        "types": sorted({type(part).__name__.removesuffix("Chart").lower() for part in chart._charts}),
        "grouping": getattr(chart, "grouping", None), "legend": chart.legend.legendPos if chart.legend else None,
        "x_title": title(getattr(getattr(chart, "x_axis", None), "title", None)),
        "y_title": title(getattr(getattr(chart, "y_axis", None), "title", None)),
        "at": [corner.row + 1, corner.col + 1] if corner is not None else None, "size": chart_size(chart.anchor),
    }  # fmt: skip


def chart_size(anchor: Any) -> tuple[float, float]:
    """About how wide and high a chart is, in pixels."""
    if not hasattr(anchor, "to"):
        return anchor.ext.width / EMU, anchor.ext.height / EMU
    first, last = anchor._from, anchor.to
    columns, rows = last.col - first.col, last.row - first.row
    return columns * 64 + (last.colOff - first.colOff) / EMU, rows * 20 + (last.rowOff - first.rowOff) / EMU


def pivot_data(pivot: Any) -> dict[str, Any]:
    """A pivot table: where it is, its source, and its fields by the names of the source's columns."""
    source = pivot.cache.cacheSource.worksheetSource
    names = [field.name for field in pivot.cache.cacheFields]

    def named(fields: Any, key: str) -> list[str]:
        return [names[index] for field in fields or () if 0 <= (index := getattr(field, key)) < len(names)]

    return {
        "name": pivot.name, "range": CellRange(pivot.location.ref).coord,
        "source": f"{source.sheet}!{source.ref}" if source and source.ref else getattr(source, "name", None),
        "rows": named(pivot.rowFields, "x"), "columns": named(pivot.colFields, "x"),
        "filters": named(pivot.pageFields, "fld"),
        "values": [{"field": names[field.fld], "function": field.subtotal or "sum", "name": field.name}
                   for field in pivot.dataFields or ()],
    }  # fmt: skip


def _safe(read: Any, *of: Any) -> dict[str, Any]:
    """What ``read`` gives; what it cannot read keeps its place, so that the rest can be judged."""
    try:
        return dict(read(*of))
    except Exception as error:
        return {"unreadable": f"{type(error).__name__}: {error}"}


def _each(read: Any, items: Any) -> list[dict[str, Any]]:
    return [_safe(read, item) for item in items]


def ods(data: bytes) -> dict[str, Any]:
    """An OpenDocument spreadsheet: names and values only."""
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    check_archive(data)
    book = CalamineWorkbook.from_filelike(io.BytesIO(data))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = archive.read("content.xml")
    formulas = b"formula" in content or b"\0" in content  # not in UTF-8, so it may be there
    visible = {sheet.name: sheet.visible == SheetVisibleEnum.Visible for sheet in book.sheets_metadata}
    sheets = []
    for name in book.sheet_names:
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        cells = [
            [r, c, *plain(value), None, 0]
            for r, row in enumerate(rows, 1)
            for c, value in enumerate(row, 1)
            if value not in ("", None)
        ]
        state = "visible" if visible[name] else "hidden"
        sheets.append({"name": name, "state": state, "cells": cells, "formulas": formulas})
    return {"sheets": sheets, "order": book.sheet_names, "styles": [{}]}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    read = {"xlsx": xlsx, "ods": ods}[sys.argv[1]]
    content = sys.stdin.buffer.read()
    try:
        answer = json.dumps(read(content))
        if len(answer) > MAX_ANSWER:
            raise Unreadable(f"what is in it is more than {MAX_ANSWER >> 20} MiB")
    except BaseException as error:  # a panic of calamine's is no Exception
        cause = error.__cause__ or error  # openpyxl says of most things that a sheet cannot be read
        why = str(error) if isinstance(error, Unreadable) else f"{type(cause).__name__}: {cause}"
        answer = json.dumps({"unreadable": why[:1000]})
    sys.stdout.write(answer)
