"""PostgreSQL in a companion: a template, a spare copy of it, and queries that cannot change anything.

``NAME__base`` is the template, ``NAME__spare`` the copy that the next roll-back renames to ``NAME``; the next spare is
made in the background, while the episode runs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deskgym.envs.errors import AnswerTooLarge, ServiceError
from deskgym.envs.provision.services import Postgresql

if TYPE_CHECKING:
    from deskgym.envs.provision.companions import Companion
    from deskgym.envs.provision.service_answers import Row

TIMEOUT = 60.0
LOCK_MS = 2000
_OWN = "-c search_path=pg_catalog"
"""Scripts call what PostgreSQL brings, and nothing that an account has made: they have the owner's rights."""

_CLOSE = """
ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS false;
DO $$ DECLARE ended int[]; BEGIN
  SELECT array_agg(pid) INTO ended FROM pg_stat_activity
  WHERE datname = '{name}' OR usename <> current_user;  -- an account of the agent's may be busy in any database
  PERFORM pg_terminate_backend(pid) FROM unnest(ended) AS pid;
  FOR k IN 1..1000 LOOP
    PERFORM pg_stat_clear_snapshot();
    IF NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = ANY (ended)) THEN RETURN; END IF;
    PERFORM pg_sleep(0.005);
  END LOOP;
  RAISE 'connections are still there 5 s after they were ended';
END $$;
"""
"""pg_terminate_backend can wait by itself, but looks every 100 ms, for one connection after the other."""

_AWAIT_SPARE = """
DO $$ BEGIN
  FOR k IN 1..3000 LOOP  -- a database is seen here once it is complete
    IF EXISTS (SELECT FROM pg_database WHERE datname = '{name}__spare') THEN RETURN; END IF;
    PERFORM pg_sleep(0.01);
  END LOOP;
  RAISE 'no spare copy of the database was made within 30 s';
END $$;
"""

_SPARE = """
SELECT quote_ident(pg_get_userbyid(datdba)) AS owner FROM pg_database WHERE datname = '{name}' \\gset
CREATE DATABASE "{name}__spare" TEMPLATE "{name}__base" OWNER :owner ALLOW_CONNECTIONS false;
"""

_END_LOCKS = """
SELECT pg_terminate_backend(pid, 2000) FROM pg_locks JOIN pg_database ON pg_database.oid = database
WHERE datname = '{name}' AND mode = 'AccessExclusiveLock';
"""

_OVERLOADS = """
DO $$ DECLARE found text; BEGIN
  WITH known AS (
    SELECT 'function' AS kind, proname AS name, pronamespace AS place, proowner AS owner FROM pg_proc
    UNION ALL SELECT 'operator', oprname, oprnamespace, oprowner FROM pg_operator
  ), foreigners AS (
    SELECT oid FROM pg_roles WHERE NOT rolsuper
    EXCEPT SELECT datdba FROM pg_database WHERE datname = current_database()
  )
  SELECT string_agg(DISTINCT format('%s %s of %s', kind, name, owner::regrole), ', ') INTO found FROM known
  WHERE place = to_regnamespace('public') AND owner IN (SELECT oid FROM foreigners) AND (kind, name) IN
    (SELECT kind, name FROM known WHERE owner NOT IN (SELECT oid FROM foreigners));
  IF found IS NOT NULL THEN RAISE 'an account overloads what this database has: %', found; END IF;
END $$;
"""
"""Fails where an account has a function or operator that may fit a query better than the one that is meant."""

_FINGERPRINT = """
SET jit = off;
SELECT md5(coalesce(string_agg(line, E'\\n' ORDER BY line), '')) FROM (
  SELECT format('%s.%s %s', schemaname, tablename, query_to_xml(format(
    'SELECT count(*), sum(hashtextextended(t::text, 0)) FROM %I.%I t', schemaname, tablename), true, true, '')) AS line
  FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
  UNION ALL SELECT format('%s.%s %s', schemaname, sequencename, last_value) FROM pg_sequences
  UNION ALL SELECT format('%s.%s %s %s', nspname, relname, attname, format_type(atttypid, atttypmod))
    FROM pg_attribute JOIN pg_class r ON r.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
    WHERE attnum > 0 AND NOT attisdropped AND nspname !~ '^(pg_|information_schema$)'
  UNION ALL SELECT format('role %s', to_jsonb(r)) FROM pg_roles r
  UNION ALL SELECT format('member %s %s %s', roleid::regrole, member::regrole, admin_option) FROM pg_auth_members
  UNION ALL SELECT CASE WHEN rolsuper  -- others may not read it
    THEN query_to_xml('SELECT rolname, rolpassword FROM pg_authid ORDER BY 1', true, true, '')::text END
    FROM pg_roles WHERE rolname = current_user
  UNION ALL SELECT format('database %s', datname) FROM pg_database WHERE datname !~ '__(old|spare|base)$'
) lines;
"""


