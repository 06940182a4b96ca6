"""MariaDB's server: an empty database, the agent's user, and a reader for checks."""

from __future__ import annotations

from deskgym.envs.provision.layers import LayerRecipe
from deskgym.envs.provision.services import Daemon, Ready, Restore, ServiceSpec

PORT, DATABASE, USER, PASSWORD, READER = 3306, "shop", "analyst", "analyst", "nobody"
HOME = "/var/lib/deskgym-mariadb"
SOCKET = f"{HOME}/run/socket"
CLIENT = ("mariadb", "--no-defaults", f"--socket={SOCKET}")
_SERVER = (
    f"--no-defaults --datadir={HOME}/data --socket={SOCKET} --bind-address=127.0.0.1 --port={PORT} --skip-log-bin "
    "--skip-name-resolve --innodb-buffer-pool-size=16M --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 "
    f"--performance-schema=OFF --innodb-use-native-aio=0 --pid-file={HOME}/run/pid --character-set-server=utf8mb4"
)
_ADMIN = f"mariadb-admin --no-defaults -umysql --socket={SOCKET}"
_AS_MYSQL = "setpriv --reuid=mysql --regid=mysql --clear-groups env -i PATH=/usr/bin:/bin:/usr/sbin LANG=C.UTF-8"
_CLEAR = f"KILL USER {USER}; DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}"
_STATE = (
    "SELECT * FROM mysql.global_priv ORDER BY 1, 2; SELECT * FROM mysql.db ORDER BY 1, 2, 3; "
    "SELECT schema_name FROM information_schema.schemata ORDER BY 1; "
    f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{DATABASE}'"
)

LAYER = LayerRecipe(
    "mariadb",
    f"""
    install -d -o mysql -g mysql -m 755 {HOME} {HOME}/run
    {_AS_MYSQL} mariadb-install-db --no-defaults --datadir={HOME}/data --skip-test-db \
      --auth-root-socket-user=mysql >/dev/null
    {_AS_MYSQL} mariadbd {_SERVER} 2>/dev/null &
    for k in $(seq 600); do {_AS_MYSQL} {_ADMIN} ping >/dev/null 2>&1 && break; sleep 0.1; done
    {_AS_MYSQL} {" ".join(CLIENT)} -umysql <<END
      CREATE DATABASE {DATABASE};
      CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
      GRANT ALL ON {DATABASE}.* TO {USER}@'127.0.0.1';
      CREATE USER {READER}@localhost IDENTIFIED VIA unix_socket;
      GRANT SELECT, SHOW VIEW ON *.* TO {READER}@localhost;
    END
    {_AS_MYSQL} {_ADMIN} shutdown
    wait
    """.replace("\n    END", "\nEND"),
    packages=("mariadb-server", "mariadb-client"),
    user="guest",
)

SERVICE = ServiceSpec(
    "mariadb",
    daemons=(
        Daemon(
            ("bash", "-c", f"exec mariadbd {_SERVER}"),
            Ready(port=PORT, command=("mariadb-admin", "--no-defaults", "-umysql", f"--socket={SOCKET}", "ping")),
        ),
    ),
    ports=(PORT,),
    data=(Restore((*CLIENT, "-umysql", "--force", "-e", _CLEAR), fingerprint=(*CLIENT, "-umysql", "-Be", _STATE)),),
    user="mysql",
    layers=(LAYER,),
)
"""A roll-back empties the database: what a task needs in it, its setup loads."""
