"""fakesnow's server, without a way to the companion's files, and with a door for whoever has the companion's key."""

import gzip
import hmac
import json
import os
import re
import shutil
import threading
from contextlib import contextmanager
from decimal import Decimal
from importlib import import_module
from pathlib import Path

from fakesnow.instance import FakeSnow
from fakesnow.transforms import stage
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

BUCKET = Path("/var/lib/deskgym-fakesnow/bucket")
KEY = os.environ.pop("FAKESNOW_KEY")
LIMIT = 10_000  # rows of a table or view that are told
TEXT_LIMIT = 1 << 20  # bytes of a stage's file that are told
TIMEOUT = 20.0  # seconds for all of them
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,100}\Z")
KINDS = (("duckdb_tables", "table"), ("duckdb_views", "view"))
OWN = ("system", "temp", "memory", "_fs_global")
UNSUPPORTED = {"errorCode": "000002", "sqlState": "0A000"}

server = import_module("fakesnow.server")  # the package has a function of that name
stage.LOCAL_BUCKET_PATH = str(BUCKET)


def account(*_, **__) -> FakeSnow:
    """An empty account. Its DuckDB reads and writes the files of stages only, and loads no extensions."""
    made = FakeSnow()
    made.duck_conn.execute(f"SET allowed_directories = ['{BUCKET}/']")
    made.duck_conn.execute("SET enable_external_access = false")
    return made


def renew() -> None:
    """Forget all databases, stages and logins."""
    old = server.shared_fs
    server.sessions.clear()
    server.shared_fs = account()
    for path in BUCKET.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    old.duck_conn.interrupt()


@contextmanager
def limited(connection):
    """Stop what takes longer than ``TIMEOUT`` seconds."""
    timer = threading.Timer(TIMEOUT, connection.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def plain(value: object) -> object:
    """A cell as JSON has it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def told() -> dict:
    """All tables and views, by their full names: kind, columns with types, rows; or why they cannot be read."""
    ask, found = server.shared_fs.duck_conn.cursor(), {}
    with limited(ask):
        for source, kind in KINDS:
            listed = ask.execute(
                f"SELECT database_name, schema_name, {kind}_name FROM system.main.{source}() WHERE NOT internal"
            ).fetchall()
            for database, schema, name in listed:
                if database not in OWN and not schema.startswith("_fs_") and not name.startswith("_fs_"):
                    found[f"{database}.{schema}.{name}"] = read(ask, kind, (database, schema, name))
    return found


def read(ask, kind: str, place: tuple[str, str, str]) -> dict:
    """What one of them has."""
    quoted = ".".join('"' + part.replace('"', '""') + '"' for part in place)
    try:
        columns = [[name, str(type_)] for name, type_, *_ in ask.execute(f"DESCRIBE {quoted}").fetchall()]
        rows = ask.execute(f"FROM {quoted} LIMIT {LIMIT + 1}").fetchall()
    except Exception as error:  # an agent's view may be wrong in any way
        return {"kind": kind, "error": str(error)[:300]}
    if len(rows) > LIMIT:
        return {"kind": kind, "error": f"it has more than {LIMIT} rows"}
    return {"kind": kind, "columns": columns, "rows": [[plain(cell) for cell in row] for row in rows]}


def follow(view: str, change: str) -> dict:
    """What a view has after a statement over its tables, which is taken back."""
    ask = server.shared_fs.duck_conn.cursor()
    with limited(ask):
        ask.execute("BEGIN")
        try:
            ask.execute(change)
            return read(ask, "view", tuple(view.split(".")))
        finally:
            ask.execute("ROLLBACK")


def staged(path: str) -> dict:
    """The text of a stage's file, unpacked."""
    with (gzip.open if path.endswith(".gz") else open)(BUCKET / path, "rb") as file:
        return {"text": file.read(TEXT_LIMIT).decode(errors="replace")}


def execute(database: str, schema: str, statements: list[str]) -> dict:
    """Carry out statements as a user would."""
    with server.shared_fs.connect(database, schema) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    return {}


def state() -> dict:
    """What a roll-back must bring back."""
    return {"tables": told(), "files": sorted(str(path.relative_to(BUCKET)) for path in BUCKET.rglob("*"))}


DOINGS = {
    "reset": renew, "state": state, "tables": told, "execute": execute, "follow": follow, "staged": staged,
}  # fmt: skip


async def door(request: Request) -> Response:
    """What setups, roll-backs and checks ask."""
    if not hmac.compare_digest(request.headers.get("X-Key", ""), KEY):
        return Response(status_code=404)
    asked = json.loads(await request.body())
    done = DOINGS[asked.pop("do")]
    try:
        return JSONResponse(await run_in_threadpool(done, **asked) or {})
    except Exception as error:
        return JSONResponse({"error": str(error)[:1000]}, status_code=400)


async def login(request: Request) -> Response:
    """Log in. fakesnow writes the names of database and schema into SQL, so they must be names."""
    names = [request.query_params.get(key) for key in ("databaseName", "schemaName")]
    if any(name and not NAME.match(name) for name in names):
        return JSONResponse({"data": None, "code": "390201", "message": "not the name of a database", "success": False})
    return await server.login_request(request)


async def query(request: Request) -> Response:
    """Carry out a statement; what fakesnow cannot do is an error of the statement, so that no client tries it again."""
    answer = await server.query_request(request)
    if answer.status_code != 500:
        return answer
    said = {"data": UNSUPPORTED, "code": "000002", "message": "Unsupported feature.", "success": False}
    return JSONResponse(said)


def main(port: int) -> None:
    """Serve until the process is ended."""
    import uvicorn

    server.shared_fs, server.FakeSnow = account(), account
    others = [route for route in server.routes if route.endpoint not in (server.login_request, server.query_request)]
    routes = [
        Route("/deskgym", door, methods=["POST"]),
        Route("/session/v1/login-request", login, methods=["POST"]),
        Route("/queries/v1/query-request", query, methods=["POST"]),
        *others,
    ]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    main(int(os.environ["FAKESNOW_PORT"]))
