"""Builds a dbt project of the agent's in the clean machine, from its files as data.

What the agent may write is said by the check; all else is as the setup left it. So neither the agent's dbt, Python,
profile and packages nor its database count, and a table that was typed in does not follow other seeds (``given``).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed, Start
from deskgym.envs.evaluation.readers.clean_run import open_clean, run_in, surviving
from deskgym.envs.evaluation.readers.files import MAX_ROWS
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.dbt.environment import ENVIRONMENT
from deskgym.task_suites.programs.dbt.program import database, profiles
from deskgym.task_suites.programs.postgresql.server import HOME, SOCKET, START
from deskgym.task_suites.programs.retail.functions import csv_text, script

INSIDE = Path(__file__).with_name("inside.py")
LIMIT = 16 << 20
TIMEOUT = 120.0
_MADE = ("target/*", "logs/*", "dbt_packages/*", "*.duckdb", "*.duckdb.wal", ".user.yml", "package-lock.yml")
"""What dbt itself writes into a project."""


@dataclass(frozen=True)
class Build:
    """What came of a build; see ``inside.py``."""

    nodes: Mapping[str, dict[str, Any]]
    runs: list[dict[str, Any]]
    tables: Mapping[str, dict[str, Any]]

    @property
    def said(self) -> str:
        """Why it failed; "" if it did not."""
        failed = [run for run in self.runs if not run["success"]]
        lines = [
            f"{node} {status}: {said}" for run in failed for node, (status, said) in run["nodes"].items()
            if status not in ("success", "pass", "skipped")
        ]  # fmt: skip
        return "; ".join([run["said"] for run in failed if run["said"]] + lines)[:1500] or ("failed" if failed else "")


def read_project(machine: Machine, project: str) -> dict[str, str]:
    """The text of a project's files by their path in it, without what dbt makes.

    Raises:
        GuestCallError: it cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "project")
        machine.get_folder(project, place, limit=LIMIT)
        files = {str(file.relative_to(place)): file for file in sorted(place.rglob("*")) if file.is_file()}
        kept = {name: file for name, file in files.items() if not any(fnmatchcase(name, made) for made in _MADE)}
        return {name: file.read_bytes().decode(errors="surrogateescape") for name, file in kept.items()}


def at_start(start: Start, project: str = "/home/user/shop", **_: Any) -> Mapping[str, Any]:
    """The project's files as the setup left them."""
    return {f"dbt:{project}": read_project(start.machine, project)}


def changed(final: FinalState, project: str) -> dict[str, str | None]:
    """The files that are others now, or no more (None). Raises CheckFailed where the project cannot be read."""
    before: dict[str, str] = final.baseline(f"dbt:{project}")
    try:
        now = final.read_once(f"dbt now:{project}", lambda machine: read_project(machine, project))
    except GuestCallError as error:
        raise CheckFailed(f"{project}: {error}") from None
    return {name: now.get(name) for name in sorted({*before, *now}) if before.get(name) != now.get(name)}


def build(
    final: FinalState,
    project: str,
    only: list[str],
    stages: list[dict[str, list[list[Any]]]],
    commands: list[list[str]],
    sources: dict[str, list[list[Any]]] | None = None,
) -> Build:
    """Build the project with the agent's changes to files that fit ``only``, once with the seeds of each stage.

    Where ``sources`` are given (tables by name), it is built in a PostgreSQL that has them in the schema ``public``.

    Raises:
        CheckFailed: nothing was changed, or dbt cannot read the project.
    """
    changes = {name: text for name, text in changed(final, project).items() if _fits(name, only)}
    if not changes:
        raise CheckFailed(f"{project}: nothing was changed of {', '.join(only)}")
    files = {**final.baseline(f"dbt:{project}"), **changes}
    seeds = [{f"raw_{name}.csv": csv_text(table) for name, table in given.items()} for given in stages]
    key = f"dbt build:{project}:{only}:{seeds}:{commands}:{sources}"
    answer = final.read_once(key, lambda _: _run(final, project, files, seeds, commands, sources))
    if not answer["parsed"]:
        raise CheckFailed(f"{project}: dbt cannot read it: {answer['said']}")
    return Build(answer["nodes"], answer["runs"], answer["tables"])


def start_warehouse(clean: Machine, tables: dict[str, list[list[Any]]]) -> None:
    """Start a PostgreSQL in the clean machine, with a database like the warehouse's.

    Raises:
        RuntimeError: it did not start.
    """
    statements = script(tables, "postgresql") + "GRANT SELECT ON ALL TABLES IN SCHEMA public TO analyst;"
    run = f"""
    sed -i '1i local all analyst trust' {HOME}/data/pg_hba.conf
    {START} >/dev/null
    as_owner="setpriv --reuid=postgres --regid=postgres --clear-groups psql -q -v ON_ERROR_STOP=1 -h {SOCKET}"
    $as_owner -d postgres -c "CREATE ROLE analyst LOGIN" -c "CREATE DATABASE warehouse"
    (echo "CREATE SCHEMA analytics AUTHORIZATION analyst;"; cat) | $as_owner -d warehouse
    """
    done = clean.run(["bash", "-euc", run], user="guest", stdin=statements.encode(), timeout=TIMEOUT)
    if done.returncode or done.timed_out:
        raise RuntimeError(f"PostgreSQL did not start: {done.stderr.decode(errors='replace')[-500:]}")


def _fits(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _run(
    final: FinalState, project: str, files: Mapping[str, str | None], seeds: list[dict[str, str]],
    commands: list[list[str]], sources: dict[str, list[list[Any]]] | None,
) -> dict[str, Any]:  # fmt: skip
    clean = open_clean(final, f"build {project}")
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            if text is not None:
                file = Path(folder, "project", name)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(text.encode(errors="surrogateescape"))
        clean.put(project, Path(folder, "project"))
    if sources is None:
        profile, place = profiles(project, "duckdb"), database(project)
    else:
        start_warehouse(clean, sources)
        profile, place = profiles(project, "postgresql", SOCKET), f"postgresql:///warehouse?host={SOCKET}&user=analyst"
    clean.put("/home/user/.dbt/profiles.yml", profile.encode())
    asked = {
        "project": project, "profiles": "/home/user/.dbt", "stages": seeds, "commands": commands, "rows": MAX_ROWS,
        "database": place, "answer": "/home/user/answer.json",
    }  # fmt: skip
    clean.put("/home/user/asked.json", json.dumps(asked).encode())
    argv = [f"{ENVIRONMENT.inside}/bin/python", "-I", "-"]
    done = run_in(clean, argv, f"build {project}", TIMEOUT, stdin=INSIDE.read_bytes(), cwd="/home/user")
    if done.returncode:
        raise CheckFailed(f"{project}: it could not be built: {done.stderr.decode(errors='replace')[-500:]}")
    with surviving(clean, f"build {project}"):
        return dict(json.loads(clean.get("/home/user/answer.json", limit=LIMIT)))
