"""Comparing a table with what is right, and saying what differs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.predicates import Predicate, plain, within
from deskgym.envs.evaluation.readers.tables import Table, cell_value

MAX_UNORDERED = 2_000  # rows that are equal to none: pairing them up is quadratic
MOST_SHOWN = 5

Cell = Predicate | bool | float | str | None
"""What a task file may write for a cell: a value, null for an empty one, or a predicate."""


@dataclass(frozen=True)
class Rules:
    """When a cell is right.

    A number is right within ``abs`` or ``rel`` of it, a text where it is the same, null where the cell is empty, true
    and false where the cell is that; a predicate where it holds. Dates are texts such as 2026-01-31, or
    2026-01-31T12:30:00. In a format that has only texts (CSV), cells have no white space around them, and a text that
    reads as a number or as true or false is one.

    Attributes:
        abs: tolerance of numbers.
        rel: the same as a share of the right number.
        loose: texts are compared without case and spacing, and a number's text is taken for the number, in all formats.
    """

    abs: float = 0.0
    rel: float = 1e-9
    loose: bool = False

    def fits(self, cell: Any, right: Any, typed: bool) -> bool:
        """Whether a cell is right."""
        as_text = self.loose or not typed
        if isinstance(right, Predicate):
            return right(cell_value(cell, not as_text))
        if isinstance(right, bool):
            return cell is right or (as_text and isinstance(cell, str) and plain(cell) == str(right).lower())
        if isinstance(right, (int, float)):
            return within(cell_value(cell, not as_text), right, self.abs, self.rel)
        if right is None or right == "":
            return cell is None or cell == ""
        if isinstance(cell, str):
            return cell == right or (self.loose and plain(cell) == plain(str(right)))
        number = cell_value(right, typed=False)
        return self.loose and isinstance(number, float) and within(cell, number, self.abs, self.rel)


def differences(got: Table, right: Sequence[Sequence[Any]], rules: Rules, ordered: bool, more: bool) -> list[str]:
    """What is wrong with a table, in words; nothing if it is right.

    Args:
        got: the agent's.
        right: the right rows, of as many cells.
        rules: when a cell is right.
        ordered: whether the rows must be in this order.
        more: whether other rows may be there too.
    """

    def fits(row: int, want: int) -> bool:
        return all(rules.fits(a, b, got.typed) for a, b in zip(got.rows[row], right[want], strict=True))

    if ordered and not more and len(got.rows) == len(right):
        wrong = [k for k in range(len(right)) if not fits(k, k)]
        if not wrong:
            return []
        if len(wrong) <= MAX_UNORDERED and pair(wrong, wrong, fits) == ([], []):
            k = wrong[0]
            return [f"the rows are right, but in another order: {got.places[k]} is {_row(got, k)}, right is "
                    f"{_wanted(got, right[k])}"]  # fmt: skip
        return [line for k in wrong for line in _cells(got, k, right[k], rules)]
    if ordered and more and _in_order(len(got.rows), len(right), fits):
        return []
    spare, missing = _pair_all([_key(row, got.typed) for row in got.rows], [_key(row, True) for row in right], fits)
    lines = [f"there is no row {_wanted(got, right[k])}" for k in missing]
    if not more:
        lines += [f"{got.places[k]} should not be there: {_row(got, k)}" for k in spare]
    if ordered and not lines:
        lines = ["all rows are there, but in another order"]
    if len(missing) == len(spare) == 1 and not more:  # most likely the same row, with something wrong in it
        lines = _cells(got, spare[0], right[missing[0]], rules)
    if len(got.rows) != len(right) and not more:
        lines.insert(0, f"it has {len(got.rows)} rows, right are {len(right)}")
    return lines


def _in_order(rows: int, wanted: int, fits: Callable[[int, int], bool]) -> bool:
    """Whether the wanted rows are there in their order, with others between them."""
    k = 0
    for row in range(rows):
        if k < wanted and fits(row, k):
            k += 1
    return k == wanted


def _key(row: Sequence[Any], typed: bool) -> str:
    """Equal for rows that are surely right for each other, but for the last digits of their numbers."""
    cells = [cell_value(cell, typed) for cell in row]
    return repr([f"{c:.9g}" if isinstance(c, (int, float)) and not isinstance(c, bool) else c or "" for c in cells])


def _pair_all(
    rows: Sequence[str], right: Sequence[str], fits: Callable[[int, int], bool]
) -> tuple[list[int], list[int]]:
    """Rows and wanted rows that are left when as many as can be are paired up; those with equal keys first: quick."""
    places: dict[str, list[int]] = {}
    for k, key in enumerate(rows):
        places.setdefault(key, []).append(k)
    missing = []
    for want, key in enumerate(right):
        equal = places.get(key)
        if equal and fits(equal[-1], want):
            equal.pop()
        else:
            missing.append(want)
    spare = sorted(k for left in places.values() for k in left)
    if len(spare) > MAX_UNORDERED or len(missing) > MAX_UNORDERED:
        return spare, missing
    return pair(spare, missing, fits)


def pair(rows: list[int], wanted: list[int], fits: Callable[[int, int], bool]) -> tuple[list[int], list[int]]:
    """What is left of both when as many as can be are paired up (augmenting paths)."""
    owner: dict[int, int] = {}  # row -> wanted
    options = {want: [row for row in rows if fits(row, want)] for want in wanted}

    def place(want: int, tried: set[int]) -> bool:
        stack = [(want, iter(options[want]))]
        path: list[tuple[int, int]] = []
        while stack:
            now, rest = stack[-1]
            row = next((row for row in rest if row not in tried), None)
            if row is None:
                stack.pop()
                if path:
                    path.pop()
                continue
            tried.add(row)
            path.append((row, now))
            if row not in owner:
                owner.update(path)
                return True
            stack.append((owner[row], iter(options[owner[row]])))
        return False

    missing = [want for want in wanted if not place(want, set())]
    return [row for row in rows if row not in owner], missing


def _cells(got: Table, k: int, want: Sequence[Any], rules: Rules) -> list[str]:
    """What is wrong with the cells of one row."""
    wrong = [c for c, right in enumerate(want) if not rules.fits(got.rows[k][c], right, got.typed)]
    head = f"{got.places[k]} ({_row(got, k)})" if len(got.columns) <= 6 else got.places[k]
    return [f"{head}, column {got.columns[c]!r} is {kind(got.rows[k][c])}; right is {_right(want[c])}" for c in wrong]


def kind(value: Any) -> str:
    """A value with its type, where a person could take it for another one."""
    if isinstance(value, str) and not isinstance(cell_value(value, typed=False), str):
        return f"{shown(value)} (a text)"
    return "empty" if value is None else shown(value)


def _right(want: Any) -> str:
    return "empty" if want is None else str(want) if isinstance(want, Predicate) else shown(want)


def _row(got: Table, k: int) -> str:
    return shown(dict(zip(got.columns, got.rows[k], strict=True)), 200)


def _wanted(got: Table, want: Sequence[Any]) -> str:
    pairs: Mapping[str, Any] = dict(zip(got.columns, want, strict=True))
    return shown({name: value.data if isinstance(value, Predicate) else value for name, value in pairs.items()}, 200)


def listed(lines: Sequence[str]) -> str:
    """Some of the lines, and how many more there are."""
    left = len(lines) - MOST_SHOWN
    return "; ".join(lines[:MOST_SHOWN]) + (f"; and {left} more" if left > 0 else "")
