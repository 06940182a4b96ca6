"""Checks of MariaDB's tables, asked in its companion as a user that can only read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome, Start, with_baseline
from deskgym.envs.evaluation.readers.compare import Cell, Rules, differences, listed
from deskgym.envs.evaluation.readers.tables import Table, find_companion
from deskgym.task_suites.programs.mariadb.service import CLIENT, DATABASE, READER

TIMEOUT = 30.0
LIMIT = 4 << 20
_TABLES = f"SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = '{DATABASE}' ORDER BY 1"
_ESCAPES = {"\\n": "\n", "\\t": "\t", "\\\\": "\\", "\\0": "\0"}


def _ask(start: Start, query: str) -> tuple[list[str], list[list[str | None]]]:
    """The columns and rows of a query, as texts. Raises CheckFailed where it cannot be answered."""
    argv = [*CLIENT, f"--user={READER}", "--batch", "--column-names", DATABASE]
    done = find_companion(start, "mariadb").run(argv, stdin=query.encode(), timeout=TIMEOUT, user=READER)
    if done.returncode or done.timed_out or len(done.stdout) > LIMIT:
        why = "it took too long" if done.timed_out else done.stderr.decode(errors="replace").strip()[-300:]
        raise CheckFailed(f"MariaDB: {why or 'the answer is too large'}")
    lines = [line.split("\t") for line in done.stdout.decode(errors="replace").splitlines()]
    return (lines[0] if lines else []), [[_cell(cell) for cell in line] for line in lines[1:]]


def _cell(text: str) -> str | None:
    for written, meant in _ESCAPES.items():
        text = text.replace(written, meant)
    return None if text == "NULL" else text


def rows(final: FinalState, query: str, rows: list[list[Cell]], ordered: bool = True, abs: float = 0.0) -> Outcome:
    """A query of the database gives these rows.

    Args:
        final: the final state.
        query: a SELECT.
        rows: the right rows.
        ordered: false: in any order.
        abs: tolerance of numbers.
    """
    columns, found = _ask(final, query)
    columns = columns or [f"column {k}" for k in range(1, len(rows[0]) + 1 if rows else 1)]  # without rows it says none
    table = Table("MariaDB", columns, found, [f"row {k}" for k in range(1, len(found) + 1)], typed=False)
    if rows and len(columns) != len(rows[0]):
        return False, f"MariaDB: {query} has {len(columns)} columns; right are {len(rows[0])}"
    wrong = differences(table, rows, Rules(abs), ordered, more=False)
    return not wrong, f"MariaDB: {listed(wrong) or f'the {len(rows)} rows are right'}"


def _sums(start: Start) -> dict[str, Any]:
    """Each table's checksum and definition; of a view the word alone."""
    found: dict[str, Any] = {}
    for name, kind in _ask(start, _TABLES)[1]:
        quoted = "`" + str(name).replace("`", "``") + "`"
        queries = (f"CHECKSUM TABLE {quoted}", f"SHOW CREATE TABLE {quoted}") if kind == "BASE TABLE" else ()
        found[str(name)] = [kind, *(_ask(start, query)[1] for query in queries)]
    return found


@with_baseline(lambda start, **_: {"mariadb": _sums(start)})
def unchanged(final: FinalState, but: list[str] | None = None) -> Outcome:
    """The database's tables and their rows are as at the start, and there are no others.

    Args:
        final: the final state.
        but: tables that do not count.
    """
    before, now = final.baseline("mariadb"), _sums(final)
    names = sorted(name for name in {*before, *now} - {*(but or [])} if before.get(name) != now.get(name))
    return not names, f"MariaDB: changed, made or dropped beside {but or []}: {', '.join(names) or 'nothing'}"


CHECKS: Mapping[str, CheckFunction] = {"mariadb.rows": rows, "mariadb.unchanged": unchanged}
"""By the names that task files use."""
