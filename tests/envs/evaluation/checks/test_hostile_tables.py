"""Workbooks and databases that are made to break their reader: each is a fail with a reason, soon, in little memory."""

import io
import json
import resource
import sqlite3
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_sheet import made

from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.checks.table import table
from deskgym.envs.evaluation.evaluator import Check
from deskgym.envs.evaluation.readers import limited
from deskgym.envs.evaluation.readers.table_source import TableSource

SHEET = "xl/worksheets/sheet1.xml"


def changed(part: str, old: str, new: str, **parts: str) -> bytes:
    """A sound workbook with a piece of one of its parts replaced, and other parts added."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(made())) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        assert part in source.namelist()
        for name in source.namelist():
            content = source.read(name).decode()
            assert name != part or old in content
            target.writestr(name, content.replace(old, new, 1) if name == part else content)
        for name, content in parts.items():
            target.writestr(name, content)
    return out.getvalue()


def bomb() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for k in range(20):
            archive.writestr(f"xl/worksheets/sheet{k}.xml", b"<x>" + b" " * (10 << 20))
    return out.getvalue()


LAUGHS = (
    '<!DOCTYPE worksheet [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + k)} "{f"&{chr(97 + k)};" * 10}">' for k in range(9))
    + "]><worksheet"
)
CELLS = "".join(f'<row r="{r}"><c r="A{r}" t="s"><v>0</v></c></row>' for r in range(5, 9005))
WORKBOOKS = {
    "nothing": (b"", "not a zip file"),
    "a zip of nothing": (b"PK\x05\x06" + bytes(18), "KeyError"),
    "cut": (made()[:-100], "not a zip file"),
    "encrypted": (b"\xd0\xcf\x11\xe0" + bytes(600), "encrypted"),
    "a zip bomb": (bomb(), "unpacks to 200 MiB"),
    "billion laughs": (changed(SHEET, "<worksheet", LAUGHS), "EntitiesForbidden|DTDForbidden"),
    "a file of the host": (
        changed(SHEET, "<worksheet", '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><worksheet'), "Forbidden"
    ),
}  # fmt: skip


def checked(final, path: str, **source):
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = Check("table", lambda final: table(final, TableSource(path, **source), rows=[["x"]]))(final)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert time.monotonic() - start < 200 and grown < 600 << 10
    return result


@pytest.mark.parametrize("kind", WORKBOOKS)
def test_a_hostile_workbook_fails(state, kind: str) -> None:
    data, why = WORKBOOKS[kind]
    result = checked(state(**{"s.xlsx": data}), "/home/user/s.xlsx")
    assert result.outcome == "fail", result
    assert any(part in result.message for part in why.split("|")), result.message
    assert checked(state(**{"s.ods": data}), "/home/user/s.ods").outcome == "fail"


@pytest.mark.slow
def test_a_long_text_in_many_cells_fails(state) -> None:
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    strings = f'<sst xmlns="{space}"><si><t>{"x" * (1 << 20)}</t></si></sst>'
    data = changed(
        "[Content_Types].xml", "</Types>", f'<Override PartName="/xl/strings.xml" ContentType="{kind}"/></Types>',
        **{"xl/strings.xml": strings, "xl/worksheets/many.xml": ""},
    )  # fmt: skip
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(b"</sheetData>", CELLS.encode() + b"</sheetData>"))
    assert len(out.getvalue()) < 1 << 20
    result = checked(state(**{"s.xlsx": out.getvalue()}), "/home/user/s.xlsx")
    assert result.outcome == "fail" and ("MiB" in result.message or "MemoryError" in result.message), result.message


def test_a_range_of_the_whole_sheet_costs_nothing(state) -> None:
    for old, new in (('ref="F1:G2"', 'ref="F1:XFD1048576"'), ('sqref="B2:B4"', 'sqref="A1:XFD1048576"')):
        final = state(**{"s.xlsx": changed(SHEET, old, new)})
        start = time.monotonic()
        source = TableSource("/home/user/s.xlsx", range="A1:B9")
        result = Check("t", lambda final, source=source: table(final, source, columns=["Region"], rows=[]))
        assert result(final).outcome == "fail" and "has 3 rows" in result(final).message
        assert time.monotonic() - start < 20


def test_cells_far_apart(state) -> None:
    book = openpyxl.Workbook()
    for row in range(1, 400):
        book.active.cell(row * 2600, 1 + row * 40, row)
    book.active["XFD1048576"] = 1
    out = io.BytesIO()
    book.save(out)
    result = checked(state(**{"s.xlsx": out.getvalue()}), "/home/user/s.xlsx")
    assert result.outcome == "fail" and "too many to compare" in result.message, result


def test_formulas_that_reach_outside_are_texts(state) -> None:
    book = openpyxl.Workbook()
    for text in ('=WEBSERVICE("http://127.0.0.1:9/")', "='file:///etc/passwd'#$Sheet1.A1", '=DDE("sh";"-c";"x")'):
        book.active.append([text])
    out = io.BytesIO()
    book.save(out)
    found = limited.read("spreadsheet", out.getvalue(), "x", "xlsx")["sheets"][0]["cells"]
    assert [cell[2] for cell in found] == [None] * 3 and found[0][4].startswith("=WEBSERVICE")


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=30))
def test_a_damaged_workbook_is_never_an_error(state, damage) -> None:
    data = bytearray(made())
    for place, value in damage:
        data[place % len(data)] = value
    assert checked(state(**{"s.xlsx": bytes(data)}), "/home/user/s.xlsx", range="A1:B9").outcome == "fail"


def database(tmp_path, *commands: str) -> bytes:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        for command in commands:
            connection.execute(command)
    return path.read_bytes()


ENDLESS = "CREATE VIEW t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) AS a FROM n"
LARGE = "CREATE VIEW t AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
FAT = "CREATE VIEW t AS WITH n(x) AS (VALUES (1), (2), (3), (4), (5), (6), (7)) SELECT zeroblob(15 << 20) FROM n"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("CREATE TABLE other (a)", "no such table: t"),
        (LARGE, "more than 100000 rows"),
        ("CREATE VIEW t AS SELECT load_extension('/tmp/x.so') AS a", "load_extension|not authorized"),
        ("CREATE VIEW t AS SELECT readfile('/etc/passwd') AS a", "no such function"),
        (FAT, "MiB"),
        pytest.param(ENDLESS, "within 20 s", marks=pytest.mark.slow),
    ],
)
def test_a_hostile_database_fails(state, tmp_path, command: str, why: str) -> None:
    final = state(**{"x.db": database(tmp_path, command)})
    result = checked(final, "/home/user/x.db", table="t")
    assert result.outcome == "fail" and any(part in result.message for part in why.split("|")), result


def test_a_damaged_database_fails(state, tmp_path) -> None:
    data = database(tmp_path, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    for hostile in (b"", data[:-4000], b"SQLite format 3\0" + bytes(4000), bytes(5000)):
        assert checked(state(**{"x.db": hostile}), "/home/user/x.db", table="t").outcome == "fail"


def test_what_a_program_has_not_yet_moved_into_the_database_counts(state, tmp_path) -> None:
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES ('x')")
    connection.commit()
    log = (tmp_path / "x.db-wal").read_bytes()
    final = state(**{"x.db": path.read_bytes(), "x.db-wal": log})
    connection.close()
    assert checked(final, "/home/user/x.db", table="t").outcome == "pass"
    unreadable = GuestCallError("x.db-wal is not a regular file", kind="OSError")
    result = checked(state(**{"x.db": path.read_bytes(), "x.db-wal": unreadable}), "/home/user/x.db", table="t")
    assert result.outcome == "fail" and "x.db-wal is not a regular file" in result.message


PANIC = """
import runpy, sys, types
class PanicException(BaseException):
    pass
def panic(file):
    raise PanicException("index out of bounds")
workbook = types.SimpleNamespace(from_filelike=panic)
sys.modules["python_calamine"] = types.SimpleNamespace(CalamineWorkbook=workbook, SheetVisibleEnum=None)
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def test_a_panic_of_calamines_is_the_files_doing() -> None:
    """Rust's panics come as an exception that ``except Exception`` lets through."""
    script = str(Path(limited.__file__).with_name("spreadsheet.py"))
    done = subprocess.run([sys.executable, "-c", PANIC, script, "ods"], input=made(), capture_output=True)
    assert json.loads(done.stdout) == {"unreadable": "PanicException: index out of bounds"}, done


def test_a_broken_reader_is_an_error(state, monkeypatch) -> None:
    monkeypatch.setattr(limited.sys, "executable", "/bin/false")
    assert checked(state(**{"s.xlsx": made()}), "/home/user/s.xlsx").outcome == "error"
