"""Metrics of Jupyter notebooks. They are read as JSON: nothing in them runs."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.task_suites.importers.spider2v.metrics.judging import GoldBroken, Judging, Value, metric, of_gold, rules_of
from deskgym.task_suites.importers.spider2v.metrics.pictures import look_alike
from deskgym.task_suites.importers.spider2v.metrics.structures import parse_json

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_PICTURES = ("image/png", "image/jpeg")


def read_cells(value: Value) -> list[dict[str, Any]]:
    """A notebook's cells with texts in one piece, as nbformat gives them. Raises CheckFailed."""
    data = parse_json(value)
    if not isinstance(data, dict) or not isinstance(data.get("nbformat"), int):
        raise CheckFailed("it is no notebook")
    cells = data.get("cells")
    if data["nbformat"] == 3:
        sheets = data.get("worksheets")
        cells = [cell for sheet in sheets for cell in sheet.get("cells", [])] if isinstance(sheets, list) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) and "cell_type" in cell for cell in cells):
        raise CheckFailed("the notebook has no cells")
    found = []
    for cell in cells:
        outputs = cell.get("outputs", [])
        if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
            raise CheckFailed("the notebook has outputs that are none")
        source = _joined(cell.get("source", cell.get("input", "")))
        found.append({**cell, "source": source, "outputs": [_output(output) for output in outputs]})
    return found


def _joined(lines: Any) -> Any:
    return "".join(lines) if isinstance(lines, list) and all(isinstance(line, str) for line in lines) else lines


def _output(output: dict[str, Any]) -> dict[str, Any]:
    joined = {key: _joined(value) if key == "text" else value for key, value in output.items()}
    if isinstance(output.get("data"), dict):
        joined["data"] = {
            kind: value if kind.endswith("json") else _joined(value) for kind, value in output["data"].items()
        }
    return joined


