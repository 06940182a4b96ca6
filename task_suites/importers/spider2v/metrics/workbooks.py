"""Workbooks as ``compare_table`` reads them, and which sheet a rule means."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers import limited
from deskgym.task_suites.importers.spider2v.metrics.judging import GoldBroken

MAX_PART = 8 << 20  # bytes of a part that is read as XML
_SELECTOR = re.compile(r"([RE])([IN])(.*)", re.DOTALL)
REFERENCE = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
"""The attribute with the id of another part."""


@dataclass(frozen=True)
class Workbook:
    """A workbook that was read.

    Attributes:
        data: the file.
        book: what ``readers.spreadsheet`` found in it.
    """

    data: bytes = field(repr=False)
    book: dict[str, Any] = field(repr=False)

    @classmethod
    def read(cls, data: bytes, name: str) -> Workbook:
        """An .xlsx file, in a process with limits. Raises CheckFailed."""
        return cls(data, limited.read("spreadsheet", data, name, "xlsx"))

    def sheet(self, name: str) -> dict[str, Any]:
        """A sheet by its name. Raises CheckFailed."""
        for sheet in self.book["sheets"]:
            if sheet["name"] == name:
                return {"cells": [], **sheet}
        raise CheckFailed(f"there is no sheet {name!r}: its sheets are {self.book['order']}")

    def style(self, cell: list[Any]) -> dict[str, Any]:
        """How a cell looks."""
        return dict(self.book["styles"][cell[5]])

    def part(self, name: str) -> Element | None:
        """A part of the file as XML; None where there is none. Raises CheckFailed."""
        try:
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive:  # of bounded size: it was read before
                if name not in archive.namelist():
                    return None
                if archive.getinfo(name).file_size > MAX_PART:
                    raise CheckFailed(f"its part {name} has more than {MAX_PART >> 20} MiB")
                root: Element = fromstring(archive.read(name))
                return root
        except (zipfile.BadZipFile, ParseError, DefusedXmlException, ValueError, OSError, NotImplementedError) as error:
            raise CheckFailed(f"its part {name} cannot be read: {type(error).__name__}") from None

    def related(self, part: str, kind: str) -> dict[str, str]:
        """The parts of a kind, such as ``pivotTable``, that a part refers to, by the ids that it uses."""
        folder, _, name = part.rpartition("/")
        rels = self.part(f"{folder}/_rels/{name}.rels")
        found = [rel for rel in (rels if rels is not None else ()) if rel.get("Type", "").endswith(f"/{kind}")]
        return {rel.get("Id", ""): _target(folder, rel.get("Target", "")) for rel in found}

    def part_of(self, sheet: str) -> str:
        """The name of a sheet's own part. Raises CheckFailed."""
        book, rels = self.part("xl/workbook.xml"), self.part("xl/_rels/workbook.xml.rels")
        if book is None or rels is None:
            raise CheckFailed("it has no list of sheets where one is looked for")
        ids = {one.get("name"): one.get(REFERENCE) for one in book.iter() if one.tag.endswith("}sheet")}
        target = next((rel.get("Target", "") for rel in rels if rel.get("Id") == ids.get(sheet)), "")
        return _target("xl", target)


def _target(folder: str, target: str) -> str:
    return target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"{folder}/{target}")


def find_sheet(selector: int | str, result: Workbook, gold: Workbook) -> tuple[Workbook, str]:
    """The workbook and the sheet's name that a rule means.

    Args:
        selector: ``1`` or ``"RI1"``: the result's sheet number 1, from 0; ``"RNSheet2"``: that of this name; ``"EI1"``
            and ``"ENSheet2"``: the gold's.
        result: what the agent left.
        gold: what is right.

    Raises:
        CheckFailed: the result has no such sheet.
        GoldBroken: the gold has none, or the selector is none.
    """
    found = _SELECTOR.fullmatch(f"RI{selector}" if isinstance(selector, int) else selector)
    if found is None:
        raise GoldBroken(f"{selector!r} is no sheet: legal are 1, 'RI1', 'RNSheet1', 'EI1' and 'ENSheet1'")
    whose, how, which = found.groups()
    book = result if whose == "R" else gold
    names = book.book["order"]
    name = which
    if how == "I":
        if not which.lstrip("-").isdigit():
            raise GoldBroken(f"{selector!r} has no number")
        number = int(which)
        name = names[number] if -len(names) <= number < len(names) else ""
    if name not in names:
        if whose == "E":
            raise GoldBroken(f"the gold has no sheet {selector!r} but {names}")
        raise CheckFailed(f"there is no sheet {selector!r}: its sheets are {names}")
    return book, name
