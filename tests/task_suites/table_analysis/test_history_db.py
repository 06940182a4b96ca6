"""The history database: what it keeps, what a user's condition may do, and what an interrupted build leaves."""

import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from deskgym.envs.errors import TaskError
from deskgym.task_suites.table_analysis import history_query
from deskgym.task_suites.table_analysis.history_db import HistoryDB, HistoryError, build, with_history
from deskgym.task_suites.table_analysis.turns import Choice, Intent, Past, Turn

WRONG = Past("The mean mass?", "mean = penguins['mass'].sum()")
PLOT = Past("Draw the masses.", "penguins.plot()", plot=True, runs=False)


def turn(name, mode="normal", action="", kinds=("value",), persona="ines", seed=0, **rest):
    rest = {
        "domain": "penguins", "variant": 3, "history": (), "code": f"{name} = 1", "query": f"What of {name}?",
    } | rest  # fmt: skip
    intents = tuple(Intent(f"v{number}", kind) for number, kind in enumerate(kinds))
    return Turn(
        f"{rest['domain']}/{persona}/{mode}/{name}#{seed}", persona=persona.title(), goal="Decide.", mode=mode,
        action=action, intents=intents, wrong={}, seed=seed, **rest,
    )  # fmt: skip


MASS = turn("mass", kinds=("value", "dataframe"))
FIGURE = turn("figure", kinds=("plot",), history=(Past(MASS.query, MASS.code),))
GUESS = turn(
    "guess", "action", "best_guess", ("choice",),
    code="", choice=Choice(("12", "it's \"13\"\n;--", "14"), 1), split="test",
)  # fmt: skip
SEEN = turn("seen", "action", "plot_qa", ("choice",), history=(WRONG, PLOT), choice=Choice(("a", "b"), 0))
MENDED = turn("mass.update_code", "action", "update_code", history=(PLOT, WRONG))
BIKES = turn("rides", domain="bikes")
OTHER_TABLES = turn("mass", seed=1, variant=4)
PRIVATE = turn("mass", "private", library_seed=5)
TURNS = (MASS, FIGURE, GUESS, SEEN, MENDED, BIKES, OTHER_TABLES, PRIVATE)


@pytest.fixture
def database(tmp_path):
    with HistoryDB(tmp_path / "it's 100% & #1?.db") as database:
        assert database.add(TURNS) == len(TURNS)
        yield database


def ids(rows):
    return [row.id for row in rows]


def test_turns_come_back_as_they_went_in(database):
    stored = database.get(GUESS.id)
    assert (stored.dialogue, stored.number, stored.variant, stored.seed) == ("penguins/ines/normal#0", 3, 3, 0)
    assert (stored.persona, stored.goal, stored.mode, stored.action) == ("Ines", "Decide.", "action", "best_guess")
    assert (stored.query, stored.code, stored.answer) == (GUESS.query, "", 'it\'s "13"\n;--')
    assert (stored.split, stored.difficulty, stored.result_types, stored.plot) == ("test", "medium", "choice", False)
    assert database.get(MASS.id).result_types == "value dataframe"
    assert [row.id for row in database.turns() if row.plot is True] == [FIGURE.id, SEEN.id]


def test_dialogues_are_by_instance_and_library(database):
    found = {row.id: (row.turns, row.private, row.variant) for row in database.dialogues()}
    assert found == {
        "bikes/ines/normal#0": (1, False, 3),
        "penguins/ines/normal#0": (5, False, 3),
        "penguins/ines/normal#1": (1, False, 4),
        "penguins/ines/private#0": (1, True, 3),
    }
    assert [row.number for row in database.turns(dialogue="penguins/ines/normal#0")] == [1, 2, 3, 4, 5]


