"""Rows that have changed, judged against those that should have, and found again by those who record episodes."""

from types import SimpleNamespace

import pytest

from deskgym.envs.evaluation.readers.changed_rows import (
    NOW,
    Change,
    changed_rows,
    compared_changes,
    compared_key,
    judge_changes,
)

BEFORE = {"t": {"key": ["id"], "rows": [{"id": 1, "a": "x", "seen": 1}, {"id": 2, "a": "y", "seen": 1}]}}
AFTER = {"t": {"key": ["id"], "rows": [{"id": 1, "a": "z", "seen": 2}, {"id": 3, "a": "y", "seen": 1}]}}
RIGHT = [
    Change(update="t", where={"id": 1}, row={"a": "z"}),
    Change(delete="t", where={"id": 2}),
    Change(insert="t", row={"a": "y"}),
]


def test_just_the_right_changes_pass() -> None:
    done = changed_rows(BEFORE, AFTER, ["t.seen"])
    assert [change.kind[0] for change in done] == ["update", "delete", "insert"]
    assert judge_changes("shop", done, RIGHT, ["t.seen"]) == (True, "shop: just the 3 right changes")
    assert changed_rows(BEFORE, BEFORE) == []


@pytest.mark.parametrize(
    ("changes", "ignore", "message"),
    [
        (RIGHT[:2], ["t.seen"], "this should not be: insert t"),
        ([*RIGHT, RIGHT[2]], ["t.seen"], "this was not done: insert t"),
        (RIGHT, [], "this was not done: update t"),  # a column more has changed
    ],
)
def test_too_much_and_too_little_fail(changes, ignore, message) -> None:
    passed, said = judge_changes("shop", changed_rows(BEFORE, AFTER, ignore), changes, ignore)
    assert not passed and message in said


@pytest.mark.parametrize(
    ("asked", "database"),
    [
        (("shop", "", "", None), "shop"),
        (("shop", "", "orders", ["t.[x]", "t.seen"]), "shop orders"),
        (("", "/home/user/a:b.db", "", ["t.seen"]), "/home/user/a:b.db"),
    ],
)
def test_what_a_check_has_compared_is_found_by_its_key(asked, database) -> None:
    key = compared_key(*asked)
    final = SimpleNamespace(
        machine=SimpleNamespace(baselines={key: BEFORE}),
        reads={f"{NOW}{key}": (AFTER, None), "other": (AFTER, None), f"{NOW}none": (AFTER, None)},
    )
    found = list(compared_changes(final))
    assert {name for name, _ in found} == {database} and len(found) == 3