@metric
def compare_notebook_outputs(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """The same outputs below the same kinds of cells.

    Corrected: without execution counts, warnings (standard error), addresses in memory and empty cells at the end;
    pictures that look alike are equal.
    """
    with of_gold(expected):
        right = read_cells(expected)
    cells = read_cells(result)
    if judging.corrected:
        cells, right = _without_last(cells), _without_last(right)
    if problem := _kinds_differ(cells, right):
        return 0.0, problem
    for number, (cell, wanted) in enumerate(zip(cells, right, strict=True), 1):
        if wanted["cell_type"] != "code":
            continue
        if judging.corrected:
            if not _equal(_essence(cell["outputs"]), _essence(wanted["outputs"])):
                return 0.0, f"cell {number} has other outputs"
        elif cell["outputs"] != wanted["outputs"]:
            return 0.0, f"cell {number} has other outputs"
    return 1.0, f"the outputs of all {len(cells)} cells are right"


def _essence(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Outputs without what differs from run to run; texts printed one after the other are one."""
    found: list[dict[str, Any]] = []
    for output in outputs:
        kind = output.get("output_type")
        if kind == "stream":
            if output.get("name") == "stderr":
                continue
            if found and found[-1].get("output_type") == "stream":
                found[-1]["text"] = f"{found[-1]['text']}{output.get('text')}"
                continue
        found.append({key: value for key, value in output.items() if key not in ("execution_count", "metadata")})
    return found


def _equal(found: list[dict[str, Any]], right: list[dict[str, Any]]) -> bool:
    return len(found) == len(right) and all(_same(a, b) for a, b in zip(found, right, strict=True))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(
            _same_picture(a[key], b[key]) if key in _PICTURES else _same(a[key], b[key]) for key in a
        )
    if isinstance(a, str) and isinstance(b, str):
        return _ADDRESS.sub("0x", a).rstrip() == _ADDRESS.sub("0x", b).rstrip()
    return bool(a == b)


def _same_picture(a: Any, b: Any) -> bool:
    if a == b:
        return True
    try:
        pair = [base64.b64decode(one, validate=False) for one in (a, b)]
    except (TypeError, ValueError, binascii.Error):
        return False
    return look_alike(*pair)


@metric
def compare_notebook_cells(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """The same sources in the same kinds of cells; corrected: without empty cells at the end and ends of lines."""
    with of_gold(expected):
        right = read_cells(expected)
    cells = read_cells(result)
    if judging.corrected:
        cells, right = _without_last(cells), _without_last(right)
    if problem := _kinds_differ(cells, right):
        return 0.0, problem
    for number, (cell, wanted) in enumerate(zip(cells, right, strict=True), 1):
        pair = [cell["source"], wanted["source"]]
        if judging.corrected:
            pair = [[line.rstrip() for line in str(one).strip().splitlines()] for one in pair]
        if pair[0] != pair[1]:
            return 0.0, f"cell {number} has another source"
    return 1.0, f"the sources of all {len(cells)} cells are right"


@metric
def compare_ipynb_files(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """The same files but for their metadata.

    Upstream compares pairs of keys as they come and stops with the shorter file, so ``{}`` is right. Corrected: kinds,
    sources and outputs of all cells.
    """
    with of_gold(expected):
        right = parse_json(expected)
        wanted = read_cells(expected)
    found = parse_json(result)
    if judging.corrected:
        cells = read_cells(result)
        if problem := _kinds_differ(cells, wanted):
            return 0.0, problem
        for number, (cell, other) in enumerate(zip(cells, wanted, strict=True), 1):
            if cell["source"] != other["source"] or not _equal(_essence(cell["outputs"]), _essence(other["outputs"])):
                return 0.0, f"cell {number} differs"
        return 1.0, f"all {len(cells)} cells are right"
    if not isinstance(found, dict):
        return 0.0, "it is no notebook"
    for (key, value), (other_key, other_value) in zip(found.items(), right.items(), strict=False):
        if key != other_key or (key != "metadata" and value != other_value):
            return 0.0, f"{key!r} differs"
    return 1.0, "equal but for the metadata"


@metric
def is_jupyter_cell_executed(
    result: Value, expected: Value, judging: Judging, *, version: int = 4, cell_type: str = "code"
) -> tuple[float, str]:
    """The cells that were not run are those of ``expected``; corrected: cells with nothing in them do not count."""
    right = _numbers(expected)
    left = [
        k
        for k, cell in enumerate(read_cells(result))
        if cell["cell_type"] == cell_type and not cell.get("execution_count")
        and not (judging.corrected and not str(cell["source"]).strip())
    ]  # fmt: skip
    return (1.0, "all are run") if left == right else (0.0, f"cells {left} were not run; right is {right}")


@metric
def are_jupyter_outputs_cleared(
    result: Value, expected: Value, judging: Judging, *, version: int = 4, cell_type: str = "code"
) -> tuple[float, str]:
    """The cells with an execution count are those of ``expected``; corrected: or with outputs."""
    right = _numbers(expected)
    kept = [
        k
        for k, cell in enumerate(read_cells(result))
        if cell["cell_type"] == cell_type
        and (cell.get("execution_count") or (judging.corrected and cell["outputs"]))
    ]  # fmt: skip
    return (1.0, "all are cleared") if kept == right else (0.0, f"cells {kept} are not cleared; right is {right}")


def _numbers(expected: Value) -> list[int]:
    right = rules_of(expected).get("expected")
    if not isinstance(right, list):
        raise GoldBroken(f"the numbers of cells are {right!r}, no list")
    return right


def _without_last(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cells without empty ones at the end, which JupyterLab adds by itself."""
    last = len(cells)
    while last and not str(cells[last - 1]["source"]).strip() and not cells[last - 1]["outputs"]:
        last -= 1
    return cells[:last]


def _kinds_differ(cells: list[dict[str, Any]], right: list[dict[str, Any]]) -> str:
    kinds, wanted = [cell["cell_type"] for cell in cells], [cell["cell_type"] for cell in right]
    return "" if kinds == wanted else f"it has {len(cells)} cells of other kinds; right are {len(right)}"
