"""Fills the account for a task, and lets the user's tools log in without being asked."""

from __future__ import annotations

import json
from typing import Any

from deskgym.envs.errors import ServiceError, SetupError
from deskgym.envs.provision.companions import Companion
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.fakesnow.service import PORT
from deskgym.task_suites.programs.retail.functions import script

FOLDER = "/home/user/.snowflake"
TIMEOUT = 60.0


def ask(companion: Companion, **asked: Any) -> dict[str, Any]:
    """Ask the server's door. Raises ServiceError where it refuses."""
    headers = {"X-Key": companion.secrets["FAKESNOW_KEY"], "Content-Type": "application/json"}
    answer = companion.http("POST", "/deskgym", body=json.dumps(asked), headers=headers, timeout=TIMEOUT)
    if answer.status != 200:
        raise ServiceError(f"fakesnow: {answer.text[:500]}")
    found: dict[str, Any] = json.loads(answer.text)
    return found


def load(
    setup: Setup,
    tables: dict[str, list[list[Any]]] | None = None,
    database: str = "SHOP",
    schema: str = "PUBLIC",
    statements: list[str] | None = None,
) -> None:
    """Make tables in a database of the account.

    ``snow sql`` and ``snowflake.connector.connect(connection_name="warehouse")`` on the desktop connect to it by
    themselves.

    Args:
        setup: the machine with the service ``fakesnow`` beside it.
        tables: rows by name, with a header.
        database: where, and what the connection uses.
        schema: the same.
        statements: further SQL, in Snowflake's dialect.

    Raises:
        SetupError: a statement failed.
    """
    made = [line for line in script(tables or {}, "duckdb").split(";\n") if line.strip()]
    try:
        companion = setup.companion("fakesnow")
        ask(companion, do="execute", database=database, schema=schema, statements=[*made, *(statements or [])])
    except ServiceError as error:
        raise SetupError(str(error)) from error
    login = (
        f'account = "shop"\nuser = "analyst"\npassword = "analyst"\nhost = "127.0.0.1"\nport = {PORT}\n'
        f'protocol = "http"\ndatabase = "{database}"\nschema = "{schema}"\n'
    )
    written = {
        "config.toml": (
            'default_connection_name = "warehouse"\n[cli]\nignore_new_version_warning = true\n'
            f"[cli.logs]\nsave_logs = false\n[connections.warehouse]\n{login}"
        ),
        "connections.toml": f"[warehouse]\n{login}",
    }
    for name, text in written.items():
        setup.machine.put(f"{FOLDER}/{name}", text.encode(), mode=0o600)
