"""Tables of the command line, on terminals of all widths."""

import io
import re
import sys
import threading
import time
from contextlib import redirect_stdout

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from deskgym.cli.output import print_table, pulse

WORDS = st.lists(st.text("abcé漢/.-_:", min_size=1, max_size=30), max_size=3).map(" ".join)


def printed(columns, rows, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table("title", columns, rows)
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("width", [80, 40, 20])
def test_ids_stay_whole_on_narrow_terminals(width, monkeypatch, capsys):
    task = "penguins/tomas/private-action/closest-relation.insight_mining"
    reason = "no: table analysis needs pandas: run `deskgym install table_analysis`"
    out = printed(("task", "mode", "supported"), [(task, "private-action", reason)], width, monkeypatch, capsys)
    assert task in out and "private-action" in out.replace(task, "")
    assert all(len(line) <= width for line in out.splitlines() if task not in line)


def test_other_columns_give_way_where_the_ids_leave_room(monkeypatch, capsys):
    rows = [("kalgebra/plot-2d", "a message of several words " * 4), ("kalgebra/color", "")]
    lines = printed(("task", "message"), rows, 50, monkeypatch, capsys).splitlines()
    assert max(map(len, lines)) <= 50 and sum("kalgebra/plot-2d" in line for line in lines) == 1
    assert any(line.split()[:2] == ["task", "message"] for line in lines)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@example(rows=[("", "", ":" * 19)], width=20)
@given(rows=st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=3), width=st.integers(20, 300))
@example(rows=[("", "", ":" * 19)], width=20)
@example(rows=[("", "", ": 漢 :")], width=20)
def test_no_word_is_broken(rows, width):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("NO_COLOR", "1")
        with redirect_stdout(io.StringIO()) as out:
            print_table("", ("task", "mode", "why"), rows)
    there = out.getvalue()
    assert all(word in there for row in rows for cell in row for word in cell.split())


def test_what_takes_long_is_said_where_there_is_no_bar(capsys, monkeypatch):
    parts = iter(["rootfs: python3", "rootfs: perl"])
    said = threading.Event()

    def doing():
        part = next(parts, "")
        if not part:
            said.set()
        return part

    began = time.monotonic()
    with pulse(doing, seconds=0.05):
        assert said.wait(60)
    assert time.monotonic() - began >= 3 * 0.05
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("rootfs: python3 (after ") and lines[1].startswith("rootfs: perl (after ")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with pulse(lambda: "rootfs: python3", seconds=0.05):
        time.sleep(0.2)
    assert capsys.readouterr().err == ""
