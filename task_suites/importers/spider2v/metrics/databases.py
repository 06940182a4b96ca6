"""``check_local_database``: the tables and views of a DuckDB or SQLite file.

DuckDB's reader is not made for hostile files, so it runs in the second, clean machine. A process with limits reads
SQLite.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.clean_run import surviving
from deskgym.envs.evaluation.readers.databases import ask_sqlite
from deskgym.envs.evaluation.readers.files import MAX_ROWS
from deskgym.envs.extras import command_for
from deskgym.envs.machines.base import Machine
from deskgym.envs.machines.kernels import Kernel
from deskgym.task_suites.importers.spider2v.metrics.judging import (
    GoldBroken,
    Judging,
    Value,
    brief,
    content,
    metric,
    of_gold,
)

KINDS = ("table", "view")
CHECKS = tuple(f"{kind}{what}" for kind in KINDS for what in ("", "-schema", "-schema-content"))
TIMEOUT = 60.0
ANSWER = 32 << 20  # bytes
_DUCKDB = """
import datetime, decimal, json
import duckdb

def plain(value):
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

with open("asked.json") as asked:
    file, schema, rows = json.load(asked)
found, left = {}, rows
try:
    base = duckdb.connect(file, read_only=True, config={"enable_external_access": "false"})
    catalog = base.execute("SELECT current_database()").fetchone()[0]
    if schema:
        known = base.execute("SELECT 1 FROM information_schema.schemata WHERE schema_name = ? AND catalog_name = ?",
                             [schema, catalog]).fetchone()
        if known is None:
            raise ValueError(f"there is no schema {schema!r}")
    for name, kind in base.execute("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')").fetchall():
        places = base.execute("SELECT table_schema FROM information_schema.tables WHERE table_name = ? AND "
                              "table_catalog = ?", [name, catalog]).fetchall()
        place = schema if (schema,) in places else next((where for where, in places), "main")
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (catalog, place, name))
        try:
            columns = base.execute("SELECT column_name, data_type, is_nullable, column_default FROM "
                                   "information_schema.columns WHERE table_catalog = ? AND table_schema = ? AND "
                                   "table_name = ? ORDER BY ordinal_position", [catalog, place, name]).fetchall()
            taken = [[plain(value) for value in row] for row in
                     base.execute(f"SELECT * FROM {quoted}").fetchmany(left + 1)]
        except duckdb.Error as error:
            columns, taken = [["unreadable", str(error)[:200], None, None]], []
        if len(taken) > left:
            raise ValueError(f"it has more than {rows} rows")
        left -= len(taken)
        found[f"{kind} {name}"] = {"columns": columns, "rows": taken}
    answer = {"found": found}
except (duckdb.Error, ValueError) as error:
    answer = {"unreadable": f"{type(error).__name__}: {str(error)[:800]}"}
with open("answer.json", "w") as out:
    json.dump(answer, out)
"""


@dataclass(frozen=True)
class Relation:
    """A table or a view: its columns (name, type, ...) and rows, in the file's order."""

    columns: Sequence[Sequence[Any]]
    rows: Sequence[Sequence[Any]]


Database = dict[str, Relation]
"""By kind and name, such as ``"table customers"``."""


@metric
def check_local_database(
    result: Value,
    expected: Value,
    judging: Judging,
    *,
    db_type: str = "duckdb",
    check_type: Sequence[str] = KINDS,
    table_targets: Sequence[str] = (),
    view_targets: Sequence[str] = (),
    schema_name: str = "",
) -> tuple[float, str]:
    """The same tables and views; by ``check_type`` with the same columns, and the same rows.

    Corrected: neither rows nor columns have an order, and numbers are equal to nine digits.
    """
    if db_type not in _READERS:
        raise GoldBroken(f"db_type is {db_type!r}: legal are {', '.join(_READERS)}")
    if unknown := set(check_type) - set(CHECKS):
        raise GoldBroken(f"check_type has {sorted(unknown)}: legal are {', '.join(CHECKS)}")
    name = expected.name if isinstance(expected, Path) else f"data.{db_type}"
    with of_gold(expected):
        right = _READERS[db_type](judging, content(expected), name, schema_name)
    found = _READERS[db_type](judging, content(result), name, schema_name)
    for kind, targets in zip(KINDS, (table_targets, view_targets), strict=True):
        checks = [check for check in check_type if check.startswith(kind)]
        if not checks:
            continue
        there, wanted = (_of_kind(base, kind, targets) for base in (found, right))
        if there.keys() != wanted.keys():
            return 0.0, f"its {kind}s are {sorted(there)}, right are {sorted(wanted)}"
        for one, relation in there.items():
            problem = _differ(relation, wanted[one], max(checks, key=len), judging.corrected)
            if problem:
                return 0.0, f"the {kind} {one!r}: {problem}"
    return 1.0, f"{', '.join(check_type)} are as they should be"


