"""Fills the warehouse for a task, and lets the user's tools log in without being asked."""

from __future__ import annotations

from typing import Any

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks import services
from deskgym.task_suites.programs.retail.functions import script
from deskgym.task_suites.programs.warehouse.service import DATABASE, PASSWORD, PORT, ROLE

HOME = "/home/user"
PSQLRC = "\\set QUIET on\n\\pset pager off\n\\set PROMPT1 '%/=> '\n\\set PROMPT2 '%/-> '\n\\unset QUIET\n"


def load(
    setup: Setup,
    tables: dict[str, list[list[Any]]] | None = None,
    write: list[str] | None = None,
    statements: str = "",
) -> None:
    """Make tables in the schema ``public`` of the database ``warehouse``.

    ``psql`` on the desktop connects to it as ``analyst`` by itself.

    Args:
        setup: the machine with the service ``warehouse`` beside it.
        tables: rows by name, with a header.
        write: those that the agent's role may change; it may read all.
        statements: further SQL, as the owner.

    Raises:
        SetupError: a statement failed.
    """
    fill(setup, "warehouse", PORT, tables or {}, write or [], statements)


def fill(
    setup: Setup, service: str, port: int, tables: dict[str, list[list[Any]]], write: list[str], statements: str
) -> None:
    """Make the tables in this service, see ``load``, and let ``psql`` on the desktop find them at this port."""
    rights = f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {ROLE};\n" + "".join(
        f"GRANT INSERT, UPDATE, DELETE ON {name} TO {ROLE};\n" for name in write
    )
    services.sql(setup, service, script(tables, "postgresql") + statements + rights)
    login = f"127.0.0.1:{port}:*:{ROLE}:{PASSWORD}\n"
    setup.machine.put(f"{HOME}/.pgpass", login.encode(), mode=0o600)
    setup.machine.put(f"{HOME}/.psqlrc", PSQLRC.encode())
    place = f"[warehouse]\nhost=127.0.0.1\nport={port}\ndbname={DATABASE}\nuser={ROLE}\n"
    setup.machine.put(f"{HOME}/.pg_service.conf", place.encode())
