"""Runs in the clean machine with dbt's own Python: parses and builds a project, and writes what came of it as JSON.

The manifest is what parsing gives, before any statement of the project is carried out: those may write files.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner  # type: ignore[import-not-found]

READ = """
import datetime, decimal, json, sys
import duckdb, psycopg2

def plain(value):
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.datetime):
        return (value.date() if value.time() == datetime.time() else value).isoformat()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)

if sys.argv[1].startswith("postgresql:"):
    base = psycopg2.connect(sys.argv[1])
    base.autocommit = True
else:
    base = duckdb.connect(sys.argv[1])
cursor = base.cursor()
cursor.execute(
    "select table_schema, table_name, table_type from information_schema.tables "
    "where table_catalog = current_database() and table_schema not in ('pg_catalog', 'information_schema')"
)
tables = {}
for schema, name, kind in cursor.fetchall():
    try:
        cursor.execute(f'select * from "{schema}"."{name}"')
        columns = [item[0] for item in cursor.description]
        rows = [[plain(value) for value in row] for row in cursor.fetchmany(int(sys.argv[2]))]
        tables[f"{schema}.{name}"] = {"kind": kind, "columns": columns, "rows": rows}
    except (duckdb.Error, psycopg2.Error) as error:
        tables[f"{schema}.{name}"] = {"kind": kind, "columns": [], "rows": [], "error": str(error)[:300]}
json.dump(tables, sys.stdout)
"""


def statuses(result: Any) -> dict[str, list[str]]:
    """Each node's status, and what was said of it."""
    return {it.node.unique_id: [str(it.status), str(it.message or "")[:300]] for it in getattr(result, "results", [])}


def main() -> None:
    """``asked.json`` has project, profiles, stages (text of seeds by name), commands, database, rows, answer."""
    asked = json.loads(Path("asked.json").read_text())
    where = ["--project-dir", asked["project"], "--profiles-dir", asked["profiles"]]
    parsed = dbtRunner().invoke(["--quiet", "parse", "--no-partial-parse", *where])
    answer = {"parsed": parsed.success, "said": str(parsed.exception or "")[:2000], "nodes": {}, "runs": []}
    if parsed.success:
        manifest = parsed.result
        for each in (*manifest.nodes.values(), *manifest.sources.values()):
            answer["nodes"][each.unique_id] = each.to_dict(omit_none=False)
        for seeds, command in ((seeds, command) for seeds in asked["stages"] for command in asked["commands"]):
            for name, text in seeds.items():
                Path(asked["project"], "seeds", name).write_text(text)
            done = dbtRunner().invoke(["--quiet", *command, *where])
            said = str(done.exception or "")[:2000]
            answer["runs"].append({"success": done.success, "said": said, "nodes": statuses(done.result)})
    read = [sys.executable, "-I", "-c", READ, asked["database"], str(asked["rows"])]
    found = subprocess.run(read, capture_output=True, text=True)
    answer["tables"] = json.loads(found.stdout) if found.returncode == 0 else {}
    with open(asked["answer"], "w") as out:
        json.dump(answer, out, default=str)


main()
