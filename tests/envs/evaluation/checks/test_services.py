"""Checks of services: queries, changes of whole databases and HTTP answers, of a real shop in a companion."""

import json
import sqlite3
import sys
from collections import Counter
from pathlib import Path

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import bind
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import Check, CheckFailed, Evaluator
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.task_suites.core.registry import Registry
from deskgym.task_suites.core.task import Task
from deskgym.wrappers.recording.recorded_state import keep, restore

sys.path.insert(0, str(Path(__file__).parents[2] / "provision"))
from shop_service import SHOP  # noqa: E402


def check(name: str, **arguments) -> Check:
    return Check.bound(name, CHECKS[name], bind(CHECKS[name], arguments, converters=Registry().converters(Path("/"))))


def started(machine, *checks: Check) -> Task:
    """A task whose setup is done on this machine."""
    task = Task("demo/x", "Do it.", Evaluator(checks), solve=lambda screen: iter(()))
    task.prepare(machine)
    return task


@pytest.fixture
def desktop(keeper):
    with SandboxMachine(MachineConfig(screen_size=None)) as machine:
        keeper.give(machine, [SHOP], Counter())
        machine.companions["shop"].execute("INSERT INTO orders (item) VALUES ('rice')")  # as a hook does
        yield machine


@pytest.mark.sandbox
def test_a_shop(desktop) -> None:
    right = check("sql.diff", companion="shop", changes=[{"insert": "orders", "row": {"item": "coffee"}}])
    updated = [{"update": "orders", "where": {"id": 1}, "row": {"item": "green tea"}}, {"delete": "orders"}]
    moved = check("sql.diff", companion="shop", changes=updated, ignore=["*.seen"])
    task = started(desktop, right, moved)
    shop = desktop.companions["shop"]

    def outcomes(*checks: Check) -> list[tuple[str, str]]:
        final = FinalState(desktop, "done")
        found = [(result.outcome, result.message) for result in (one(final) for one in checks)]
        again = restore(json.loads(json.dumps(keep(final))))  # a stored episode is scored again without a machine
        assert found == [(result.outcome, result.message) for result in (one(again) for one in checks)]
        return found

    [(outcome, message)] = outcomes(right)
    assert outcome == "fail" and "this was not done: insert orders row {'item': 'coffee'}" in message
    shop.execute("INSERT INTO orders (item) VALUES ('coffee')")
    assert outcomes(right) == [("pass", "shop: just the 1 right changes")]
    shop.execute("INSERT INTO orders (item) VALUES ('coffee')")
    [(outcome, message)] = outcomes(right)
    assert outcome == "fail" and "this should not be: insert orders {'id': 5, 'item': 'coffee'}" in message
    shop.execute("DELETE FROM orders WHERE id > 3; UPDATE orders SET item = 'green tea' WHERE id = 1")
    assert "update orders item: 'tea' -> 'green tea' of {'id': 1}" in outcomes(right)[0][1]
    shop.execute("DELETE FROM orders WHERE id = 2")
    assert outcomes(moved)[0][0] == "pass"
    query = {"companion": "shop", "query": "SELECT item FROM orders ORDER BY id"}
    assert outcomes(check("sql", **query, rows=[["green tea"], ["rice"]]))[0][0] == "pass"
    assert outcomes(check("sql", **query, rows=[["green tea"]]))[0][0] == "fail"
    none = {"companion": "shop", "query": "SELECT item FROM orders WHERE id = 99"}
    assert outcomes(check("sql", **none, rows=[]))[0][0] == "pass"
    assert outcomes(check("sql", **none, rows=[{"item": "x"}]))[0] == (
        "fail",
        "shop: 'SELECT item FROM orders WHERE id = 99': it has 0 rows, right are 1; there is no row {'item': 'x'}",
    )
    assert outcomes(check("sql", companion="bank", query="SELECT 1", rows=[]))[0][0] == "error"
    assert outcomes(check("http", companion="shop", path="/", at="0.1", that={"equals": "green tea"}))[0][0] == "pass"
    assert outcomes(check("http", companion="shop", path="/page", that={"contains": "<h1>Orders"}))[0][0] == "pass"
    assert outcomes(check("http", companion="shop", path="/page", at=[], that={"equals": 1}))[0][0] == "fail"
    admin = {"companion": "shop", "path": "/admin", "method": "POST", "body": "x"}
    assert "has the status 403, right is 201" in outcomes(check("http", **admin, status=201))[0][1]
    token = {"headers": {"Authorization": "Bearer $SHOP_TOKEN"}}
    assert outcomes(check("http", **admin, **token, status=201))[0][0] == "pass"
    assert task.evaluate(FinalState(desktop, "done")).success is False


