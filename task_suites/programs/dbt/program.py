"""A dbt project in the user's home: the shop's, with the task's own files and seeds."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any, Literal

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path
from deskgym.task_suites.programs.retail.functions import csv_text

PROJECT = Path(__file__).with_name("project")
PROFILES = "/home/user/.dbt/profiles.yml"
Adapter = Literal["duckdb", "postgresql"]
_OUTPUTS = {
    "duckdb": "{{type: duckdb, path: {path}, threads: 1}}",
    "postgresql": (
        "{{type: postgres, host: {host}, port: 5432, user: analyst, password: analyst, dbname: warehouse, "
        "schema: analytics, threads: 1}}"
    ),
}


def project(
    setup: Setup,
    path: str = "/home/user/shop",
    files: dict[str, str] | None = None,
    seeds: dict[str, list[list[Any]]] | None = None,
    adapter: Adapter = "duckdb",
    without: list[str] | None = None,
) -> None:
    """Write a dbt project with its profile; nothing is built.

    Args:
        setup: the machine.
        path: its folder; a DuckDB database is ``NAME.duckdb`` in it, with the folder's name.
        files: text by path in the project: further files, and others in place of the project's own.
        seeds: tables by name; each is a seed ``raw_NAME``.
        adapter: where models are built.
        without: files of the project that are left out.
    """
    machine, path = setup.machine, legal_path(path)
    own = {str(file.relative_to(PROJECT)): file.read_text() for file in sorted(PROJECT.rglob("*")) if file.is_file()}
    written = {name: text for name, text in own.items() if name not in (without or [])}
    written |= {f"seeds/raw_{name}.csv": csv_text(table) for name, table in (seeds or {}).items()}
    for name, text in {**written, **(files or {})}.items():
        machine.put(legal_path(f"{path}/{name}"), text.encode())
    machine.put(PROFILES, profiles(path, adapter).encode())


def database(path: str) -> str:
    """The DuckDB database of a project."""
    return f"{path}/{posixpath.basename(path)}.duckdb"


def profiles(path: str, adapter: Adapter, host: str = "127.0.0.1") -> str:
    """The profile ``shop`` of a project; ``host`` is PostgreSQL's, or the folder of its socket."""
    output = _OUTPUTS[adapter].format(path=database(path), host=host)
    return (
        f"config: {{send_anonymous_usage_stats: false, use_colors: false}}\n"
        f"shop:\n  target: dev\n  outputs:\n    dev: {output}\n"
    )
