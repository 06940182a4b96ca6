"""The tool environment with Dagster, its web server, and what projects of data teams import."""

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.tool_environments import ToolEnvironment

ENVIRONMENT = ToolEnvironment("dagster", Path(__file__).with_name("requirements.txt"))
BIN = f"{ENVIRONMENT.inside}/bin"
_LIBRARIES = f"{ENVIRONMENT.inside}/lib/python3.*/site-packages"
_BOXES = ("daggy_u_pt", "RunTableTabPinningNux")
_SEEN = "".join(f'localStorage.setItem("{box}", "true");' for box in _BOXES)

QUIET = LayerRecipe(
    "dagster-quiet",
    f"""
    cd {_LIBRARIES}
    page=dagster_webserver/webapp/build/index.html
    sed -i 's#<head>#<head><script nonce="NONCE-PLACEHOLDER">{_SEEN}</script>#' $page
    grep -q daggy_u_pt $page
    sed -i '/"--ignore-package-conflict"/,/)/s/default=False/default=True/' dagster/_cli/project.py
    grep -A3 '"--ignore-package-conflict"' dagster/_cli/project.py | grep -q default=True
    echo 'import warnings; warnings.filterwarnings("ignore", "Valid config keys have changed")' >deskgym-quiet.pth
    {BIN}/python -m compileall -q dagster/_cli/project.py
    """,
    bases=(ENVIRONMENT,),
    user="guest",
)
"""Dagster without its boxes about a course and about tags, without a warning of pydantic's, and without asking the
package index whether a new project's name is taken."""

INSTANCE = {"dagster.yaml": "telemetry: {enabled: false}\n", ".nux/nux.yaml": "seen: 1\n"}
"""Files of a user's DAGSTER_HOME: no telemetry, and no box that asks for an address."""
