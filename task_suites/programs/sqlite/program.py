"""A SQLite database in the user's home."""

from __future__ import annotations

import sqlite3
from typing import Any

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.programs.retail.functions import script


def load(setup: Setup, path: str, tables: dict[str, list[list[Any]]] | None = None, statements: str = "") -> None:
    """Write a SQLite database with these tables.

    Args:
        setup: the machine.
        path: the file.
        tables: rows by name, with a header.
        statements: further SQL, such as indexes and views.
    """
    with sqlite3.connect(":memory:") as base:
        base.executescript(script(tables or {}, "sqlite") + statements)
        setup.machine.put(legal_path(path), base.serialize())
