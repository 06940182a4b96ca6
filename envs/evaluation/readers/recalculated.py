"""A workbook with its formulas calculated again, by LibreOffice in the second, clean machine.

A file stores a value beside each formula. Whoever can write the file can write any value there, so none of them counts.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.clean_run import open_clean, run_in, surviving
from deskgym.envs.evaluation.readers.table_source import LAST, TableSource, find_sheet, parse_range
from deskgym.envs.machines.base import Machine

TIMEOUT = 60.0  # seconds; an idle machine takes two
_HOME = "/home/user"
_PROFILE = f"{_HOME}/.config/libreoffice/4/user"
_LIBRARY = (
    '<library:{0} xmlns:library="http://openoffice.org/2000/library" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" {1}</library:{0}>'
)
_FILES = {
    "registrymodifications.xcu": '<oor:items xmlns:oor="http://openoffice.org/2001/registry"><item '
    'oor:path="/org.openoffice.Setup/Office"><prop oor:name="ooSetupInstCompleted" oor:op="fuse"><value>true</value>'
    "</prop></item></oor:items>",  # else the first start ends without running the macro
    "basic/script.xlc": _LIBRARY.format(
        "libraries", '><library:library library:name="Standard" xlink:href="$(USER)/basic/Standard/script.xlb/" '
        'xlink:type="simple" library:link="false"/>',
    ),
    "basic/Standard/script.xlb": _LIBRARY.format(
        "library", 'library:name="Standard"><library:element library:name="Module1"/>'
    ),
    "basic/Standard/Module1.xba": Path(__file__).with_name("recalculate.xml").read_text(),
}  # fmt: skip
"""Of LibreOffice's profile: a macro that opens a workbook, fills in other cells, calculates and saves it."""


def find_values(final: FinalState, source: TableSource, area: str) -> dict[str, Any]:
    """A sheet as ``find_sheet`` gives it; where an area of it has formulas, it is calculated again, as all values are.

    A file beside the task file is taken as it is.

    Raises:
        CheckFailed: there is no such sheet, or LibreOffice cannot calculate it.
        RuntimeError: there is no second machine.
    """
    sheet = find_sheet(final, source)
    top, left, bottom, right = parse_range(area) if area else (1, 1, *LAST)
    formulas = (cell for cell in sheet["cells"] if cell[4] is not None)
    inside = any(top <= cell[0] <= bottom and left <= cell[1] <= right for cell in formulas)
    if source.file or not (inside or sheet.get("formulas")):
        return sheet
    key = f"recalculated:{source.limit}:{source.path}:{json.dumps(source.given)}"
    data = final.read_once(key, lambda _: _calculate_twice(final, source))
    if key not in final.scratch:
        final.scratch[key] = limited.read("spreadsheet", data, source.name, "xlsx")
    found = next((other for other in final.scratch[key]["sheets"] if other["name"] == sheet["name"]), None)
    if found is None:
        raise CheckFailed(f"{source.name}: LibreOffice does not keep the name of the sheet {sheet['name']!r}")
    known = {(cell[0], cell[1]): cell[4:] for cell in sheet["cells"]}
    cells = [[*cell[:4], *known.get((cell[0], cell[1]), (None, None))] for cell in found["cells"]]
    return {**sheet, "cells": cells}


def _calculate_twice(final: FinalState, source: TableSource) -> bytes:
    """Once more where it fails: only what fails again is the file's doing."""
    try:
        return _calculate(final, source)
    except CheckFailed:
        return _calculate(final, source)


def _calculate(final: FinalState, source: TableSource) -> bytes:
    what = f"calculate {source.name}"
    book, machine = f"book.{source.ending}", open_clean(final, what)
    for name, content in _FILES.items():
        machine.put(f"{_PROFILE}/{name}", content.encode())
    machine.put(f"{_HOME}/{book}", source.content(final))
    machine.put(f"{_HOME}/given", "".join(_given(source)).encode())
    command = ["soffice", "--headless", "--norestore", "--nologo", "macro:///Standard.Module1.Main"]
    try:
        run_in(machine, command, what, TIMEOUT, env={"BOOK": book, "LC_ALL": "C.UTF-8"})
        with surviving(machine, what):
            return machine.get(f"{_HOME}/calculated.xlsx", limit=source.limit)
    except GuestCallError as error:
        raise CheckFailed(f"{source.name}: LibreOffice cannot calculate it: {_why(machine) or error}") from None


def _why(machine: Machine) -> str:
    try:
        return machine.get(f"{_HOME}/failed", limit=1 << 16).decode(errors="replace").strip()
    except GuestCallError:
        return ""


def _given(source: TableSource) -> list[str]:
    """A line for each cell that gets another value: sheet, column and row from 0, kind, value."""
    lines = []
    for place, rows in source.given.items():
        sheet, _, corner = place.rpartition("!")
        top, left = parse_range(corner)[:2]
        for r, row in enumerate(rows, top - 1):
            for c, value in enumerate(row, left - 1):
                lines.append(f"{sheet}\t{c}\t{r}\t{'text' if isinstance(value, str) else 'number'}\t{value}\n")
    return lines
