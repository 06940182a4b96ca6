"""What a user of the account has on the desktop: ``snow``, and a ``python`` with Snowflake's connector."""

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.programs.toolkits.commands import FOLDER

ENVIRONMENT = ToolEnvironment("snowflake", Path(__file__).with_name("requirements.txt"))

COMMANDS = LayerRecipe(
    "snowflake-commands",
    f"""
    mkdir -p {FOLDER}
    for name in snow python; do
      printf '#!/bin/sh\\nexec {ENVIRONMENT.inside}/bin/%s "$@"\\n' $name >{FOLDER}/$name
      chmod 755 {FOLDER}/$name
    done
    """,
    bases=(ENVIRONMENT,),
    user="guest",
)
"""A link would not do for Python: it finds its libraries by the place where it is called from."""
