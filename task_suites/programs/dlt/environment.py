"""The tool environment with dlt and its destinations DuckDB and PostgreSQL; ``python`` and ``dlt`` on the PATH."""

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.programs.toolkits.commands import FOLDER

ENVIRONMENT = ToolEnvironment("dlt", Path(__file__).with_name("requirements.txt"))
SETTINGS = {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

_WORDS = " ".join(f"{name}={value}" for name, value in SETTINGS.items())
COMMANDS = LayerRecipe(
    "dlt-commands",
    f"""
    mkdir -p {FOLDER}
    for name in dlt python; do
      printf '#!/bin/sh\\n{_WORDS} exec {ENVIRONMENT.inside}/bin/%s "$@"\\n' $name >{FOLDER}/$name
      chmod 755 {FOLDER}/$name
    done
    """,
    bases=(ENVIRONMENT,),
    user="guest",
)
"""A link would not do for Python: it finds its libraries by the place where it is called from."""