def test_equal_columns_and_conditions(database):
    assert ids(database.turns(domain="bikes")) == [BIKES.id]
    assert ids(database.turns(domain="penguins", variant=4)) == [OTHER_TABLES.id]
    assert ids(database.select("action = 'best_guess' OR domain = :name", {"name": "bikes"})) == [BIKES.id, GUESS.id]
    assert ids(database.select("upper(query) LIKE ? AND seed IN (1, 2) -- all", ["%MASS%"])) == [OTHER_TABLES.id]
    assert ids(database.select("dialogue IN (SELECT id FROM dialogues WHERE private)")) == [PRIVATE.id]
    assert database.select("0") == ()
    with pytest.raises(ValueError, match="no column 'domian'; legal are id, .*did you mean 'domain'"):
        database.turns(domian="bikes")


@pytest.mark.parametrize(
    "where, message",
    [
        ("", "an empty condition"),
        ("1 " * 6000, "over 10000 characters"),
        ("quary = 1", "no such column: quary; legal is an SQL condition"),
        ("1); DROP TABLE turns; --", "cannot be used"),
        ("1); DELETE FROM turns WHERE (1", "cannot be used"),
        ("1) UNION SELECT name, 2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 FROM sqlite_master --", "cannot be used"),
        ("EXISTS (SELECT 1 FROM sqlite_master)", "prohibited|not authorized"),
        ("(SELECT sql FROM sqlite_schema) != ''", "prohibited|not authorized"),
        ("load_extension('/tmp/x')", "not authorized"),
        ("length(randomblob(1000000000))", "not authorized"),
        ("readfile('/etc/passwd')", "no such function|not authorized"),
        ("EXISTS (SELECT * FROM pragma_database_list)", "prohibited|not authorized"),
        ("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)", "authorized|prohib"),
        ("ATTACH 'x' AS y", "syntax error"),
        ("id = ?", "(?i)binding"),
        ("id = '\0'", "cannot be used"),
    ],
)  # fmt: skip
def test_a_condition_can_only_read_turns(database, where, message):
    before = database.path.read_bytes()
    with pytest.raises(ValueError, match=message):
        database.select(where)
    assert database.path.read_bytes() == before


def test_a_condition_that_takes_too_long_is_stopped(database):
    crowd = ", ".join(f"turns t{number}" for number in range(14))
    with pytest.raises(ValueError, match="takes longer than 0.05 s"):
        history_query.select_turns(database.path, f"(SELECT count(*) FROM {crowd}) > 0", timeout=0.05)
    assert len(database.turns()) == len(TURNS)


def test_a_read_only_database_refuses_to_be_written(database):
    with HistoryDB(database.path, read_only=True) as other:
        with pytest.raises(HistoryError, match="cannot be written: .*readonly"):
            other.add([MASS])
        assert len(other.turns()) == len(TURNS)


def test_a_turn_is_replaced_in_its_place(database):
    changed = turn("mass", kinds=("list",), code="mass = [1]")
    assert database.add([changed]) == 1
    stored = database.get(MASS.id)
    assert (stored.number, stored.code, stored.result_types) == (1, "mass = [1]", "list")
    assert len(database.turns()) == len(TURNS) and database.entries(MASS.id) == (Past(MASS.query, "mass = [1]"),)


def test_all_turns_are_added_or_none(database):
    def broken():
        yield turn("late")
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        database.add(broken())
    assert len(database.turns()) == len(TURNS)


def test_a_turn_as_history(database):
    assert database.entries(FIGURE.id) == (Past(FIGURE.query, FIGURE.code, plot=True),)
    assert database.entries(GUESS.id) == (Past(GUESS.query, "", 'it\'s "13"\n;--'),)
    assert database.entries(SEEN.id) == (Past(PLOT.query, PLOT.code, plot=True), Past(SEEN.query, SEEN.code, "a"))
    assert database.entries(MENDED.id) == (WRONG, Past(MENDED.query, MENDED.code))


def test_turns_are_recombined_in_any_order(database):
    history = database.recombine([GUESS.id, SEEN.id, MASS.id, GUESS.id], before=FIGURE)
    assert [past.query for past in history] == [GUESS.query, PLOT.query, SEEN.query, MASS.query, GUESS.query]
    moved = with_history(FIGURE, history)
    assert moved.history == history and moved.code == FIGURE.code and FIGURE.history != history
    assert database.recombine([]) == ()


