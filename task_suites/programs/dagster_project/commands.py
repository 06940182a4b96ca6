"""``dagster`` and ``python`` of Dagster's tool environment on the PATH, and the scripts that judge a project."""

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.task_suites.programs.dagster.environment import BIN, INSTANCE, QUIET
from deskgym.task_suites.programs.toolkits.commands import FOLDER

JUDGE = "/opt/deskgym/dagster-judge"
_HOME = "/home/user/.dagster"

COMMANDS = LayerRecipe(
    "dagster-commands",
    f"""
    mkdir -p {FOLDER}
    for name in dagster python; do
      printf '#!/bin/sh\\nexport DAGSTER_HOME=${{DAGSTER_HOME:-{_HOME}}}\\nexec {BIN}/%s "$@"\\n' $name >{FOLDER}/$name
      chmod 755 {FOLDER}/$name
    done
    chmod -R a+rX {JUDGE}
    chown -R 1000:1000 {_HOME}
    """,
    files=(
        *((f"{JUDGE}/{path.name}", path) for path in sorted(Path(__file__).with_name("site").glob("*.py"))),
        *((f"{_HOME}/{name}", text.encode()) for name, text in INSTANCE.items()),
    ),
    bases=(QUIET,),
    user="guest",
)
"""A link would not do for Python: it finds its libraries by the place where it is called from."""