def read_database(judging: Judging, data: bytes, name: str, schema: str = "") -> Database:
    """The tables and views of a DuckDB file that an agent left, in one schema or in all.

    Raises:
        CheckFailed: it cannot be read, or there is no such schema.
    """
    return _READERS["duckdb"](judging, data, name, schema)


def _of_kind(base: Database, kind: str, targets: Sequence[str]) -> Database:
    found = {key.partition(" ")[2]: relation for key, relation in base.items() if key.startswith(f"{kind} ")}
    return {name: found[name] for name in sorted(found) if not targets or name in targets}


def _differ(found: Relation, right: Relation, check: str, corrected: bool) -> str:
    if "schema" not in check:
        return ""
    columns: Sequence[Any] = found.columns
    wanted: Sequence[Any] = right.columns
    if corrected:
        columns, wanted = (sorted(map(_name_and_type, one)) for one in (columns, wanted))
    if columns != wanted:
        return f"its columns are {brief(columns, 300)}, right are {brief(wanted, 300)}"
    if "content" not in check:
        return ""
    if not corrected:
        return "" if found.rows == right.rows else f"its {len(found.rows)} rows are not the right {len(right.rows)}"
    pair = [Counter(_row(relation, row) for row in relation.rows) for relation in (found, right)]
    missing, spare = pair[1] - pair[0], pair[0] - pair[1]
    if not missing and not spare:
        return ""
    return f"missing {brief(list(missing)[:2], 300)}, not wanted {brief(list(spare)[:2], 300)}"


def _name_and_type(column: Sequence[Any]) -> tuple[str, str]:
    return str(column[0]), str(column[1])


def _row(relation: Relation, row: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((str(column[0]), _cell(value)) for column, value in zip(relation.columns, row, strict=False)))


def _cell(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else json.dumps(value)


def _read_duckdb(judging: Judging, data: bytes, name: str, schema: str) -> Database:
    machine = judging.clean_machine(libraries=("duckdb",))
    kernel = Kernel(machine)
    kernel.open({name: data, "asked.json": json.dumps([name, schema, MAX_ROWS]).encode()})
    answer = _run(machine, kernel, name)
    if "unreadable" in answer:
        raise CheckFailed(f"{name}: {answer['unreadable']}")
    try:
        return {key: Relation(one["columns"], one["rows"]) for key, one in dict(answer["found"]).items()}
    except (LookupError, TypeError, ValueError) as error:
        raise CheckFailed(f"{name}: what was read is garbled: {error}") from None


def _run(machine: Machine, kernel: Kernel, name: str) -> dict[str, Any]:
    try:
        with surviving(machine, f"read {name}"):
            done = kernel.run(_DUCKDB, timeout=TIMEOUT)
            if done.status != "ok" and "ModuleNotFoundError" in done.trace:
                raise RuntimeError(f"DuckDB files are read with duckdb: {command_for('duckdb')}")
            return dict(json.loads(kernel.get("answer.json", limit=ANSWER)))
    except (GuestCallError, ValueError, TypeError) as error:
        raise CheckFailed(f"{name}: it could not be read: {brief(str(error), 300)}") from None


def _read_sqlite(judging: Judging, data: bytes, name: str, schema: str) -> Database:
    def ask(query: str) -> list[list[Any]]:
        return list(ask_sqlite(data, None, query, name)["rows"])

    found = {}
    listed = ask("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
                 "ESCAPE '\\'")  # fmt: skip
    for one, kind in listed:
        quoted, literal = '"' + one.replace('"', '""') + '"', "'" + one.replace("'", "''") + "'"
        columns = ask(f'SELECT name, type, "notnull", dflt_value FROM pragma_table_info({literal}) ORDER BY cid')
        found[f"{kind} {one}"] = Relation(columns, ask(f"SELECT * FROM {quoted}"))
    return found


_READERS: dict[str, Callable[[Judging, bytes, str, str], Database]] = {"duckdb": _read_duckdb, "sqlite3": _read_sqlite}
