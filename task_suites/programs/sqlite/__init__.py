"""SQLite's command line."""

from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.sqlite.program import load

PROGRAM = Program(name="sqlite", title="SQLite", packages=("sqlite3",), hooks={"sqlite.load": load})
