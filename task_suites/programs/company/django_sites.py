"""A Django site as a service: on SQLite, served by waitress, filled by its own seed, with the door of ``door.py``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Ready, ServiceSpec, Sqlite
from deskgym.envs.provision.tool_environments import ToolEnvironment

USER = "www-data"
_HERE = Path(__file__).parent
COMMON_SETTINGS = _HERE / "site" / "common_settings.py"
"""What Django sites import their usual settings from; it lies beside their own."""


def django_site(name: str, folder: Path, port: int, ready: str, more: Sequence[Path] = ()) -> ServiceSpec:
    """The service of a program's folder.

    The folder has ``requirements.txt``, and in ``site`` what is beside ``company.py`` (the entities), ``door.py``,
    ``schema.py`` and ``common_settings.py`` in the companion: ``NAME_settings.py``, which imports the common settings
    and those of ``kept_in_files("NAME")``, and ``seed.py``, which fills the empty database.

    Args:
        name: of the service and its layer.
        folder: of the program.
        port: where it listens.
        ready: path of a page that everybody may see.
        more: further files that are put beside those of ``site``.
    """
    own = folder / "site"
    site, home = f"/opt/deskgym/{name}", f"/var/lib/deskgym-{name}"
    environment = ToolEnvironment(name, folder / "requirements.txt")
    python, secret = f"{environment.inside}/bin/python", f"{name.upper()}_SECRET"
    settings = (("DJANGO_SETTINGS_MODULE", f"{name}_settings"), ("PYTHONPATH", site), ("PYTHONWARNINGS", "ignore"))
    as_user = f"setpriv --reuid={USER} --regid={USER} --clear-groups"
    company = LayerRecipe(
        name,
        f"""
        chmod 755 {site}
        install -d -o {USER} -g {USER} -m 700 {home} {home}/episode
        export {secret}=unused
        {python} -m django collectstatic --noinput -v0
        {as_user} {python} -m django migrate -v0
        {as_user} {python} {site}/seed.py
        """,
        files=(
            (f"{site}/company.py", _HERE / "entities.py"),
            *((f"{site}/{path.name}", path) for path in (*sorted((_HERE / "site").glob("*.py")), *more)),
            *((f"{site}/{path.relative_to(own)}", path) for path in sorted(own.rglob("*.py"))),
        ),
        bases=(environment,),
        environment=settings,
        user="guest",
    )
    server = ("-m", "waitress", f"--listen=127.0.0.1:{port}", "--threads=4", "--call")
    return ServiceSpec(
        name,
        daemons=(
            Daemon(
                (python, *server, "django.core.wsgi:get_wsgi_application"),
                Ready(port=port, http=ready),
                environment=settings,
                folder=site,
            ),
        ),
        ports=(port,),
        data=(Sqlite(f"{home}/{name}.db"), Files(f"{home}/episode")),
        user=USER,
        layers=(company,),
        secrets=(secret,),
    )
