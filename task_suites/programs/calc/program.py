"""LibreOffice Calc: a workbook of a task's data, opened on a clean first screen."""

from __future__ import annotations

import io
import posixpath
from pathlib import Path
from typing import Any

import openpyxl

from deskgym.envs.displays.base import SettlePolicy
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.hooks.programs import launch

PROFILE = "/home/user/.config/libreoffice/4/user/registrymodifications.xcu"
SETTINGS = Path(__file__).with_name("registrymodifications.xml")
COMMAND = ("soffice", "--calc", "--norestore", "--nologo", "--nofirststartwizard", "--nolockcheck")
_PAINTED = SettlePolicy(quiet_ms=100, cap_ms=3000, idle_ms=100, rest=True)


def open_(setup: Setup, path: str, sheets: dict[str, list[list[Any]]], widths: int = 16) -> None:
    """Write a workbook and open it, with its first sheet in front and A1 selected.

    Args:
        setup: the machine.
        path: the file, below the user's home, such as ``/home/user/sales.xlsx``.
        sheets: by name in order, each a list of rows; the first row of each is its header, in bold.
        widths: of all columns, in characters.

    Raises:
        SetupError: Calc did not come up with it.
    """
    machine, path = setup.machine, legal_path(path)
    machine.put(path, workbook(sheets, widths))
    machine.put(PROFILE, SETTINGS.read_bytes())
    launch(setup, [*COMMAND, path], window=f"*{posixpath.basename(path)}*", app="soffice", role="table cell", name="A1")
    machine.display.perform([], _PAINTED)


def workbook(sheets: dict[str, list[list[Any]]], widths: int = 16) -> bytes:
    """The sheets as an .xlsx file."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for cell in sheet[1]:
            cell.font = openpyxl.styles.Font(name="DejaVu Sans", sz=10, bold=True)
            sheet.column_dimensions[cell.column_letter].width = widths
    data = io.BytesIO()
    book.save(data)
    return data.getvalue()
