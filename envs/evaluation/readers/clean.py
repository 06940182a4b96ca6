"""Reads Parquet files and DuckDB databases of the agent's in the second, clean machine.

Arrow's and DuckDB's readers are fast C++ that is not made for hostile files, so no such file is opened on the host.
"""

from __future__ import annotations

import json
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.readers.clean_run import open_clean, surviving
from deskgym.envs.evaluation.readers.files import MAX_ROWS
from deskgym.envs.extras import command_for
from deskgym.envs.machines.kernels import Kernel

TIMEOUT = 60.0
LIMIT = 6 << 20  # bytes of the answer
_CODE = """
import datetime, decimal, json
import duckdb

def plain(value):
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.datetime):
        return (value.date() if value.time() == datetime.time() else value).isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, float) and value != value:
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

try:
    with open("answer.json", "w") as out:
        kind, query, rows = json.load(open("asked.json"))
        if kind == "duckdb":
            base = duckdb.connect("data.duckdb", read_only=True, config={"enable_external_access": "false"})
        else:
            base, query = duckdb.connect(), "SELECT * FROM read_parquet('data.parquet')"
        found = base.execute(query)
        columns = [item[0] for item in found.description]
        taken = [[plain(value) for value in row] for row in found.fetchmany(rows + 1)]
        if len(taken) > rows:
            raise ValueError(f"it has more than {rows} rows")
        json.dump({"columns": columns, "rows": taken}, out)
except (duckdb.Error, ValueError) as error:
    with open("answer.json", "w") as out:
        json.dump({"unreadable": f"{type(error).__name__}: {str(error)[:800]}"}, out)
"""


def ask_duckdb(final: FinalState, data: bytes, name: str, kind: str, query: str) -> dict[str, Any]:
    """What is in a Parquet file (``kind`` "parquet"), or what a query gives of a DuckDB database ("duckdb").

    Raises:
        CheckFailed: it cannot be read.
        RuntimeError: there is no second machine.
    """
    machine = open_clean(final, f"read {name}", libraries=("duckdb",))
    kernel = Kernel(machine)
    asked = json.dumps([kind, query, MAX_ROWS]).encode()
    kernel.open({f"data.{kind}": data, "asked.json": asked})
    try:
        with surviving(machine, f"read {name}"):
            done = kernel.run(_CODE, timeout=TIMEOUT)
            if done.status != "ok" and "ModuleNotFoundError" in done.trace:
                raise RuntimeError(f"Parquet and DuckDB files are read with duckdb: {command_for('duckdb')}")
            answer = json.loads(kernel.get("answer.json", limit=LIMIT))
    except (GuestCallError, ValueError) as error:
        raise CheckFailed(f"{name}: it could not be read: {error}") from None
    if "unreadable" in answer:
        raise CheckFailed(f"{name}: {answer['unreadable']}")
    return dict(answer)
