"""Checks of tables: every kind of file, the rules of comparison, and messages that a person can read."""

import io
import random
import sqlite3
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks.table import CHECKS
from deskgym.envs.evaluation.evaluator import Check, CheckFailed
from deskgym.envs.evaluation.readers.compare import Rules, differences
from deskgym.envs.evaluation.readers.table_source import column_name, column_number, parse_range
from deskgym.envs.evaluation.readers.tables import Table
from deskgym.task_suites.core.registry import Registry

HOME = "/home/user/"


def workbook(*sheets: list[list], path: Path | None = None) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for k, rows in enumerate(sheets, 1):
        sheet = book.create_sheet(f"Sheet{k}")
        for row in rows:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    if path:
        path.write_bytes(out.getvalue())
    return out.getvalue()


def run(final, name: str, folder: Path = Path("/"), **arguments):
    """A check as a task file calls it."""
    arguments = {"in": arguments.pop("in_"), **arguments}
    given = bind(CHECKS[name], arguments, converters=Registry().converters(folder))
    return CHECKS[name](final, **given)


SALES = [["Region", "Total", "On"], ["North", 12.5, True], ["South", 80, False], ["East", None, True]]


@pytest.fixture
def files(state, tmp_path):
    database = tmp_path / "made.db"
    with sqlite3.connect(database) as connection:
        connection.execute("CREATE TABLE sales (Region TEXT, Total REAL, [On] INT)")
        connection.executemany("INSERT INTO sales VALUES (?, ?, ?)", SALES[1:])
    text = "Region,Total,On\nNorth, 12.50 ,TRUE\nSouth,80,false\nEast,,true\n"
    return state(
        **{
            "sales.xlsx": workbook([["other"]], SALES),
            "sales.csv": text.encode(),
            "sales.tsv": text.replace(",", "\t").encode(),
            "sales.db": database.read_bytes(),
        }
    )


IN = {
    "xlsx": {"path": HOME + "sales.xlsx", "sheet": "Sheet2"},
    "csv": HOME + "sales.csv",
    "tsv": HOME + "sales.tsv",
    "db": {"path": HOME + "sales.db", "table": "sales"},
}


@pytest.mark.parametrize("kind", IN)
def test_all_kinds_of_file_hold_the_same_rows(files, kind: str) -> None:
    yes, no = (1, 0) if kind == "db" else (True, False)
    right = [["North", 12.5, yes], ["South", 80, no], ["East", None, yes]]
    assert run(files, "table", in_=IN[kind], rows=right)[0]
    assert run(files, "table", in_=IN[kind], rows=[right[2], right[0], right[1]], ordered=False)[0]
    assert run(files, "table", in_=IN[kind], rows=right[1:2], more=True)[0]
    passed, message = run(files, "table", in_=IN[kind], rows=[["North", 12.6, yes], *right[1:]])
    assert not passed and "'Total' is" in message and "right is 12.6" in message
    passed, message = run(files, "table", in_=IN[kind], rows=[right[1], right[0], right[2]])
    assert not passed and "another order" in message
    passed, message = run(files, "table", in_=IN[kind], rows=right[:2])
    assert not passed and "it has 3 rows, right are 2" in message and "should not be there" in message
    passed, message = run(files, "table", in_=IN[kind], rows=[*right, ["West", 1, no]])
    assert not passed and "there is no row {'Region': 'West', 'Total': 1" in message
    assert run(files, "table", in_=IN[kind], columns=["total", "Region"], rows=[[12.5, "North"]], more=True)[0]
    assert run(files, "table", in_=IN[kind], rows=[{"Total": {"between": [70, 90]}}], more=True)[0]
    with pytest.raises(CheckFailed, match="did you mean 'Region'"):
        run(files, "table", in_=IN[kind], columns=["Regions"], rows=[["North"]])
    assert run(files, "table.count", in_=IN[kind], that={"equals": 3})[0]
    assert run(files, "table.header", in_=IN[kind], that={"equals": ["Region", "Total", "On"]})[0]
    assert run(files, "table.column", in_=IN[kind], column="Region", that={"equals": ["North", "South", "East"]})[0]
    where = {
        **(IN[kind] if isinstance(IN[kind], dict) else {"path": IN[kind]}),
        "where": {"Region": {"equals": "South"}},
    }
    assert run(files, "table.cell", in_=where, column="Total", that={"equals": 80})[0]
    assert run(files, "table.count", in_=where, that={"equals": 1})[0]
    where["where"] = {"Total": {"between": [70, 90]}}
    assert run(files, "table.cell", in_=where, column="Region", that={"equals": "South"})[0]
    for other in ({"not": {"equals": 80}}, {"matches": "80"}):  # a text that reads as a number is nothing else
        assert not run(files, "table.cell", in_=where, column="Total", that=other)[0]
        assert not run(files, "table", in_=where, columns=["Total"], rows=[[other]])[0]


def test_places_and_ranges(files) -> None:
    assert run(files, "table.cell", in_=IN["xlsx"], at="B2", that={"equals": 12.5})[0]
    assert run(files, "table.cell", in_=IN["csv"], at="B2", that={"equals": 12.5})[0]
    assert run(files, "table.cell", in_=IN["xlsx"], at="Z99", that={"equals": {"to": None}})[0]
    part = {**IN["xlsx"], "range": "A3:B4", "header": False}
    assert run(files, "table", in_=part, rows=[["South", 80], ["East", None]])[0]
    assert run(files, "table", in_=part, columns=["B"], rows=[[80], [None]])[0]
    with pytest.raises(CheckFailed, match="F1:G9 is empty"):
        run(files, "table", in_={**IN["xlsx"], "range": "F1:G9"}, rows=[])
    with pytest.raises(CheckFailed, match="unknown sheet 'Sheet3'"):
        run(files, "table", in_={**IN["xlsx"], "sheet": "Sheet3"}, rows=[])
    with pytest.raises(CheckFailed, match="no sheet 3; its sheets are"):
        run(files, "table", in_={**IN["xlsx"], "sheet": 3}, rows=[])


