"""Reads an SQLite database: a program of its own, see ``limited``. Standard input is JSON, standard output too.

The question is ``{"database": base64, "wal": base64 or null, "query": text, "rows": most of them}``; the answer is
``{"columns": [...], "rows": [[...], ...]}``, or ``{"unreadable": why}``. Nothing in the file can load an extension,
attach another file or write, and its views and triggers cannot call what has effects.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

MAX_ANSWER = 128 << 20
_REFUSED = {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_CREATE_VTABLE, sqlite3.SQLITE_DROP_VTABLE}


def ask(file: Path, query: str, rows: int) -> dict[str, Any]:
    """What a query of ours gives."""
    connection = sqlite3.connect(file)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    for setting in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # replays the log; after that it is only read
    connection.execute("PRAGMA query_only=ON")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 16 << 20)
    connection.set_authorizer(lambda action, *of: sqlite3.SQLITE_DENY if action in _REFUSED else sqlite3.SQLITE_OK)
    cursor = connection.execute(query)
    found = cursor.fetchmany(rows + 1)
    if len(found) > rows:
        raise ValueError(f"the query gives more than {rows} rows")
    return {"columns": [item[0] for item in cursor.description], "rows": [[plain(v) for v in row] for row in found]}


def plain(value: Any) -> Any:
    """A blob as its hexadecimal digits."""
    return value.hex() if isinstance(value, bytes) else value


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "database")
        path.write_bytes(base64.b64decode(asked["database"]))
        if asked["wal"]:
            Path(folder, "database-wal").write_bytes(base64.b64decode(asked["wal"]))
        try:
            answer = json.dumps(ask(path, asked["query"], asked["rows"]))
            if len(answer) > MAX_ANSWER:
                raise ValueError(f"the answer is more than {MAX_ANSWER >> 20} MiB")
        except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
            answer = json.dumps({"unreadable": f"{type(error).__name__}: {error}"})
    sys.stdout.write(answer)
