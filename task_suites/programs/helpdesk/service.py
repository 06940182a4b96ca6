"""django-helpdesk on PostgreSQL, with the same tickets, people and articles for everybody."""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Postgresql, Ready, ServiceSpec
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.programs.company.django_sites import COMMON_SETTINGS
from deskgym.task_suites.programs.postgresql.server import CLUSTER, SERVER, SOCKET, START, STOP

HERE = Path(__file__).parent
SITE = "/opt/deskgym/helpdesk"
UPLOADS = "/var/lib/deskgym-helpdesk"
PORT, USER, READER = 8000, "www-data", "nobody"

ENVIRONMENT = ToolEnvironment("helpdesk", HERE / "requirements.txt")
_PYTHON = f"{ENVIRONMENT.inside}/bin/python"
_SETTINGS = (("DJANGO_SETTINGS_MODULE", "desk"), ("PYTHONPATH", SITE), ("PGHOST", SOCKET))
_AS_USER = f"setpriv --reuid={USER} --regid={USER} --clear-groups env HELPDESK_SECRET=unused"

COMPANY = LayerRecipe(
    "helpdesk",
    f"""
    chmod 755 {SITE}
    install -d -o {USER} -g {USER} {UPLOADS}
    {START} >/dev/null
    setpriv --reuid=postgres --regid=postgres --clear-groups psql -qc 'CREATE ROLE "{USER}" LOGIN' \
      -c 'CREATE ROLE {READER} LOGIN IN ROLE pg_read_all_data'
    setpriv --reuid=postgres --regid=postgres --clear-groups createdb -O {USER} helpdesk
    HELPDESK_SECRET=unused {_PYTHON} -m django collectstatic --noinput -v0
    {_AS_USER} {_PYTHON} -m django migrate -v0
    {_AS_USER} {_PYTHON} {SITE}/seed.py
    {STOP} >/dev/null
    """,
    files=tuple(
        (f"{SITE}/{path.name}", path)
        for path in (HERE / "company.py", COMMON_SETTINGS, *sorted((HERE / "site").glob("*.py")))
    ),
    bases=(CLUSTER, ENVIRONMENT),
    environment=_SETTINGS,
    user="guest",
)

SERVICE = ServiceSpec(
    "helpdesk",
    daemons=(
        SERVER,
        Daemon(
            (
                _PYTHON, "-m", "waitress", f"--listen=127.0.0.1:{PORT}", "--threads=4", "--call",
                "django.core.wsgi:get_wsgi_application",
            ),
            Ready(port=PORT, http="/login/"),
            user=USER,
            environment=_SETTINGS,
            folder=SITE,
        ),
    ),
    ports=(PORT,),
    data=(Postgresql("helpdesk", socket=SOCKET, reader=READER), Files(UPLOADS)),
    user="postgres",
    layers=(COMPANY,),
    secrets=("HELPDESK_SECRET",),
)  # fmt: skip