def test_a_reference_beside_the_task(files, tmp_path) -> None:
    (tmp_path / "gold.csv").write_text("Region,Total,On\nNorth,12.5,true\nSouth,80.001,false\nEast,,true\n")
    workbook(SALES, path=tmp_path / "gold.xlsx")
    for kind in ("xlsx", "csv", "tsv"):
        columns = {"columns": ["Region", "Total"]}
        assert run(files, "table", tmp_path, in_=IN[kind], like={"file": "gold.csv"}, abs=0.01, **columns)[0]
        assert not run(files, "table", tmp_path, in_=IN[kind], like={"file": "gold.csv"}, **columns)[0]
        assert run(files, "table", tmp_path, in_=IN[kind], like={"file": "gold.xlsx"})[0]
    (tmp_path / "other.csv").write_text("Area,Total\nNorth,1\n")
    passed, message = run(files, "table", tmp_path, in_=IN["xlsx"], like={"file": "other.csv"})
    assert not passed and "its columns are ['Region', 'Total', 'On']; right are ['Area', 'Total']" in message


def test_texts_that_are_numbers_are_told_from_numbers(state) -> None:
    final = state(**{"x.xlsx": workbook([["a"], ["12"], [" x "]]), "x.csv": b"a\n12\n x \n"})
    assert not run(final, "table", in_=HOME + "x.xlsx", rows=[[12], [" x "]])[0]
    assert "'12' (a text); right is 12" in run(final, "table", in_=HOME + "x.xlsx", rows=[[12], [" x "]])[1]
    assert run(final, "table", in_=HOME + "x.xlsx", rows=[["12"], [" x "]])[0]
    assert run(final, "table", in_=HOME + "x.xlsx", rows=[[12], ["X"]], loose=True)[0]
    assert run(final, "table", in_=HOME + "x.csv", rows=[[12], ["x"]])[0]


def test_sorting(state) -> None:
    rows = [["k", "v"], ["a", 3], ["a", 1], ["B", 2], [None, 9]]
    final = state(**{"x.xlsx": workbook(rows)})
    assert run(final, "table.sorted", in_=HOME + "x.xlsx", by=["k", "-v"])[0]
    assert not run(final, "table.sorted", in_=HOME + "x.xlsx", by=["k"], descending=True)[0]
    passed, message = run(final, "table.sorted", in_=HOME + "x.xlsx", by=["k", "v"])
    assert not passed and "'v' is 3 in row 2 and 1 in row 3" in message


def test_dates_are_iso_texts(state) -> None:
    from datetime import date, datetime

    final = state(**{"x.xlsx": workbook([["d"], [date(2026, 1, 31)], [datetime(2026, 1, 31, 12, 30)]])})
    assert run(final, "table", in_=HOME + "x.xlsx", rows=[["2026-01-31"], ["2026-01-31T12:30:00"]])[0]


def test_mistakes_of_the_task_are_errors_and_not_fails(files) -> None:
    for arguments in (
        {"in_": {"path": HOME + "sales.db"}, "rows": []},
        {"in_": HOME + "sales.csv"},
        {"in_": HOME + "sales.pdf", "rows": []},
        {"in_": HOME + "sales.csv", "rows": [{"a": 1}, {"b": 2}], "columns": ["Region"]},
    ):
        outcome = Check("x", lambda final, a=arguments: run(final, "table", **a))(files)  # noqa: B023
        assert outcome.outcome == "error", outcome


def test_a_query(files) -> None:
    query = "SELECT count(*) AS n, sum(Total) AS total FROM sales"
    assert run(files, "table", in_={"path": HOME + "sales.db", "query": query}, rows=[{"n": 3, "total": 92.5}])[0]
    with pytest.raises(CheckFailed, match="no such table: nothing"):
        run(files, "table", in_={"path": HOME + "sales.db", "table": "nothing"}, rows=[])


@given(st.integers(1, 16384))
def test_column_names_are_numbers(number: int) -> None:
    assert column_number(column_name(number)) == number
    assert parse_range(f"{column_name(number)}7") == (7, number, 7, number)


VALUES = st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.floats(-1e6, 1e6), st.text("ab ", max_size=3))


@given(st.lists(st.lists(VALUES, min_size=2, max_size=2), max_size=12), st.randoms(), st.data())
def test_a_table_is_right_for_itself_in_any_order_and_wrong_with_a_row_less(rows, random: random.Random, data) -> None:
    got = Table("t", ["a", "b"], rows, [f"row {k}" for k in range(len(rows))])
    assert differences(got, rows, Rules(), ordered=True, more=False) == []
    shuffled = rows[:]
    random.shuffle(shuffled)
    assert differences(got, shuffled, Rules(), ordered=False, more=False) == []
    assert differences(got, shuffled[1:], Rules(), ordered=False, more=True) == []
    if rows:
        assert differences(got, rows[1:], Rules(), ordered=False, more=False)
        assert differences(got, [*rows, ["new", "row"]], Rules(), ordered=False, more=True)


def test_rows_that_fit_several_are_paired_up_as_well_as_can_be() -> None:
    got = Table("t", ["a"], [[1.0], [1.4]], ["row 1", "row 2"])
    assert differences(got, [[1.2], [0.9]], Rules(abs=0.25), ordered=False, more=False) == []
    assert differences(got, [[1.2], [1.9]], Rules(abs=0.25), ordered=False, more=False)
