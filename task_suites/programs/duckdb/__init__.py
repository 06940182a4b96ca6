"""DuckDB's command line."""

from deskgym.envs.needs import Needs
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.programs.toolkits.commands import on_path

ENVIRONMENT = ToolEnvironment("duckdb", ("duckdb-cli==1.5.6",))

PROGRAM = Program(name="duckdb", title="DuckDB", needs=Needs(layers=on_path(ENVIRONMENT, "duckdb")))
