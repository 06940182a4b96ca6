"""fakesnow's server in a companion: an account that speaks Snowflake's protocol, over DuckDB in memory."""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Ready, Restore, ServiceSpec
from deskgym.envs.provision.tool_environments import ToolEnvironment

HERE = Path(__file__).parent
SITE = "/opt/deskgym/fakesnow"
HOME = "/var/lib/deskgym-fakesnow"
PORT, USER = 8180, "www-data"

ENVIRONMENT = ToolEnvironment("fakesnow", HERE / "requirements.txt")
_PYTHON = f"{ENVIRONMENT.inside}/bin/python"
_TELL = ("env", f"FAKESNOW_PORT={PORT}", _PYTHON, "-I", f"{SITE}/tell.py")

LAYER = LayerRecipe(
    "fakesnow",
    f"chmod 755 {SITE}; install -d -o {USER} -g {USER} -m 700 {HOME} {HOME}/bucket",
    files=tuple((f"{SITE}/{path.name}", path) for path in sorted((HERE / "site").glob("*.py"))),
    bases=(ENVIRONMENT,),
    user="guest",
)

SERVICE = ServiceSpec(
    "fakesnow",
    daemons=(
        Daemon(
            (_PYTHON, f"{SITE}/serve.py"),
            Ready(port=PORT, timeout=120),
            environment=(("FAKESNOW_PORT", str(PORT)), ("HOME", HOME)),
            folder=HOME,
        ),
    ),
    ports=(PORT,),
    data=(Restore((*_TELL, "reset"), fingerprint=(*_TELL, "state")),),
    user=USER,
    layers=(LAYER,),
    secrets=("FAKESNOW_KEY",),
)
"""A roll-back empties the account: what a task needs in it, its setup loads."""
