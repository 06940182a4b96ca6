"""Spreadsheets: tasks in LibreOffice Calc, judged by the workbook that was saved."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import openpyxl

from deskgym.envs.episode import BurstOrProgram, Screen
from deskgym.envs.errors import GuestCallError
from deskgym.task_suites.importers.spider2v.attempts import play, put_file
from deskgym.task_suites.importers.spider2v.frame import App, Attempts, CheckFailed, Correction, Play, Scene
from deskgym.task_suites.importers.spider2v.layout import HOME
from deskgym.task_suites.importers.spider2v.metrics.workbooks import Workbook
from deskgym.task_suites.importers.spider2v.record import Mode, UpstreamTask
from deskgym.task_suites.importers.spider2v.sheet_typing import play_typing

_EXPECTED_SHEET = re.compile(r"E([IN])(.*)")


def attempts(record: UpstreamTask, mode: Mode) -> Attempts:
    """The oracle types what the gold has more, or puts its file in the place; the wrong attempts come near to it."""
    comparison = record.comparisons[0]
    path = str(comparison.result.fields.get("path"))
    given = next((step["src"] for step in record.config if step.parameters.get("dest") == path), None)
    gold = comparison.expected and comparison.expected.fields.get("path")
    if not isinstance(given, Path) or not isinstance(gold, Path):
        return Attempts()
    rules = comparison.options.get("rules", [])
    wrong: dict[str, Play] = {
        "the right file in another place": partial(_put, f"{HOME}/Desktop/{gold.name}", gold.read_bytes),
        "a new sheet, left empty": partial(_put, path, partial(with_empty_sheet, given)),
    }
    compared = [str(rule["sheet_idx1"]) for rule in rules if rule["type"] == "sheet_data"]
    if compared and (found := _EXPECTED_SHEET.fullmatch(compared[0])):
        wrong["one cell off"] = partial(_put, path, partial(with_one_cell_off, gold, found[1], found[2]))
    if "merge" in record.instruction:
        wrong["without merged cells"] = partial(_put, path, partial(without_merged_cells, gold))
    if {rule["type"] for rule in rules} == {"sheet_data"}:
        return Attempts(partial(play_typing, given, gold), wrong)
    return Attempts(partial(_put, path, gold.read_bytes), wrong)


def _put(path: str, content: Callable[[], bytes], screen: Screen) -> Iterator[BurstOrProgram]:
    yield from play(*put_file(path, content()))(screen)


def with_empty_sheet(given: Path) -> bytes:
    """A workbook with one sheet more."""
    book = openpyxl.load_workbook(given)
    book.create_sheet("Sheet2" if "Sheet2" not in book.sheetnames else None)
    return _saved(book)


def with_one_cell_off(gold: Path, by: str, which: str) -> bytes:
    """The gold with another value in the last cell of a sheet, by its number (``"I"``) or its name (``"N"``)."""
    book = openpyxl.load_workbook(gold, data_only=True)
    sheet = book.worksheets[int(which)] if by == "I" else book[which]
    cell = next(cell for row in reversed(list(sheet.iter_rows())) for cell in reversed(row) if cell.value is not None)
    cell.value = cell.value + 1 if isinstance(cell.value, int | float) else f"{cell.value} "
    return _saved(book)


def without_merged_cells(gold: Path) -> bytes:
    """The gold with its cells apart."""
    book = openpyxl.load_workbook(gold, data_only=True)
    for sheet in book.worksheets:
        for place in list(sheet.merged_cells.ranges):
            sheet.unmerge_cells(str(place))
    return _saved(book)


def _saved(book: openpyxl.Workbook) -> bytes:
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()


def has_merged_cells(scene: Scene) -> None:
    """The saved workbook has the gold's merged cells. Raises CheckFailed where it does not."""
    comparison = scene.record.comparisons[0]
    assert comparison.expected is not None
    try:
        data = scene.machine.get(comparison.result["path"])
    except GuestCallError as error:
        raise CheckFailed(str(error)) from error
    found = Workbook.read(data, comparison.result["path"])
    for sheet in openpyxl.load_workbook(comparison.expected["path"]).worksheets:
        part = found.part(found.part_of(sheet.title)) if sheet.merged_cells.ranges else None
        merged = {
            cell.get("ref") for cell in (part.iter() if part is not None else ()) if cell.tag.endswith("}mergeCell")
        }
        if missing := {str(place) for place in sheet.merged_cells.ranges} - merged:
            raise CheckFailed(f"the cells {', '.join(sorted(missing))} of {sheet.title} are not merged")


_MERGED = Correction("the instruction asks for merged cells, which no rule looks at", test=has_merged_cells)
_WITH_MERGED = (
    "1d17d234-e39d-4ed7-b46f-4417922a4e7c", "30e3e107-1cfb-46ee-a755-2cd080d7ba6a",
    "cd3c4994-b9e2-426b-8157-f7978ff55501", "de7a24c3-7f47-45c7-bba9-ba1aaaf015f8",
)  # fmt: skip

APP = App(
    name="excel",
    programs=("calc",),
    corrections={f"excel/{name}": _MERGED for name in _WITH_MERGED},
    attempts=attempts,
)
