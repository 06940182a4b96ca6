"""pgAdmin in Chromium, with its user logged in, over a warehouse with a task's tables."""

from __future__ import annotations

import secrets
from typing import Any, Literal

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.chromium.program import open_ as open_chromium
from deskgym.task_suites.programs.pgadmin.service import EPISODE, PORT, USER
from deskgym.task_suites.programs.warehouse.program import fill
from deskgym.task_suites.programs.warehouse.service import DATABASE
from deskgym.task_suites.programs.warehouse.service import PORT as WAREHOUSE_PORT

_TIMEOUT = 120.0


def load(
    setup: Setup,
    tables: dict[str, list[list[Any]]] | None = None,
    write: list[str] | None = None,
    statements: str = "",
) -> None:
    """Make tables in the schema ``public`` of the database ``warehouse``, which the agent's role may read.

    ``psql service=warehouse`` on the desktop connects to it as the same role, ``analyst``.

    Args:
        setup: the machine with the service ``pgadmin`` beside it.
        tables: rows by name, with a header.
        write: those that the agent's role may change.
        statements: further SQL, as the owner.

    Raises:
        SetupError: a statement failed.
    """
    fill(setup, "pgadmin", WAREHOUSE_PORT, tables or {}, write or [], statements)


def open_(setup: Setup, page: Literal["worksheet", "browser"] = "worksheet") -> None:
    """Open pgAdmin in Chromium.

    Args:
        setup: the machine with the service ``pgadmin`` beside it.
        page: ``"worksheet"``: the Query Tool alone, on the warehouse. ``"browser"``: the tree of all objects.

    Raises:
        SetupError: it did not come up.
    """
    companion = setup.companion("pgadmin")
    token = secrets.token_hex(16)
    companion.put(f"{EPISODE}/token-{token}", b"", owner=USER, mode=0o600)
    number = companion.sql("SELECT oid::int AS oid FROM pg_database WHERE datname = current_database()")[0]["oid"]
    to = "/browser/" if page == "browser" else f"/worksheet/?did={number}%26database={DATABASE}"
    url = f"http://127.0.0.1:{PORT}/enter/{token}/?to={to}"
    if page == "browser":
        open_chromium(setup, url, title="pgAdmin 4", role="page tab", name="Object Explorer", timeout=_TIMEOUT)
        return
    open_chromium(setup, url, title="pgAdmin 4", role="push button", name="Execute script", timeout=_TIMEOUT)
    setup.screen.find(role="entry", name="", state="focused", timeout=_TIMEOUT)
