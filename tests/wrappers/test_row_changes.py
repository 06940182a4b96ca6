"""The rows that a recording says have changed: those that a check has compared, and no others."""

import json
from types import SimpleNamespace

from deskgym.wrappers.recording.row_changes import row_changes


def final(key, before, after, failure=None):
    machine = SimpleNamespace(baselines={key: before})
    return SimpleNamespace(machine=machine, reads={f"now:{key}": (after, failure), f"baseline:{key}": (before, None)})


def table(*rows):
    return {"orders": {"key": ["id"], "rows": list(rows)}}


def test_each_kind_of_change_is_told_once():
    before = table(
        {"id": 1, "status": "new", "seen": 5},
        {"id": 2, "status": "new", "seen": 5},
        {"id": 3, "status": "old", "seen": 5},
    )
    after = table(
        {"id": 1, "status": "paid", "seen": 6},
        {"id": 2, "status": "new", "seen": 9},
        {"id": 4, "status": "x" * 999, "seen": 1},
    )
    told = row_changes(final("sql.diff:shop:::['*.seen', 't.n:[ab]']", before, after))["rows"]
    assert [(row["database"], row["table"], row["kind"]) for row in told] == [
        ("shop", "orders", "update"), ("shop", "orders", "delete"), ("shop", "orders", "insert"),
    ]  # fmt: skip
    assert told[0]["old"]["status"] == "new" and told[0]["new"]["status"] == "paid" and "status" in told[0]["columns"]
    assert told[1]["new"] is None and told[2]["old"] is None and len(told[2]["new"]["status"]) == 300


def test_files_and_mail_have_names_too():
    before, after = table(), table({"id": 1})
    assert row_changes(final("sql.diff::/home/a:b.db::[]", before, after))["rows"][0]["database"] == "/home/a:b.db"
    assert row_changes(final("sql.diff:shop::orders:[]", before, after))["rows"][0]["database"] == "shop orders"
    assert row_changes(final("mail", before, after))["rows"][0]["database"] == "mail"


def test_what_could_not_be_read_or_was_not_compared_is_passed_over():
    nothing = {"rows": [], "more": False}
    assert row_changes(final("sql.diff:shop:::[]", table(), None, ValueError("gone"))) == nothing
    assert row_changes(final("sql.diff:shop:::[open", table(), table({"id": 1}))) == nothing
    assert row_changes(final("other", {"a": 1}, {"a": 2})) == nothing
    for odd in (
        {"t": [1, 2]},
        {"t": "x"},
        {1: {}, "a": {}},
        {"t": {"key": ["id"], "rows": [1]}},
        {"t": {"rows": [{"id": {1}}]}},
    ):
        assert row_changes(final("mail", odd, {"t": {"rows": [{"id": 1}]}}))["more"] is False


def test_a_recording_stays_small():
    many = table(*({"id": k} for k in range(500)))
    told = row_changes(final("mail", table(), many))
    assert len(told["rows"]) == 200 and told["more"]
    wide = table({"id": 1, "n" * 10_000: 1, "big": 10**400, "nan": float("nan"), **{f"c{k}": k for k in range(500)}})
    (row,) = row_changes(final("mail", table(), wide))["rows"]
    assert len(row["new"]) == 60 and max(map(len, row["new"])) == 100 and json.dumps(row, allow_nan=False)


def test_two_checks_of_one_database_name_a_row_once():
    one, other = (
        final("sql.diff:shop:::[]", table(), table({"id": 1})),
        final("sql.diff:shop:::['x']", table(), table({"id": 1})),
    )
    one.machine.baselines |= other.machine.baselines
    one.reads |= other.reads
    assert len(row_changes(one)["rows"]) == 1
