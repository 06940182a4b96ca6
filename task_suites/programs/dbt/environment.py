"""The tool environment with dbt and its adapters for DuckDB and PostgreSQL."""

from pathlib import Path

from deskgym.envs.provision.tool_environments import ToolEnvironment

ENVIRONMENT = ToolEnvironment("dbt", Path(__file__).with_name("requirements.txt"))
