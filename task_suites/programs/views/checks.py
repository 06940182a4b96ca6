"""The check of a view: what its definition gives in a clean machine, over tables that the agent has not seen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import ServiceError
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers.clean_run import open_clean, run_in
from deskgym.envs.evaluation.readers.compare import Cell, Rules, differences, listed
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.evaluation.readers.tables import Table, find_companion
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.dbt.building import start_warehouse
from deskgym.task_suites.programs.postgresql.server import SOCKET

TIMEOUT = 30.0
LIMIT = 4 << 20  # bytes of what the view gives
_NAME = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*\Z")
_PSQL = ["psql", "-h", SOCKET, "-U", "analyst", "-d", "warehouse", "-qAtX", "-v", "ON_ERROR_STOP=1"]


def follows(
    final: FinalState,
    companion: str,
    view: str,
    tables: dict[str, list[list[Any]]],
    columns: list[str],
    rows: list[list[Cell]],
) -> Outcome:
    """A view of a PostgreSQL database gives these rows over other tables: its rows are not written into it.

    Args:
        final: the final state.
        companion: the service whose first database has it.
        view: its name with the schema, such as ``analytics.sales``; the schema is ``analytics`` or ``public``.
        tables: rows by name, with a header: what the schema ``public`` has in the clean machine.
        columns: the view's.
        rows: the right rows then, in any order.
    """
    if not _NAME.match(view):
        raise ValueError(f"legal is a view's name with its schema, got {view!r}")
    found = final.read_once(f"views:{companion}:{view}:{tables}", lambda _: _over(final, companion, view, tables))
    places = [f"row {k}" for k in range(1, len(found) + 1)]
    table = Table(view, list(found[0]) if found else columns, [list(row.values()) for row in found], places)
    wrong = differences(table.pick(columns), rows, Rules(), ordered=False, more=False)
    return not wrong, f"{view} over other tables: {listed(wrong) or f'its {len(rows)} rows are right'}"


def _over(final: FinalState, companion: str, view: str, tables: dict[str, list[list[Any]]]) -> list[dict[str, Any]]:
    """The rows of a view as it is defined, over other tables."""
    try:
        asked = f"SELECT pg_get_viewdef(to_regclass('{view}')::oid) AS text"
        text = find_companion(final, companion).sql(asked)[0]["text"]
    except ServiceError as error:
        raise CheckFailed(f"{view}: {error}") from None
    if text is None:
        raise CheckFailed(f"there is no view {view}")
    clean = open_clean(final, f"make {view}")
    start_warehouse(clean, tables)
    statements = f"CREATE VIEW {view} AS {text}\nSELECT coalesce(json_agg(v), '[]') FROM {view} v;"
    return _rows(clean, view, statements)


def _rows(clean: Machine, view: str, statements: str) -> list[dict[str, Any]]:
    done = run_in(clean, _PSQL, f"make {view}", TIMEOUT, stdin=statements.encode(), output_limit=LIMIT)
    if done.returncode:
        why = done.stderr.decode(errors="replace").strip()[-400:]
        raise CheckFailed(f"{view} over other tables: {why}")
    found = parse_json(done.stdout.decode(errors="replace"), f"the rows of {view}")
    return [dict(row) for row in found]


CHECKS: Mapping[str, CheckFunction] = {"views.follows": follows}
"""By the names that task files use."""
