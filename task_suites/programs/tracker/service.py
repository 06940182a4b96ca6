"""Trac on SQLite, with the tickets and pages of the company's developers, served by waitress."""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Ready, ServiceSpec, Sqlite
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.programs.company import entities

HERE = Path(__file__).parent
SITE, HOME = "/opt/deskgym/tracker", "/var/lib/deskgym-tracker"
PROJECT, EPISODE = f"{HOME}/project", f"{HOME}/episode"
PORT, USER = 8030, "www-data"

ENVIRONMENT = ToolEnvironment("tracker", HERE / "requirements.txt")
_BIN = f"{ENVIRONMENT.inside}/bin"
_SETTINGS = (("PYTHONPATH", SITE), ("TRAC_ENV", PROJECT), ("TRACKER_EPISODE", EPISODE), ("PYTHONWARNINGS", "ignore"))
_AS_USER = f"setpriv --reuid={USER} --regid={USER} --clear-groups"

COMPANY = LayerRecipe(
    "tracker",
    f"""
    chmod -R a+rX {SITE}
    install -d -o {USER} -g {USER} -m 700 {HOME} {EPISODE}
    {_AS_USER} {_BIN}/trac-admin {PROJECT} initenv --config={SITE}/trac.ini "Lindqvist Office Goods" sqlite:db/trac.db \
      >/dev/null
    {_AS_USER} mkdir -p {PROJECT}/files
    {_AS_USER} {_BIN}/python {SITE}/seed.py {PROJECT}
    """,
    files=(
        (f"{SITE}/deskgym/task_suites/programs/company/entities.py", Path(entities.__file__)),
        *((f"{SITE}/{path.name}", path) for path in (HERE / "issues.py", *sorted((HERE / "site").glob("*.*")))),
    ),
    bases=(ENVIRONMENT,),
    environment=_SETTINGS,
    user="guest",
)

SERVICE = ServiceSpec(
    "tracker",
    daemons=(
        Daemon(
            (f"{_BIN}/python", "-m", "waitress", f"--listen=127.0.0.1:{PORT}", "--threads=4", "tracker:application"),
            Ready(port=PORT, http="/wiki"),
            environment=_SETTINGS,
            folder=SITE,
        ),
    ),
    ports=(PORT,),
    data=(Sqlite(f"{PROJECT}/db/trac.db"), Files(EPISODE), Files(f"{PROJECT}/files")),
    user=USER,
    layers=(COMPANY,),
    watch=(f"{PROJECT}/conf",),
)  # fmt: skip
