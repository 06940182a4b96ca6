"""A folder with a dlt pipeline and its sources, in the user's home."""

from __future__ import annotations

from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.files import legal_path

FOLDER = "/home/user/ingest"
CONFIG = "[runtime]\ndlthub_telemetry = false\n"
SECRETS = """[destination.postgres.credentials]
host = "127.0.0.1"
port = 5432
database = "warehouse"
username = "analyst"
password = "analyst"
"""


def project(setup: Setup, files: dict[str, str] | None = None, path: str = FOLDER, warehouse: bool = False) -> None:
    """Write a folder with dlt's configuration; nothing is run.

    Args:
        setup: the machine.
        files: text by path in the folder.
        path: the folder.
        warehouse: dlt's destination ``postgres`` is the PostgreSQL warehouse of the task.
    """
    written = {".dlt/config.toml": CONFIG, **({".dlt/secrets.toml": SECRETS} if warehouse else {}), **(files or {})}
    for name, text in written.items():
        setup.machine.put(legal_path(f"{path}/{name}"), text.encode())
