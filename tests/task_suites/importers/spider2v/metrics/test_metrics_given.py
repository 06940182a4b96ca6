"""The published golds: each is right, and what the task starts with, nothing and a mutated gold are not."""

import csv
import io
import json
from pathlib import Path

import openpyxl
import pytest
from metric_scores import Given, given_comparisons, scores

MACHINE = "check_local_database"  # reads DuckDB files in a sandbox


def mutant(one: Given) -> bytes:
    """The gold with one value changed, or cut to half."""
    data = one.gold.read_bytes()
    if one.gold.suffix == ".ipynb":
        book = json.loads(data)
        cell = next(cell for cell in reversed(book["cells"]) if cell.get("outputs") or "outputs" not in one.metric)
        cell["source"] = ["print('something else')"]
        cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["something else"]}]
        return json.dumps(book).encode()
    if one.gold.suffix == ".xlsx":
        return without_last_value(data)
    if one.gold.suffix == ".json":
        return json.dumps([json.loads(data), "more"]).encode()
    if one.gold.suffix == ".csv" and data.count(b"\n") > 1:
        rows = list(csv.reader(io.StringIO(data.decode())))
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows[:-1])
        return text.getvalue().encode()
    return data[: len(data) // 2]


def without_last_value(data: bytes) -> bytes:
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    for sheet in book.worksheets:
        last = [cell for row in sheet.iter_rows() for cell in row if cell.value is not None][-1]
        last.value = f"{last.value} more"
        sheet._charts.clear()
        sheet._pivots.clear()
    changed = io.BytesIO()
    book.save(changed)
    return changed.getvalue()


def judge(one: Given) -> None:
    def each(result: object) -> tuple[float, float]:
        return scores(one.metric, result, one.gold, one.instruction, **one.options)

    name = f"{one.task} {one.metric}"
    assert each(one.gold.read_bytes()) == (1, 1), name
    assert each(None) == each(b"") == (0, 0), name
    assert each(mutant(one))[1] == 0, name
    if one.start is not None:
        assert each(one.start.read_bytes()) == (0, 0), name


def test_every_gold_but_workbooks_and_databases(upstream, sampled) -> None:
    given = [one for one in given_comparisons(upstream) if one.metric not in (MACHINE, "compare_table")]
    assert len(given) > 30
    for one in sampled(given):
        judge(one)


@pytest.mark.slow
def test_every_workbook(upstream, sampled) -> None:
    given = [one for one in given_comparisons(upstream) if one.metric == "compare_table"]
    assert len(given) > 20
    for one in sampled(given):
        judge(one)


def renamed(path: Path) -> bytes:
    """A workbook with its sheets called otherwise, and all else as it was."""
    book, changed = openpyxl.load_workbook(path), io.BytesIO()
    for sheet in book.worksheets:
        sheet.title = sheet.title.replace("Sheet", "Table")
    book.save(changed)
    return changed.getvalue()


def test_a_renamed_sheet(upstream) -> None:
    names = {"sheet_idx0": "RNSheet2"}
    for one in given_comparisons(upstream):
        if one.task == "excel/1273e544":
            assert names.items() <= one.options["rules"][0].items()
            assert scores(one.metric, renamed(one.gold), one.gold, one.instruction, **one.options) == (0, 0)
            return
    pytest.fail("the task excel/1273e544 is not there")
