"""A check that a workbook is as it was at the episode's start, but for what the task asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFunction, Start, with_baseline
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.compare import listed
from deskgym.envs.evaluation.readers.table_source import TableSource, column_name, parse_range, read_workbook

PARTS = (
    "state", "merged", "freeze", "filter", "hidden_rows", "hidden_columns", "tables", "protected", "conditional",
    "validations", "charts", "pivots",
)  # fmt: skip
"""What must be the same of a sheet, beside its cells. Widths and most of a style are a matter of taste."""
_LOOK = ("format", "fill", "strike", "color")
_USUAL = (None, "General", "#000000", "theme:1")
Place = tuple[int, int]


def _key(source: TableSource) -> str:
    return f"workbook at the start:{source.limit}:{source.path}"


def _base(start: Start, in_: TableSource, **_: Any) -> dict[str, Any]:
    try:
        return {_key(in_): start.machine.get(in_.path, limit=in_.limit)}
    except GuestCallError:
        return {_key(in_): None}


@with_baseline(_base)
def unchanged(
    final: FinalState,
    in_: TableSource,
    cells: list[str] | None = None,
    parts: list[str] | None = None,
    sheets: bool = False,
) -> tuple[bool, str]:
    """A workbook is as it was at the start, but for what is named here.

    Cells are compared by value, formula, number format and colours, and sheets by what hides or changes what one sees.

    Args:
        final: the final state.
        in_: the workbook.
        cells: ranges that may differ, such as ``Orders!G1:G17``.
        parts: what may differ of any sheet: ``state``, ``merged``, ``freeze``, ``filter``, ``hidden_rows``,
            ``hidden_columns``, ``tables``, ``protected``, ``conditional``, ``validations``, ``charts``, ``pivots``.
        sheets: other sheets may be there too.

    Example:
        ```yaml
        - sheet.unchanged: {in: /home/user/sales.xlsx, cells: ['Sales!D1:D13'], parts: [filter, hidden_rows]}
        ```
    """
    if wrong := set(parts or []) - set(PARTS):
        raise ValueError(f"{shown(sorted(wrong))} are no parts of a sheet; legal are {', '.join(PARTS)}")
    start = final.baseline(_key(in_))
    if start is None:
        raise RuntimeError(f"there was no {in_.path} at the episode's start")
    before, now = limited.read("spreadsheet", start, in_.name, in_.ending), read_workbook(final, in_)
    if before["order"] != [name for name in now["order"] if not sheets or name in before["order"]]:
        return False, f"{in_.name}: its sheets are {shown(now['order'])}; at the start they were {before['order']}"
    found = {sheet["name"]: sheet for sheet in now["sheets"]}
    kept = [part for part in PARTS if part not in (parts or [])]
    changes: list[str] = []
    for sheet in before["sheets"]:
        other = found[sheet["name"]]
        changes += _parts(sheet, other, kept)
        changes += _cells(sheet, _contents(sheet, before["styles"]), _contents(other, now["styles"]), cells or [])
    return not changes, f"{in_.name}: {listed(changes) or 'all else is as at the start'}"


def _parts(before: Mapping[str, Any], now: Mapping[str, Any], kept: list[str]) -> Iterator[str]:
    for part in kept:
        if before.get(part) != now.get(part):
            yield f"{before['name']}: {part} is {shown(now.get(part))}, was {shown(before.get(part))}"


def _cells(
    sheet: Mapping[str, Any], was: Mapping[Place, Any], now: Mapping[Place, Any], free: list[str]
) -> Iterator[str]:
    boxes = [parse_range(area.rpartition("!")[2]) for area in free if area.rpartition("!")[0] == sheet["name"]]
    for row, column in sorted({*was, *now}):
        one, other = was.get((row, column), {}), now.get((row, column), {})
        inside = any(top <= row <= bottom and left <= column <= right for top, left, bottom, right in boxes)
        if one != other and not inside:
            yield f"{sheet['name']}!{column_name(column)}{row} is {shown(other)}, was {shown(one)}"


def _contents(sheet: Mapping[str, Any], styles: list[Mapping[str, Any]]) -> dict[Place, dict[str, Any]]:
    """What counts of each cell that has something. The value of a formula follows from other cells."""
    found = {}
    for row, column, value, _, formula, style in sheet.get("cells", []):
        known = styles[style]
        look = {key: known[key] for key in _LOOK if known.get(key) not in _USUAL}
        content = {"value": value} if formula is None else {"formula": formula}
        if look or content != {"value": None}:
            found[row, column] = content | look
    return found


CHECKS: Mapping[str, CheckFunction] = {"sheet.unchanged": unchanged}