@pytest.mark.sandbox
def test_what_the_agent_made_unreadable_fails_and_is_no_error(desktop) -> None:
    item = {"companion": "shop", "query": "SELECT item FROM orders WHERE id = 1"}
    wrong = check("sql", companion="shop", query="SELECT nothing FROM orders", rows=[])
    checks = check("sql", **item, rows=[["tea"]]), check("sql.diff", companion="shop", changes=[]), wrong
    started(desktop, *checks)
    desktop.companions["shop"].execute("DROP TABLE orders; CREATE TABLE orders (it)")
    final = FinalState(desktop, "done")
    assert [one(final).outcome for one in checks] == ["fail", "fail", "error"]
    assert wrong(FinalState(desktop, "done", acted=True)).outcome == "fail"  # the column may have been a hook's


@pytest.mark.sandbox
def test_a_check_without_its_baseline_is_an_error(desktop) -> None:
    desktop.baselines = {}
    result = check("sql.diff", companion="shop", changes=[])(FinalState(desktop, "done"))
    assert result.outcome == "error" and "episode's start" in result.message


PATH = "/home/user/x.db"


def database(tmp_path, *commands: str) -> bytes:
    path = tmp_path / "x.db"
    with sqlite3.connect(path) as connection:
        for command in commands:
            connection.execute(command)
    return path.read_bytes()


def test_a_file_that_the_agents_programs_write(state, tmp_path) -> None:
    made = database(
        tmp_path,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b BLOB)",
        "CREATE TABLE log (text, at)",
        "INSERT INTO t VALUES (1, 'x', x'00ff'), (2, 'y', NULL)",
        "INSERT INTO log VALUES ('l', 1), ('l', 1)",
    )
    final = state(**{"x.db": made})
    machine = final.machine
    changes = [
        {"update": "t", "where": {"a": {"matches": "[xy]"}}, "row": {"a": {"contains": "new"}}, "count": 2},
        {"insert": "log", "row": {"text": "l"}},
    ]
    one = check("sql.diff", path=PATH, changes=changes, ignore=["*.at"])
    machine.companions = {}
    started(machine, one)
    machine[PATH] = database(tmp_path, "UPDATE t SET a = 'new ' || a", "INSERT INTO log VALUES ('l', 2)")
    assert one(FinalState(machine, "done")).outcome == "pass", one(FinalState(machine, "done"))
    machine[PATH] = database(tmp_path, "UPDATE t SET b = x'01' WHERE id = 1")
    result = one(FinalState(machine, "done"))
    assert result.outcome == "fail" and "b: '00FF' -> '01'" in result.message, result
    machine[f"{PATH}-wal"] = GuestCallError(f"{PATH}-wal is not a regular file", kind="OSError")
    with pytest.raises(CheckFailed, match=f"^{PATH}: it cannot be read: {PATH}-wal is not a regular file"):
        one.test(FinalState(machine, "done"))
    del machine[f"{PATH}-wal"]
    machine[PATH] = b"broken"
    assert one(FinalState(machine, "done")).outcome == "fail"
    del machine[PATH]
    with pytest.raises(CheckFailed, match="cannot be read"):
        one.test(FinalState(machine, "done"))


@pytest.mark.parametrize(
    "commands",
    [
        ["DROP TABLE t", "CREATE TABLE t (id, a PRIMARY KEY)", "INSERT INTO t VALUES (1, 'x'), (3, 'y')"],
        ["DROP TABLE t", "CREATE TABLE t (id, a)", "INSERT INTO t VALUES (1, 'z'), (1, 'x'), (2, 'y'), (3, 'y')"],
        ["DELETE FROM loose WHERE a = 'x'"],
        ["INSERT INTO loose (rowid, id, a) VALUES (0, NULL, 'z')"],
        ['CREATE TABLE "key:t" (a)', "INSERT INTO \"key:t\" VALUES ('z')"],
        ['INSERT INTO "key:loose" VALUES (1)'],
    ],
)
def test_rows_are_not_hidden_by_another_key(state, tmp_path, commands: list[str]) -> None:
    made = database(
        tmp_path,
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a)",
        "INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'y')",
        "CREATE TABLE loose (id TEXT PRIMARY KEY, a)",
        "INSERT INTO loose VALUES (NULL, 'x'), (NULL, 'y')",
        'CREATE TABLE "key:loose" (a)',
    )
    machine = state(**{"x.db": made}).machine
    machine.companions = {}
    one = check("sql.diff", path=PATH, changes=[])
    started(machine, one)
    assert one(FinalState(machine, "done")).outcome == "pass"
    machine[PATH] = database(tmp_path, *commands)
    result = one(FinalState(machine, "done"))
    assert result.outcome == "fail" and "this should not be" in result.message, result
