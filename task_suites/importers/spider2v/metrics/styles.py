"""How the cells of a sheet look, conditional formats included."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

from deskgym.envs.evaluation.readers.table_source import column_name, parse_range
from deskgym.task_suites.importers.spider2v.metrics.conditions import Place, active_cells
from deskgym.task_suites.importers.spider2v.metrics.judging import GoldBroken
from deskgym.task_suites.importers.spider2v.metrics.workbooks import Workbook

PROPERTIES = {
    "number_format": "format", "font_name": "font", "font_color": "color", "font_bold": "bold", "font_italic": "italic",
    "font_underline": "underline", "font_size": "size", "bgcolor": "fill", "fgcolor": "fill",
}  # fmt: skip
"""Upstream's names of what a cell looks like, and those of ``readers.spreadsheet``."""

_BLACK, _NONE = "#000000", "#ffffff"
_SYMBOLS = {name: getattr(operator, name) for name in ("eq", "ne", "le", "lt", "ge", "gt")}

Looks = dict[Place, tuple[object, ...]]


def styles_differ(
    found: tuple[Workbook, str], right: tuple[Workbook, str], wanted: Sequence[str], corrected: bool
) -> str:
    """How the cells of two sheets look different, or ``""``.

    Corrected: cells without a value and a fill do not count, black is the colour of a font that has none, and a
    conditional format changes what it names alone.
    """
    if unknown := set(wanted) - PROPERTIES.keys():
        raise GoldBroken(f"props has {sorted(unknown)}: legal are {', '.join(PROPERTIES)}")
    looks, golds = (_looks(book, sheet, wanted, corrected) for book, sheet in (found, right))
    for place in sorted(looks.keys() | golds.keys()):
        if looks.get(place) != golds.get(place):
            name = f"{column_name(place[1])}{place[0]}"
            return f"{name} has {list(wanted)} {looks.get(place)}, right is {golds.get(place)}"
    return ""


def _looks(book: Workbook, name: str, wanted: Sequence[str], corrected: bool) -> Looks:
    sheet = book.sheet(name)
    styles = {(cell[0], cell[1]): book.style(cell) for cell in sheet["cells"]}
    values = {(cell[0], cell[1]): cell[2] for cell in sheet["cells"] if cell[2] is not None}
    for rule in reversed(sheet.get("conditional", [])):  # the first one wins
        named = {key: rule.get(key) for key in ("color", "fill", "bold")}
        for place in active_cells(rule, values):
            over = {key: value for key, value in named.items() if value}
            styles[place] = {**styles.get(place, {}), **over} if corrected else over
    looks = {place: tuple(_look(style, prop, place in values, corrected) for prop in wanted)
             for place, style in styles.items()}  # fmt: skip
    if corrected:
        empty = tuple(_look({}, prop, False, True) for prop in wanted)
        looks = {place: look for place, look in looks.items() if place in values or look != empty}
    return looks


def _look(style: Mapping[str, Any], name: str, has_value: bool, corrected: bool) -> object:
    if not has_value and PROPERTIES[name] != "fill":
        return None
    value = style.get(PROPERTIES[name])
    if corrected and name == "font_color":
        return _BLACK if value in (None, "theme:1") else value
    if corrected and PROPERTIES[name] == "fill":
        return None if value == _NONE else value
    return value or None


def check_cell(found: tuple[Workbook, str], place: str, wanted: Mapping[str, Mapping[str, Any]]) -> str:
    """How a cell is not as wanted, or ``""``: ``{"font_bold": {"method": "eq", "ref": true}}``."""
    book, name = found
    row, column = parse_range(place)[:2]
    cell = next((cell for cell in book.sheet(name)["cells"] if (cell[0], cell[1]) == (row, column)), None)
    for prop, rule in wanted.items():
        if prop != "value" and prop not in PROPERTIES:
            raise GoldBroken(f"a cell has no {prop!r}: legal are value, {', '.join(PROPERTIES)}")
        style: dict[str, Any] = {} if cell is None else {**book.style(cell), "value": cell[2]}
        value = style.get(PROPERTIES.get(prop, prop))
        if prop in ("font_bold", "font_italic"):
            value = bool(value)
        if not _matches(value, rule):
            return f"{place} has {prop} {value!r}; right is {dict(rule)}"
    return ""


def _matches(value: Any, rule: Mapping[str, Any]) -> bool:
    method, right = str(rule.get("method")), rule.get("ref")
    if method not in _SYMBOLS:
        raise GoldBroken(f"the method is {method!r}: legal are {', '.join(_SYMBOLS)}")
    if isinstance(value, str) and value.startswith("#") and re.fullmatch("[0-9A-Fa-f]{8}", str(right)):
        right = f"#{str(right)[2:].lower()}"  # upstream's have an alpha channel
    try:
        return bool(_SYMBOLS[method](value, right))
    except TypeError:
        return False