def freeze(companion: Companion, data: Postgresql) -> None:
    """Make the template and the first spare copy."""
    name = data.database
    _script(
        companion,
        data,
        _CLOSE.format(name=name)
        # it is the server's own, so that an account that the agent has can neither write to it nor keep it in use
        + f'CREATE DATABASE "{name}__base" TEMPLATE "{name}"; REVOKE CONNECT ON DATABASE "{name}__base" FROM PUBLIC;'
        + (f'GRANT CONNECT ON DATABASE "{name}__base" TO "{data.reader}";' if data.reader else "")
        + f'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true;'
        + _SPARE.format(name=name),
    )


def close(companion: Companion, data: Postgresql) -> None:
    """End all connections, with what they wait for, and let nobody connect before ``roll_back``."""
    _script(companion, data, _CLOSE.format(name=data.database))


def roll_back(companion: Companion, data: Postgresql) -> str:
    """Put the spare copy in the database's place; gives its fingerprint. ``make_spare`` must follow."""
    name = data.database
    script = (
        _AWAIT_SPARE
        + _CLOSE
        + 'ALTER DATABASE "{name}" RENAME TO "{name}__old"; ALTER DATABASE "{name}__spare" RENAME TO "{name}";\n'
        + 'ALTER DATABASE "{name}" WITH ALLOW_CONNECTIONS true;\n'
        + '\\connect "{name}"\n'
    )
    return _script(companion, data, script.format(name=name) + _FINGERPRINT).splitlines()[-1]


def make_spare(companion: Companion, data: Postgresql) -> None:
    """Begin to make the copy for the next roll-back, and to drop what the last episode left."""
    name = data.database
    script = f'DROP DATABASE "{name}__old";' + _SPARE.format(name=name)
    command = ["sh", "-c", 'printf %s "$0" | "$@"', script, *_psql(data, "postgres")]
    companion.machine.guest.launch(command, env={"PGOPTIONS": _OWN}, user=data.user, cwd="/")


def fingerprint(companion: Companion, data: Postgresql) -> str:
    """A digest of all rows, sequences and columns, and of what no copy of a database rolls back: roles, databases."""
    return _script(companion, data, _FINGERPRINT, data.database)


def query(companion: Companion, data: Postgresql, sql: str, base: bool, timeout: float) -> list[Row]:
    """The rows of a query, in a transaction that can only read."""
    script = (
        f"BEGIN TRANSACTION READ ONLY;\n{_OVERLOADS}SET LOCAL search_path = public;\n"
        "SELECT coalesce(json_agg(row_to_json(result)), '[]') FROM (\n"
        f"{sql.strip().rstrip(';')}\n) AS result;\nROLLBACK;"
    )
    name = data.database
    if base:
        _script(companion, data, _AWAIT_SPARE.format(name=name))  # a template must not be in use while it is copied
        name = f"{name}__base"
    try:
        found = _script(companion, data, script, name, timeout, reads=True)
    except ServiceError as error:
        if "lock timeout" not in str(error):
            raise
        # somebody, maybe the agent, keeps a transaction open that has locked the table, or waits to lock it
        _script(companion, data, _END_LOCKS.format(name=name))
        found = _script(companion, data, script, name, timeout, reads=True)
    rows: Any = json.loads(found)
    return list(rows)


def execute(companion: Companion, data: Postgresql, statements: str, timeout: float) -> None:
    """Carry out statements, all or none."""
    _script(companion, data, f"BEGIN;\n{statements}\n;COMMIT;", data.database, timeout, options="")


def _psql(data: Postgresql, database: str, role: str = "") -> list[str]:
    options, role = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"], role or data.role or data.user
    return ["psql", *options, "-h", data.socket, "-p", str(data.port), "-U", role, "-d", database]


def _script(
    companion: Companion,
    data: Postgresql,
    script: str,
    database: str = "postgres",
    timeout: float = TIMEOUT,
    reads: bool = False,
    options: str = _OWN,
) -> str:
    reader = data.reader if reads else ""
    if reads:  # over what the owner has set
        options += f" -c default_transaction_read_only=on -c lock_timeout={LOCK_MS} -c statement_timeout=0"
    argv, user = _psql(data, database, reader), reader or data.user
    done = companion.run(argv, env={"PGOPTIONS": options}, stdin=script.encode(), timeout=timeout, user=user)
    if done.returncode != 0 or done.timed_out or done.truncated:
        why = "it took too long" if done.timed_out else done.stderr.decode(errors="replace").strip()[-2000:]
        if done.truncated:
            raise AnswerTooLarge(f"the database {database!r} of {companion.spec.name!r}: it gives more than 6 MiB")
        raise companion.failure(f"database {database!r}: {why}")
    return done.stdout.decode(errors="replace").strip()
