"""Where a table is: in a file or a database, and in a workbook on which sheet and in which cells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import HostFile, shown, unknown
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.files import LIMIT, read_file

_RANGE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6})?(?::([A-Z]{1,3})([1-9]\d{0,6})?)?")
LAST = (1_048_576, 16_384)


@dataclass(frozen=True)
class TableSource:
    """Where a table is. A task file writes a mapping of these, or the path alone.

    Attributes:
        path: a file in the agent's machine: ``.xlsx``, ``.ods``, ``.csv``, ``.tsv``, ``.db`` and ``.sqlite`` (SQLite),
            ``.parquet``, ``.duckdb``.
        file: instead, a file beside the task file, of the same kinds.
        sheet: of a workbook: its name, or its number from 1.
        range: of a sheet or text file: such as ``A3:D20`` or ``B:D``; all of it if left out.
        header: whether the first row has the columns' names; else they are called A, B, C, ...
        where: a predicate for each of some columns; other rows are left out.
        hidden: a hidden sheet counts too; else it is a fail, as nobody sees it.
        given: of a workbook: what its cells get before its formulas are calculated again, as rows by the place of their
            first cell, such as ``{Rates!B2: [[1.5], [2]]}``: a typed-in number stays what it is, a formula does not.
        query: of a database: a SELECT.
        table: of a database: the name of a table, in place of a query.
        companion: the query goes to this companion's database.
        database: of a companion that has more than one.
        delimiter: of a text file; by its name if left out.
        limit: bytes of the file that are read at most.
    """

    path: str = ""
    file: HostFile | None = None
    sheet: str | int = 1
    range: str = ""
    header: bool = True
    where: dict[str, Predicate] = field(default_factory=dict)
    hidden: bool = False
    given: dict[str, list[list[float | str]]] = field(default_factory=dict)
    query: str = ""
    table: str = ""
    companion: str = ""
    database: str = ""
    delimiter: str = ""
    limit: int = LIMIT

    @property
    def name(self) -> str:
        """What messages call it."""
        place = self.companion or (self.file.name if self.file else self.path)
        return f"{place}: {self.table or shown(self.query, 60)}" if self.table or self.query else place

    @property
    def ending(self) -> str:
        """The file's kind, by its name."""
        return (self.file.name if self.file else self.path).rpartition(".")[2].lower()

    def content(self, final: FinalState) -> bytes:
        """The file's bytes. Raises CheckFailed where the agent left none that can be read."""
        return self.file.read_bytes() if self.file else read_file(final, self.path, self.limit)


def read_workbook(final: FinalState, source: TableSource) -> dict[str, Any]:
    """All that ``readers.spreadsheet`` finds in a workbook, read once.

    Raises:
        CheckFailed: it cannot be read.
    """
    name = source.name
    if source.ending not in ("xlsx", "ods"):
        raise ValueError(f"{name!r} is no workbook: legal are .xlsx and .ods")
    key = f"workbook:{source.limit}:{source.file or source.path}"
    if key not in final.scratch:
        final.scratch[key] = limited.read("spreadsheet", source.content(final), name, source.ending)
    return dict(final.scratch[key])


def find_sheet(final: FinalState, source: TableSource) -> dict[str, Any]:
    """One sheet of a workbook, with its number's or name's; its styles are in ``styles``.

    Raises:
        CheckFailed: there is no such sheet.
    """
    book = read_workbook(final, source)
    names = book["order"]
    name = source.sheet
    if isinstance(name, int):
        if not 1 <= name <= len(names):
            raise CheckFailed(f"{source.name}: there is no sheet {name}; its sheets are {shown(names)}")
        name = names[name - 1]
    found = next((sheet for sheet in book["sheets"] if sheet["name"] == name), None)
    if found is None:
        raise CheckFailed(f"{source.name}: {unknown('sheet', str(name), names)}")
    if found.get("state", "visible") != "visible" and not (source.hidden or source.file):
        raise CheckFailed(f"{source.name}: the sheet {name!r} is hidden")
    return {"cells": [], **found, "styles": book["styles"]}


def parse_range(text: str) -> tuple[int, int, int, int]:
    """First row and column, last row and column, from 1.

    Raises:
        ValueError: it is no range.

    Examples:
        >>> parse_range("B2:D9"), parse_range("C5"), parse_range("B:C")[2]
        ((2, 2, 9, 4), (5, 3, 5, 3), 1048576)
    """
    found = _RANGE.fullmatch(text.replace("$", "").upper())
    if found is None:
        raise ValueError(f"{text!r} is no range such as A1:D9, B:C or C5")
    left, top, right, bottom = found.groups()
    first, last = column_number(left), column_number(right or left)
    end = bottom or (top if not right and top else LAST[0])
    return int(top or 1), first, int(end), last


def column_number(letters: str) -> int:
    """The number of a column by its letters: A is 1, XFD is 16384."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def column_name(number: int) -> str:
    """The letters of a column by its number, from 1."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(65 + rest) + letters
    return letters
