"""The CSV files of results in a copy of WONDERBREAD, read strictly."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from deskgym.envs.errors import TaskError
from deskgym.envs.evaluation.calls import shown

MAX_BYTES = 256 << 20
MAX_CELL = 1 << 20  # characters

T = TypeVar("T")


@dataclass(frozen=True)
class ResultRow:
    """One row of a file.

    Attributes:
        file: where it stands, relative to the copy.
        line: of the file, where the row ends.
        cells: by column.
    """

    file: str
    line: int
    cells: dict[str, str]

    def text(self, column: str) -> str:
        """A cell as it stands."""
        return self.cells[column]

    def number(self, column: str) -> float:
        """A cell that must be a number."""
        return self._as(float, column, "a number")

    def whole(self, column: str) -> int:
        """A cell that must be a whole number."""
        return self._as(int, column, "a whole number")

    def flag(self, column: str) -> bool:
        """A cell that must be True or False."""
        return self._as({"True": True, "False": False}.__getitem__, column, "True or False")

    def _as(self, convert: Callable[[str], T], column: str, legal: str) -> T:
        try:
            return convert(self.cells[column])
        except (ValueError, KeyError):
            got = shown(self.cells[column])
            raise TaskError(f"{self.file}:{self.line}: {column} is {got}; legal is {legal}") from None


def read_results(copy: Path, name: str, columns: Sequence[str]) -> list[ResultRow] | None:
    """The rows of ``data/experimental_results/NAME``; None where the copy has no such file.

    Args:
        copy: the copy's folder.
        name: of the file.
        columns: that it must have.

    Raises:
        TaskError: the file cannot be read, or a column is missing.
    """
    path = results_folder(copy) / name
    file = str(path.relative_to(copy))
    if not path.exists():
        return None
    before = csv.field_size_limit(MAX_CELL)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise TaskError(f"{file} has more than {MAX_BYTES >> 20} MiB; legal is the file as it was published")
        with path.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text, strict=True)
            header: list[str] = list(reader.fieldnames or [])
            if missing := [column for column in columns if column not in header]:
                raise TaskError(f"{file} has no column {', '.join(missing)}; it has {', '.join(header) or 'none'}")
            return [_row(file, reader.line_num, cells) for cells in reader]
    except (OSError, ValueError, csv.Error) as error:
        raise TaskError(f"{file} cannot be read as CSV: {error}") from None
    finally:
        csv.field_size_limit(before)


def _row(file: str, line: int, cells: dict[Any, Any]) -> ResultRow:
    if None in cells or None in cells.values():
        raise TaskError(f"{file}:{line} has more or fewer cells than the header")
    return ResultRow(file, line, cells)


def results_folder(copy: Path) -> Path:
    """Where a copy has its results.

    Raises:
        TaskError: the folder is no copy.
    """
    folder = copy / "data" / "experimental_results"
    if not folder.is_dir():
        raise TaskError(f"{copy} has no folder data/experimental_results; give the folder of WONDERBREAD's repository")
    return folder
