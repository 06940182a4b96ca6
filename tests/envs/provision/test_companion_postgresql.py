"""A PostgreSQL server in a companion: rolled back by renaming a spare copy, while an application is connected."""

import glob
import time
from collections import Counter

import pytest

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import AnswerTooLarge, ServiceDown, ServiceError
from deskgym.envs.evaluation.checks import CHECKS
from deskgym.envs.evaluation.evaluator import Check, Evaluator
from deskgym.envs.machines.base import MachineConfig
from deskgym.envs.machines.sandbox.machine import SandboxMachine
from deskgym.envs.provision.services import Daemon, Postgresql, Ready, ServiceSpec
from deskgym.task_suites.core.task import Task

BIN = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"))), "")
pytestmark = pytest.mark.sandbox

FOLDER, SOCKET = "/var/lib/pg", "/tmp"
SEED = """
CREATE TABLE parts (id serial PRIMARY KEY, name text NOT NULL, price numeric(8,2), made date);
INSERT INTO parts (name, price, made)\
  SELECT 'part ' || k, k * 1.5, date '2024-01-01' + k FROM generate_series(1, 500) k;
CREATE TABLE notes (part integer REFERENCES parts, text text);
CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT SELECT, INSERT, UPDATE ON parts TO clerk;
GRANT CREATE ON SCHEMA public TO clerk; CREATE ROLE nobody LOGIN IN ROLE pg_read_all_data, pg_monitor;
"""
STORE = ServiceSpec(
    name="store",
    files=((f"{FOLDER}/seed.sql", SEED),),
    before=(
        (f"{BIN}/initdb", "-D", f"{FOLDER}/data", "-U", "user", "-A", "trust", "--no-sync"),
        ("sh", "-c", f"echo 'CREATE DATABASE store;' | {BIN}/postgres --single -D {FOLDER}/data postgres"),
        ("sh", "-c", f"grep -v '^$' {FOLDER}/seed.sql | {BIN}/postgres --single -j -D {FOLDER}/data store"),
    ),
    daemons=(
        Daemon(
            (f"{BIN}/postgres", "-D", f"{FOLDER}/data", "-k", SOCKET, "-c", "fsync=off"),
            Ready(port=5432, sql="SELECT 1 FROM parts"),
        ),
    ),
    ports=(5432,),
    data=(Postgresql("store", user="agent", role="user", socket=SOCKET, reader="nobody"),),
)  # fmt: skip


@pytest.fixture
def desktop(keeper):
    with SandboxMachine(MachineConfig(screen_size=None)) as machine:
        keeper.give(machine, [STORE], Counter())
        yield machine


def count(companion, **options):
    return companion.sql("SELECT count(*) AS n, sum(price) AS price FROM parts", **options)[0]


def as_clerk(machine, sql):
    """What the agent does with the account that the task gave it."""
    argv = ["psql", "-X", "-h", "127.0.0.1", "-U", "clerk", "-d", "store", "-c", sql]
    return machine.run(argv, env={"PGPASSWORD": "clerk"})


def test_it_is_rolled_back_while_the_desktop_is_connected(keeper, desktop):
    companion, times = desktop.companions["store"], []
    for _ in range(4):
        assert count(companion) == {"n": 500, "price": 187875.0}
        assert b"UPDATE 500" in as_clerk(desktop, "UPDATE parts SET price = 0").stdout
        assert b"INSERT 0 1" in as_clerk(desktop, "INSERT INTO parts (id, name) VALUES (777, 'new')").stdout
        assert count(companion) == {"n": 501, "price": 0} and count(companion, base=True)["n"] == 500
        companion.execute("CREATE TABLE more (x int); INSERT INTO notes VALUES (777, 'a note')")
        desktop.restore(None)
        stats = Counter()
        keeper.give(desktop, [STORE], stats)
        assert stats == {"companion_roll_backs": 1} and desktop.companions["store"] is companion
        times.append(companion.timing)
    print("roll-back in ms:", times)
    assert min(sum(timing.values()) for timing in times) < 1000  # 100 on an idle machine


def test_queries_read_and_never_write(desktop):
    companion = desktop.companions["store"]
    rows = companion.sql("SELECT id, name, price, made, NULL AS none FROM parts WHERE id < 3 ORDER BY id;")
    assert rows[0] == {"id": 1, "name": "part 1", "price": 1.5, "made": "2024-01-02", "none": None} and len(rows) == 2
    assert companion.sql("SELECT 1 AS x WHERE false") == []
    for wrong, words in [
        ("DELETE FROM parts RETURNING id", "syntax error"),
        ("SELECT nextval('parts_id_seq')", "permission denied for sequence"),
        ("SELECT 1) AS result; COMMIT; DROP TABLE parts; SELECT (1", "read-only"),
        ("SELECT * FROM nowhere", "nowhere"),
    ]:
        with pytest.raises(ServiceError, match=words):
            companion.sql(wrong)
    assert count(companion)["n"] == 500
    with pytest.raises(ServiceError, match="nonsense"):
        companion.execute("DELETE FROM parts; nonsense")
    assert count(companion)["n"] == 500