def test_what_a_turn_makes_no_sense_without_stays_last():
    assert with_history(MENDED, [Past("q", "c")]).history == (Past("q", "c"), WRONG)
    assert with_history(SEEN, []).history == (PLOT,)
    assert with_history(turn("x", history=(WRONG,)), []).history == ()


def test_turns_over_different_tables_are_refused(database):
    for wanted in ([MASS.id, BIKES.id], [MASS.id, OTHER_TABLES.id]):
        with pytest.raises(
            ValueError, match="over the same tables; 'penguins/ines/normal/mass#0' is over 'penguins' var"
        ):
            database.recombine(wanted)
    with pytest.raises(ValueError, match="'bikes/ines/normal/rides#0' is over 'bikes' variant 3"):
        database.recombine([MASS.id], before=BIKES)


def test_an_unknown_turn_has_near_ones(database):
    for call in (database.get, database.entries, lambda name: database.recombine([name])):
        with pytest.raises(
            TaskError, match="no turn 'penguins/ines/normal/mas#0'.*did you mean 'penguins/ines/normal/mass"
        ):
            call("penguins/ines/normal/mas#0")


def other_file(path, kind):
    if kind == "text":
        path.write_text("dear diary")
    elif kind == "database":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE diary (day)")
        connection.close()
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["text", "database", "folder"])
def test_other_files_are_left_alone(tmp_path, kind):
    path = tmp_path / "other"
    other_file(path, kind)
    before = path.read_bytes() if path.is_file() else None
    for call in (HistoryDB, lambda path: HistoryDB(path, read_only=True), lambda path: build(path, [MASS])):
        with pytest.raises(HistoryError, match="other (is no history database|cannot be read)"):
            call(path)
    assert before == (path.read_bytes() if path.is_file() else None)


def test_a_missing_file_and_one_of_another_version(tmp_path):
    path = tmp_path / "h.db"
    with pytest.raises(HistoryError, match="no history database .*deskgym history build"):
        HistoryDB(path, read_only=True)
    with pytest.raises(HistoryError, match="cannot be (opened|written)"):
        build(tmp_path / "no" / "h.db", [MASS])
    build(path, [MASS])
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(HistoryError, match="has format 99.*build it anew"):
        HistoryDB(path)
    assert build(path, [MASS]) == 1
    with HistoryDB(path) as database:
        assert database.get(MASS.id)


def test_a_damaged_file_is_a_clear_error(tmp_path):
    path = tmp_path / "h.db"
    build(path, TURNS)
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))
    with HistoryDB(path, read_only=True) as database:
        with pytest.raises(HistoryError, match="cannot be read"):
            database.turns()
        with pytest.raises(ValueError, match="cannot be used"):
            database.select("1")


@pytest.mark.parametrize("error", [KeyboardInterrupt, TaskError])
def test_an_interrupted_build_leaves_what_was_there(tmp_path, error):
    def broken():
        yield BIKES
        raise error

    path = tmp_path / "h.db"
    with pytest.raises(error):
        build(path, broken())
    assert list(tmp_path.iterdir()) == []
    assert build(path, [MASS]) == 1
    with pytest.raises(error):
        build(path, broken())
    with HistoryDB(path, read_only=True) as database:
        assert ids(database.turns()) == [MASS.id]
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ValueError, match="nothing was written"):
        build(path, [])


def test_a_killed_build_leaves_what_was_there(tmp_path):
    path = tmp_path / "h.db"
    build(path, [MASS])
    before = path.read_bytes()
    code = f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_history_db import BIKES, build
        def turns():
            yield BIKES
            print("one is in", flush=True)
            sys.stdin.read()
        build({str(path)!r}, turns())
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as building:
        assert building.stdout.readline() == "one is in\n"
        building.send_signal(signal.SIGKILL)
    assert path.read_bytes() == before
    assert build(path, [BIKES]) == 1
