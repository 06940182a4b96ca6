"""Roundcube over Dovecot, and the letters of the company; what is sent goes no further than a folder."""

from __future__ import annotations

from pathlib import Path

from deskgym.envs.provision.debian_environments import DebianEnvironment
from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Files, Ready, ServiceSpec, Sqlite
from deskgym.task_suites.programs.company import entities
from deskgym.task_suites.programs.erp import trade

HERE = Path(__file__).parent
SITE, HOME = "/opt/deskgym/mail", "/var/lib/deskgym-mail"
DATABASE, EPISODE, BOXES, OUTBOX = f"{HOME}/mail.db", f"{HOME}/episode", f"{HOME}/boxes", f"{HOME}/outbox"
PORT, USER = 8060, "www-data"
PACKAGES = ("php-cli", "php-intl", "php-mbstring", "php-sqlite3", "php-xml")
"""Of the host: PHP."""

ENVIRONMENT = DebianEnvironment(
    "mail",
    HERE / "requirements.txt",
    packages=(
        "dovecot-core", "dovecot-imapd", "libjs-bootstrap4", "libjs-codemirror", "libjs-jquery",
        "libjs-jquery-minicolors", "libjs-jquery-ui", "libjs-jstimezonedetect", "libjs-popper.js", "php-auth-sasl",
        "php-getallheaders", "php-guzzlehttp-guzzle", "php-guzzlehttp-promises", "php-guzzlehttp-psr7", "php-mail-mime",
        "php-masterminds-html5", "php-net-sieve", "php-net-smtp", "php-net-socket", "php-pear", "php-psr-http-client",
        "php-psr-http-factory", "php-psr-http-message", "php-symfony-deprecation-contracts", "roundcube-core",
    ),
)  # fmt: skip
PYTHON = f"{ENVIRONMENT.inside}/bin/python"
STATE = (PYTHON, f"{SITE}/state.py")
"""Prints what is in the boxes and what was sent."""

_AS_USER = f"setpriv --reuid={USER} --regid={USER} --clear-groups"
_DOVECOT = ("dovecot", "-F", "-c", f"{SITE}/dovecot.conf")
_ROUNDCUBE = ("php", "-S", f"127.0.0.1:{PORT}", "-t", "/var/lib/roundcube/public_html", f"{SITE}/router.php")

COMPANY = LayerRecipe(
    "mail",
    f"""
    chmod -R a+rX {SITE}
    install -d -o {USER} -g {USER} -m 700 {HOME} {EPISODE} {BOXES} {HOME}/run
    {_AS_USER} mkdir -p {OUTBOX}/cur {OUTBOX}/new {OUTBOX}/tmp
    openssl rand -hex 16 > {HOME}/secret
    echo "maya:{{PLAIN}}$(cat {HOME}/secret)::::::" > {HOME}/users
    chown {USER} {HOME}/secret {HOME}/users
    chmod 600 {HOME}/secret {HOME}/users
    install -m 644 {SITE}/config.inc.php /etc/roundcube/
    install -D -m 644 -t /var/lib/roundcube/plugins/door {SITE}/door.php {SITE}/door.js
    {_AS_USER} {" ".join(_DOVECOT)} & server=$!
    for try in $(seq 100); do test -e {HOME}/run/master.pid && break; sleep 0.1; done
    {_AS_USER} {PYTHON} {SITE}/seed.py {DATABASE}
    kill $server
    wait $server || true
    """,
    packages=PACKAGES,
    files=(
        (f"{SITE}/deskgym/task_suites/programs/company/entities.py", Path(entities.__file__)),
        (f"{SITE}/deskgym/task_suites/programs/erp/trade.py", Path(trade.__file__)),
        (f"{SITE}/letters.py", HERE / "letters.py"),
        *((f"{SITE}/{path.name}", path) for path in sorted((HERE / "site").iterdir()) if path.is_file()),
    ),
    bases=(ENVIRONMENT,),
    environment=(("PYTHONPATH", SITE),),
    user="guest",
)

SERVICE = ServiceSpec(
    "mail",
    daemons=(
        Daemon(_DOVECOT, Ready(port=10143)),
        Daemon(
            (PYTHON, "-m", "aiosmtpd", "-n", "-l", "127.0.0.1:10025", "-c", "aiosmtpd.handlers.Mailbox", OUTBOX),
            Ready(port=10025),
        ),
        Daemon(_ROUNDCUBE, Ready(port=PORT, http="/"), environment=(("PHP_CLI_SERVER_WORKERS", "3"),)),
    ),
    ports=(PORT,),
    data=(Sqlite(DATABASE), Files(EPISODE), Files(BOXES), Files(OUTBOX)),
    user=USER,
    layers=(COMPANY,),
)
