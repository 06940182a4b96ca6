"""``compare_csv``: the lines of a CSV file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Hashable

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.files import MAX_ROWS
from deskgym.envs.evaluation.readers.tables import cell_value
from deskgym.task_suites.importers.spider2v.metrics.judging import Judging, Value, brief, content, metric, of_gold, text

Row = tuple[Hashable, ...]


@metric
def compare_csv(
    result: Value,
    expected: Value,
    judging: Judging,
    *,
    strict: bool = True,
    ignore_case: bool = False,
    ignore_order: bool = False,
) -> tuple[float, str]:
    """Equal lines.

    Corrected: cells count as a spreadsheet reads them, so quotes and ``1.50`` for ``1.5`` make no difference, and rows
    below the header have no order where the instruction sets none.
    """
    if judging.corrected:
        with of_gold(expected):
            right = _rows(text(expected), ignore_case)
        return _compare(_rows(text(result), ignore_case), right, ordered=judging.ordered and not ignore_order)
    with of_gold(expected):
        wanted = content(expected).decode("utf-8", "ignore").splitlines()
    lines = content(result).decode("utf-8", "ignore").splitlines()
    if not strict:
        lines, wanted = [line.strip() for line in lines], [line.strip() for line in wanted]
    if ignore_case:
        lines, wanted = [line.lower() for line in lines], [line.lower() for line in wanted]
    if ignore_order:
        lines, wanted = sorted(lines), sorted(wanted)
    return (1.0, "equal") if lines == wanted else (0.0, _difference(lines, wanted))


def _rows(content: str, ignore_case: bool) -> list[Row]:
    rows: list[Row] = []
    try:
        for row in csv.reader(io.StringIO(content, newline=""), strict=True):
            if any(cell.strip() for cell in row):
                rows.append(tuple(_cell(cell.strip().lower() if ignore_case else cell.strip()) for cell in row))
            if len(rows) > MAX_ROWS:
                raise CheckFailed(f"it has more than {MAX_ROWS} rows")
    except csv.Error as error:
        raise CheckFailed(f"it is no CSV file: {error}") from None
    return rows


def _cell(cell: str) -> Hashable:
    """A number by its value, to nine digits; a code such as ``007`` stays a text."""
    value = cell_value(cell, typed=False)
    if isinstance(value, str) or (cell.lstrip("+-")[:1] == "0" and cell.lstrip("+-")[1:2].isdigit()):
        return cell
    if cell.lstrip("-").isdigit():
        return int(cell)
    return float(f"{value:.9g}")


def _compare(rows: list[Row], right: list[Row], *, ordered: bool) -> tuple[float, str]:
    if ordered or len(rows) != len(right) or (right and _is_header(right[0]) and rows[0] != right[0]):
        return (1.0, "equal") if rows == right else (0.0, _difference(rows, right))
    missing, spare = Counter(right) - Counter(rows), Counter(rows) - Counter(right)
    if missing or spare:
        return 0.0, f"missing {brief(list(missing)[:3], 300)}, not wanted {brief(list(spare)[:3], 300)}"
    return 1.0, "equal, in any order"


def _is_header(row: Row) -> bool:
    return len(set(row)) == len(row) and all(isinstance(cell, str) and cell for cell in row)


def _difference(found: list[Row] | list[str], right: list[Row] | list[str]) -> str:
    k = next((k for k, (a, b) in enumerate(zip(found, right, strict=False)) if a != b), min(len(found), len(right)))
    shown = [brief(rows[k] if k < len(rows) else "no more", 200) for rows in (found, right)]
    return f"it has {len(found)} rows, right are {len(right)}; row {k + 1} is {shown[0]}, right is {shown[1]}"
