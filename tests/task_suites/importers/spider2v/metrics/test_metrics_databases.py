"""``check_local_database``."""

import sqlite3
from functools import partial

import duckdb
import pytest
from metric_scores import scores

from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.provision.builder import MachineBuilder
from deskgym.envs.provision.manager import MachineManager
from deskgym.envs.provision.pool import PoolConfig
from deskgym.task_suites.importers.spider2v.metrics import METRICS, GoldBroken, Judging

CONTENT = ["table-schema-content", "view-schema-content"]
START = ["CREATE TABLE t (id INTEGER, name VARCHAR)", "INSERT INTO t VALUES (1, 'a'), (2, NULL)",
         "CREATE VIEW v AS SELECT name FROM t WHERE id = 1"]  # fmt: skip
SWAPPED = [START[0], "INSERT INTO t VALUES (2, NULL), (1, 'a')", START[2]]
COLUMNS = ["CREATE TABLE t (name VARCHAR, id INTEGER)", "INSERT INTO t VALUES ('a', 1), (NULL, 2)", START[2]]
WRONG = [
    [*START, "INSERT INTO t VALUES (3, 'c')"],
    [*START, "UPDATE t SET name = 'b' WHERE id = 2"],
    [*START, "CREATE TABLE u (x INTEGER)"],
    START[:2],
    [START[0].replace("INTEGER", "BIGINT"), *START[1:]],
]


def sqlite_file(folder, statements) -> bytes:
    path = folder / "made.sqlite"
    path.unlink(missing_ok=True)
    base = sqlite3.connect(path)
    for statement in statements:
        base.execute(statement)
    base.commit()
    base.close()
    return path.read_bytes()


def duckdb_file(folder, statements) -> bytes:
    path = folder / "made.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as base:
        for statement in statements:
            base.execute(statement)
    return path.read_bytes()


def test_sqlite(tmp_path) -> None:
    made = partial(sqlite_file, tmp_path)
    check = partial(scores, "check_local_database", expected=made(START), db_type="sqlite3", check_type=CONTENT)
    assert check(made(START)) == (1, 1)
    assert check(made(SWAPPED)) == check(made(COLUMNS)) == (0, 1)
    for statements in WRONG[::2]:
        assert check(made(statements)) == (0, 0), statements
    for junk in (b"", made(START)[:-100]):
        assert check(junk) == (0, 0)
    assert check(made(WRONG[1]), table_targets=["none"]) == (1, 1), "no such table is in either"
    names = partial(scores, "check_local_database", expected=made(START), db_type="sqlite3")
    assert names(made(WRONG[0])) == (1, 1), "by default names alone are compared"
    assert names(made(START[:2])) == (0, 0)
    for options in ({"db_type": "oracle"}, {"db_type": "sqlite3", "check_type": ["rows"]}):
        with pytest.raises(GoldBroken):
            scores("check_local_database", made(START), made(START), **options)
    with pytest.raises(GoldBroken):
        scores("check_local_database", made(START), b"x" * 1000, db_type="sqlite3")


@pytest.mark.sandbox
@pytest.mark.slow
def test_duckdb_is_read_in_the_clean_machine(tmp_path) -> None:
    made = partial(duckdb_file, tmp_path)
    gold = tmp_path / "analytics.gold.duckdb"
    gold.write_bytes(made(["CREATE SCHEMA s", "USE s", *START]))
    builder = MachineBuilder("sandbox", MachineConfig(screen_size=None))
    manager = MachineManager(builder, lambda machine: SettlePolicy(), PoolConfig())
    try:
        manager.machine.start()
        for mode, swapped in (("paper", 0), ("corrected", 1)):
            judging = Judging(mode, manager.clean_machine)
            check = partial(METRICS["check_local_database"], expected=gold, judging=judging, check_type=CONTENT)
            assert check(gold.read_bytes()) == (1, "table-schema-content, view-schema-content are as they should be")
            assert check(made(["CREATE SCHEMA s", "USE s", *SWAPPED]), schema_name="s")[0] == swapped
            assert check(made(["CREATE SCHEMA s", "USE s", *WRONG[1]]))[0] == 0
        assert check(made(START), schema_name="s") == (0, "analytics.gold.duckdb: ValueError: there is no schema 's'")
        for junk in (b"", gold.read_bytes()[:5000], b"DUCK" * 5000):
            assert check(junk)[0] == 0
    finally:
        manager.close()
