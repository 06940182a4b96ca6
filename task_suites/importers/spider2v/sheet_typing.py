"""Plays a task about cells in LibreOffice Calc: types into the open workbook what the gold file has more."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.worksheet.worksheet import Worksheet

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, Screen
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.programs.toolkits.scripts import click

MACROS = load_program("calc").macros
_SHEET_OF = re.compile(r"('[^']+'|\b[A-Za-z_]\w*)!")
_TEXT = re.compile(r'("[^"]*")')


@dataclass(frozen=True)
class Entry:
    """What is typed into a run of cells below each other.

    Attributes:
        sheet: its name.
        cell: the first one, such as ``"D1"``.
        texts: from there downwards.
    """

    sheet: str
    cell: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Typing:
    """What is to be typed, sheet by sheet.

    Attributes:
        sheets: those that are to be added.
        entries: in order.
        merged: ranges that are merged in the end, by sheet.
        front: the sheet that is in front at the start.
    """

    sheets: tuple[str, ...]
    entries: tuple[Entry, ...]
    merged: tuple[tuple[str, str], ...]
    front: str


def typing_of(given: Path, gold: Path) -> Typing:
    """What the gold has more than the given workbook."""
    before, after = openpyxl.load_workbook(given), openpyxl.load_workbook(gold)
    entries: list[Entry] = []
    merged: list[tuple[str, str]] = []
    for sheet in after.worksheets:
        old = before[sheet.title] if sheet.title in before.sheetnames else None
        entries += _entries(sheet, old)
        known = set() if old is None else {str(place) for place in old.merged_cells.ranges}
        merged += [(sheet.title, place) for place in map(str, sheet.merged_cells.ranges) if place not in known]
    added = tuple(name for name in after.sheetnames if name not in before.sheetnames)
    entries.sort(key=lambda entry: entry.sheet in added)
    return Typing(added, tuple(entries), tuple(merged), before.sheetnames[0])


def _entries(sheet: Worksheet, old: Worksheet | None) -> Iterator[Entry]:
    for column in sheet.iter_cols():
        first, texts = "", []
        for cell in column:
            same = cell.value is None or (old is not None and old[cell.coordinate].value == cell.value)
            if not same:
                first = first or cell.coordinate
                texts.append(typed(cell.value))
            if (same or cell is column[-1]) and texts:
                yield Entry(sheet.title, first, tuple(texts))
                first, texts = "", []


def typed(value: Any) -> str:
    """What a person types for a cell's value: formulas as Calc writes them, dates in ISO 8601."""
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    text = str(value)
    if not text.startswith("="):
        return text
    pieces = _TEXT.split(text)
    return "".join(
        piece if piece.startswith('"') else _SHEET_OF.sub(r"$\1.", piece).replace(",", ";") for piece in pieces
    )


def play_typing(given: Path, gold: Path, screen: Screen) -> Bursts:
    """Type what the gold has more than the workbook that is open, save it, and say that it is done."""
    typing = typing_of(given, gold)
    front = typing.front
    for name in typing.sheets:
        yield from _add_sheet(screen, name)
        front = name
    for entry in typing.entries:
        yield from _to_front(screen, entry.sheet, front)
        front = entry.sheet
        yield from MACROS["calc.select"](screen, entry.cell)
        yield [action for text in entry.texts for action in _type(text)]
    for sheet, place in typing.merged:
        yield from _to_front(screen, sheet, front)
        front = sheet
        yield from MACROS["calc.select"](screen, place)
        yield from MACROS["calc.menu"](screen, ["Format", "Merge and Unmerge Cells", "Merge Cells"])
    yield from MACROS["calc.save"](screen)
    yield [Action("done")]


def _type(text: str) -> list[Action]:
    """Type into a cell and go to the one below; Delete takes away what Calc adds of a similar text above."""
    return [Action("type", text=text), Action("press", keys=("delete",)), Action("press", keys=("enter",))]


def _to_front(screen: Screen, sheet: str, front: str) -> Bursts:
    if sheet != front:
        yield from MACROS["calc.sheet"](screen, sheet)


def _add_sheet(screen: Screen, name: str) -> Bursts:
    yield from MACROS["calc.menu"](screen, ["Sheet", "Insert Sheet at End..."])
    entry = screen.find(role="text", window="*Append Sheet*")
    yield [click(entry), Action("press", keys=("ctrl", "a")), Action("type", text=name)]
    screen.find(role="text", window="*Append Sheet*", text=name)
    yield [click(screen.find(role="push button", name="OK", window="*Append Sheet*"))]
    screen.find(role="table", name=f"Sheet {name}")
