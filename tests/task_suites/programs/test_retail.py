"""The retailer's tables: the same for a seed, fitting together, and what is right of them."""

import sqlite3

import pytest

from deskgym.task_suites.programs.retail import functions, tables


@pytest.mark.parametrize("seed", range(20))
def test_the_tables_fit_together(seed):
    made = tables.tables(seed)
    assert made == tables.tables(seed) != tables.tables(seed + 1)
    orphans = "select count(*) from orders where customer_id not in (select customer_id from customers)"
    assert functions.query(made, orphans) == [[0]]
    assert functions.query(made, "select count(*) from payments where amount <= 0") == [[0]]
    keys = functions.query(made, "select count(*), count(distinct product_id) from products")
    assert keys == [[12, 12]]
    overpaid = """
        select o.order_id from orders o where (select sum(amount) from payments p where p.order_id = o.order_id) <>
        (select sum(quantity * unit_price) from order_items i where i.order_id = o.order_id)
    """
    assert functions.query(made, overpaid) == []


def test_a_script_says_keys_and_types():
    script = functions.script({"a": [["n", "day", "x"], [1, "2024-01-02", None], [2, "2024-01-03", "it's"]]}, "duckdb")
    assert "n INTEGER PRIMARY KEY, day DATE, x VARCHAR" in script and "NULL" in script and "'it''s'" in script
    with sqlite3.connect(":memory:") as base:
        base.executescript(functions.script({"a": [["n"], [1], [1]]}, "sqlite"))
        assert base.execute("select count(*) from a").fetchone() == (2,)


@pytest.mark.parametrize("seed", range(20))
def test_dirt_is_there_and_goes(seed):
    dirty = functions.spoiled(seed)
    clean = functions.cleaned(dirty)
    ids = [row[0] for row in clean[1:]]
    assert len(dirty) == len(clean) + 3 and ids == sorted(set(ids))
    assert all(row[1] == row[1].strip().title() and len(row[4]) == 10 and row[4][4] == "-" for row in clean[1:])
    assert "n/a" not in functions.csv_text(clean)


@pytest.mark.parametrize("seed", range(5))
def test_a_broken_line_of_a_log_is_no_row(seed):
    log = functions.log(seed)
    rows = functions.log_table(log)[1:]
    whole = [line for line in log.splitlines() if line.count('"') == 2 and line.split()[-1].isdigit()]
    assert len(rows) == len([line for line in whole if len(line.split()) == 10])


def test_a_snapshot_keeps_what_changed_in_its_columns():
    orders = [["order_id", "status", "channel"], [1, "a", "x"], [2, "b", "y"]]
    later = [["order_id", "status", "channel"], [1, "c", "x"], [2, "b", "z"]]
    found = functions.history(orders, later, ["status"])
    assert found == {"current": [[1, "c", "x"], [2, "b", "y"]], "outdated": [[1, "a", "x"]]}
