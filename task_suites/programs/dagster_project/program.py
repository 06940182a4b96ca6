"""A folder with a Dagster project in one file, in the user's home."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path

FOLDER = "/home/user/pipeline"


def project(setup: Setup, files: dict[str, str] | None = None, path: str = FOLDER) -> None:
    """Write a project's files; nothing is run.

    Args:
        setup: the machine.
        files: text by path in the folder.
        path: the folder.
    """
    for name, text in (files or {}).items():
        setup.machine.put(legal_path(f"{path}/{name}"), text.encode())