def test_a_lock_that_the_agent_holds_does_not_keep_the_truth_from_being_read(desktop):
    hold = (
        "(echo 'BEGIN; UPDATE parts SET price = 0; LOCK TABLE parts;'; sleep 60) | psql -X -h 127.0.0.1 -U clerk store"
    )
    desktop.guest.launch(["sh", "-c", hold])
    companion = desktop.companions["store"]
    locked = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation::regclass::text = 'parts'"
    end = time.monotonic() + 10
    while not companion.sql(locked):
        assert time.monotonic() < end
    assert count(companion) == {"n": 500, "price": 187875.0}


def test_a_server_that_is_down_is_said_so(keeper, desktop):
    companion = desktop.companions["store"]
    companion.run(["pkill", "-9", "postgres"], user="guest")
    with pytest.raises(ServiceDown, match=r"(?s)database '.*it is down: postgres ended with -9; its last"):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            count(companion)


def test_a_role_that_appears_or_a_server_that_ends_replaces_the_companion(keeper, desktop):
    for harm in (
        lambda companion: companion.execute("CREATE ROLE thief LOGIN SUPERUSER"),
        lambda companion: companion.run(["pkill", "-9", "postgres"], user="guest"),
    ):
        companion = desktop.companions["store"]
        harm(companion)
        desktop.restore(None)
        stats = Counter()
        keeper.give(desktop, [STORE], stats)
        assert stats == {"companion_repairs": 1, "companion_starts": 1}
        assert count(desktop.companions["store"])["n"] == 500


@pytest.mark.parametrize("setting", ["SET default_transaction_read_only = on", "PASSWORD 'other'"])
def test_what_an_account_changes_of_itself_does_not_reach_the_next_episode(keeper, desktop, setting):
    assert b"ALTER ROLE" in as_clerk(desktop, f"ALTER ROLE clerk {setting}").stdout
    desktop.restore(None)
    stats = Counter()
    keeper.give(desktop, [STORE], stats)
    assert stats == {"companion_repairs": 1, "companion_starts": 1}
    assert b"UPDATE 500" in as_clerk(desktop, "UPDATE parts SET price = 0").stdout


@pytest.mark.parametrize("copy", ["base", "spare"])
def test_the_copies_are_out_of_the_agents_reach(desktop, copy):
    argv = ["psql", "-X", "-h", "127.0.0.1", "-U", "clerk", "-d", f"store__{copy}", "-c", "UPDATE parts SET price = 0"]
    done = desktop.run(argv, env={"PGPASSWORD": "clerk"})
    assert done.returncode != 0 and b"UPDATE" not in done.stdout
    assert count(desktop.companions["store"], base=True) == {"n": 500, "price": 187875.0}


def test_rows_too_large_to_read_are_the_agents_fault(desktop):
    assert b"INSERT 0 1" in as_clerk(desktop, "INSERT INTO parts (id, name) VALUES (9, repeat('x', 9000000))"
                                     " ON CONFLICT (id) DO UPDATE SET name = repeat('x', 9000000)").stdout  # fmt: skip
    check = Check("sql", lambda final: (bool(desktop.companions["store"].sql("SELECT * FROM parts")), ""))
    with pytest.raises(AnswerTooLarge, match="more than 6 MiB"):
        check.test(None)
    assert check(None).outcome == "fail"


def test_a_transaction_that_works_on_does_not_keep_the_evaluator_from_reading(desktop):
    sql = "BEGIN; LOCK TABLE parts; SELECT pg_sleep(100)"
    argv = ["psql", "-X", "-h", "127.0.0.1", "-U", "clerk", "-d", "store", "-c", sql]
    desktop.guest.launch(argv, env={"PGPASSWORD": "clerk"}, cwd="/")
    locked = "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'parts'::regclass"
    end = time.monotonic() + 10
    while not desktop.companions["store"].sql(locked):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert count(desktop.companions["store"])["n"] == 500


@pytest.mark.parametrize("database, first", [("postgres", ""), ("store", ""), ("store", "BEGIN; LOCK TABLE parts; ")])
def test_what_an_account_still_does_is_ended_by_the_roll_back(keeper, desktop, database, first):
    companion, stats = desktop.companions["store"], Counter()
    argv = ["psql", "-X", "-h", "127.0.0.1", "-U", "clerk", "-d", database, "-c", f"{first}SELECT pg_sleep(100)"]
    desktop.guest.launch(argv, env={"PGPASSWORD": "clerk"}, cwd="/")
    while not companion.sql("SELECT 1 FROM pg_stat_activity WHERE usename = 'clerk' AND wait_event = 'PgSleep'"):
        time.sleep(0.05)
    desktop.restore(None)
    start = time.monotonic()
    keeper.give(desktop, [STORE], stats)
    assert stats == {"companion_roll_backs": 1} and time.monotonic() - start < 3  # 0.2 s on an idle machine
    assert count(companion)["n"] == 500
    assert not companion.sql("SELECT 1 FROM pg_stat_activity WHERE usename = 'clerk'")


