"""Fills the database for a task, and lets the user's client log in without being asked."""

from __future__ import annotations

from typing import Any

from deskgym.envs.errors import SetupError
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.mariadb.service import CLIENT, DATABASE, PASSWORD, PORT, USER
from deskgym.task_suites.programs.retail.functions import script


def load(setup: Setup, tables: dict[str, list[list[Any]]] | None = None, statements: str = "") -> None:
    """Make tables in the database ``shop``; ``mysql`` and ``mariadb`` on the desktop connect to it by themselves.

    Args:
        setup: the machine with the service ``mariadb`` beside it.
        tables: rows by name, with a header.
        statements: further SQL.

    Raises:
        SetupError: a statement failed.
    """
    sql = script(tables or {}, "mysql") + statements
    done = setup.companion("mariadb").run([*CLIENT, "-umysql", DATABASE], stdin=sql.encode(), timeout=60.0)
    if done.returncode or done.timed_out:
        raise SetupError(f"MariaDB: {done.stderr.decode(errors='replace').strip()[-500:] or 'it took too long'}")
    settings = (
        f"[client]\nhost=127.0.0.1\nport={PORT}\nuser={USER}\npassword={PASSWORD}\n"
        f"[mysql]\ndatabase={DATABASE}\n[mariadb-client]\ndatabase={DATABASE}\n"
    )
    setup.machine.put("/home/user/.my.cnf", settings.encode(), mode=0o600)
