"""The rows that a recording says have changed: those that a check has compared, and no others."""

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
    told = row_changes(final("sql.diff:shop:::['*.seen']", before, after))
    assert [(row["database"], row["table"], row["kind"]) for row in told] == [
        ("shop", "orders", "update"), ("shop", "orders", "delete"), ("shop", "orders", "insert"),
    ]  # fmt: skip
    assert told[0]["old"]["status"] == "new" and told[0]["new"]["status"] == "paid" and "status" in told[0]["columns"]
    assert told[1]["new"] is None and told[2]["old"] is None and len(told[2]["new"]["status"]) == 300


def test_files_and_mail_have_names_too():
    before, after = table(), table({"id": 1})
    assert row_changes(final("sql.diff::/home/user/a.db::[]", before, after))[0]["database"] == "/home/user/a.db"
    assert row_changes(final("mail", before, after))[0]["database"] == "mail"


def test_what_could_not_be_read_or_was_not_compared_is_passed_over():
    assert row_changes(final("sql.diff:shop:::[]", table(), None, ValueError("gone"))) == []
    assert (
        row_changes(
            SimpleNamespace(machine=SimpleNamespace(baselines={}), reads={"now:x": (table(), None), "y": (3, None)})
        )
        == []
    )
    many = table(*({"id": k} for k in range(500)))
    assert len(row_changes(final("mail", table(), many))) == 200