TRAP = """
CREATE TYPE trap AS ENUM ('x');
CREATE FUNCTION spring(trap) RETURNS json LANGUAGE plpgsql AS $$ BEGIN
  COPY (SELECT 1) TO '/tmp/sprung'; RETURN '1'; END $$;
CREATE CAST (trap AS json) WITH FUNCTION spring(trap);
CREATE TABLE baits AS SELECT 'x'::trap AS bait;
"""


OVERLOADS = {  # each fits better than what PostgreSQL has of that name; what a query gives then
    "operator": (
        "CREATE FUNCTION lie(numeric, integer) RETURNS boolean LANGUAGE sql AS 'SELECT true';"
        "CREATE OPERATOR > (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = lie)",
        "SELECT id FROM parts WHERE price > 1000 AND id = 1",
        [[1]],
    ),
    "function": (
        "CREATE FUNCTION power(numeric, integer) RETURNS numeric LANGUAGE sql AS 'SELECT 5.0'",
        "SELECT power(price, 2) FROM parts WHERE id = 1",
        [[5]],
    ),
    "aggregate": (
        "CREATE FUNCTION lie(json, json) RETURNS json LANGUAGE sql AS $$ SELECT '[{\"price\": 5}]'::json $$;"
        "CREATE AGGREGATE json_agg(json) (SFUNC = lie, STYPE = json, INITCOND = '[]')",
        "SELECT price FROM parts WHERE id = 1",
        [[5]],
    ),
}


@pytest.mark.parametrize("kind", OVERLOADS)
def test_what_an_account_overloads_answers_no_query(desktop, kind):
    sql, query, forged = OVERLOADS[kind]
    check = Check.bound("sql", CHECKS["sql"], {"companion": "store", "query": query, "rows": forged})
    assert check(FinalState(desktop, "done")).outcome == "fail"
    own = as_clerk(desktop, "CREATE FUNCTION tax(numeric) RETURNS numeric LANGUAGE sql AS 'SELECT $1 / 5'")
    assert own.returncode == 0 and desktop.companions["store"].sql("SELECT tax(10) AS tax") == [{"tax": 2}]
    done = as_clerk(desktop, sql)
    assert done.returncode == 0, done.stderr
    result = check(FinalState(desktop, "done"))
    assert result.outcome == "fail" and "overloads what this database has" in result.message


def test_what_an_account_makes_in_the_servers_own_database_is_not_run(keeper, desktop):
    """The server's owner ends connections and makes copies from there, with all rights."""
    companion = desktop.companions["store"]
    companion.run(["psql", "-X", "-h", SOCKET, "-d", "postgres", "-c", "GRANT CREATE ON SCHEMA public TO clerk"])
    trap = (
        "CREATE FUNCTION pg_terminate_backend(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
        "ALTER ROLE clerk SUPERUSER; RETURN true; END $$; "
        "CREATE FUNCTION quote_ident(name) RETURNS text LANGUAGE plpgsql AS $$ BEGIN "
        "ALTER ROLE clerk SUPERUSER; RETURN $1::text; END $$"
    )
    argv = ["psql", "-X", "-h", "127.0.0.1", "-U", "clerk", "-d", "postgres", "-c", trap]
    done = desktop.run(argv, env={"PGPASSWORD": "clerk"})
    assert done.returncode == 0, done.stderr
    for _ in range(2):  # the second one needs the copy that the first one makes
        desktop.restore(None)
        stats = Counter()
        keeper.give(desktop, [STORE], stats)
        assert stats == {"companion_roll_backs": 1}
    assert companion.sql("SELECT rolsuper FROM pg_roles WHERE rolname = 'clerk'") == [{"rolsuper": False}]


def test_what_an_account_has_queries_run_has_no_rights_and_is_no_error(desktop):
    changes = Check.bound("sql.diff", CHECKS["sql.diff"], {"changes": [], "companion": "store"})
    Task("demo/x", "Do it.", Evaluator([changes]), None).prepare(desktop)
    assert changes(FinalState(desktop, "done")).outcome == "pass"
    done = as_clerk(desktop, TRAP)
    assert done.returncode == 0, done.stderr
    with pytest.raises(ServiceError, match="must be superuser"):
        desktop.companions["store"].sql("SELECT * FROM baits")
    assert changes(FinalState(desktop, "done")).outcome == "fail"
    assert desktop.companions["store"].run(["test", "-e", "/tmp/sprung"]).returncode == 1
