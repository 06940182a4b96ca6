"""The check of a pipeline: what it loads in the clean machine, from other data than the agent has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError, MachineError
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers.clean import ask_duckdb
from deskgym.envs.evaluation.readers.compare import Rules, differences, listed
from deskgym.envs.evaluation.readers.tables import Table
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.dlt.environment import ENVIRONMENT, SETTINGS
from deskgym.task_suites.programs.dlt.program import CONFIG, FOLDER

LIMIT = 8 << 20  # bytes of the folder, and of the database
TIMEOUT = 60.0


def loads(
    final: FinalState,
    script: str,
    database: str,
    query: str,
    rows: list[list[Any]],
    stages: list[list[dict[str, str]]],
    path: str = FOLDER,
) -> Outcome:
    """A pipeline of the agent's, run in a clean machine once for each stage, loads these rows into a DuckDB database.

    Neither the agent's database, Python nor what dlt remembers of earlier runs comes with it.

    Args:
        final: the final state.
        script: the pipeline's file in the folder; nothing else of the agent's is used.
        database: the DuckDB file that it makes in the folder.
        query: what is compared, in DuckDB's dialect.
        rows: what the query must give at the end, in any order.
        stages: ``path`` in the folder and ``text`` of what the pipeline reads; a stage's files stand in place of
            those before.
        path: the folder.
    """
    name = f"{database} as {script} makes it"
    key = f"dlt:{path}:{script}:{database}:{stages}"
    content = final.read_once(key, lambda machine: _run(final, machine, path, script, database, stages))
    answer = ask_duckdb(final, content, name, "duckdb", query)
    places = [f"row {k}" for k in range(1, len(answer["rows"]) + 1)]
    found = Table(name, answer["columns"], answer["rows"], places)
    wrong = differences(found, rows, Rules(), ordered=False, more=False)
    return not wrong, f"{found.name}: {listed(wrong) or f'its {len(rows)} rows are right'}"


def _run(
    final: FinalState, machine: Machine, path: str, script: str, database: str, stages: list[list[dict[str, str]]]
) -> bytes:
    if final.clean_machine is None:
        raise RuntimeError("there is no second machine to run it in")
    try:
        code = machine.get(f"{path}/{script}", limit=LIMIT)
    except GuestCallError as error:
        raise CheckFailed(f"{path}/{script}: {error}") from None
    clean = final.clean_machine()
    try:
        for number, files in enumerate(stages):
            given = {file["path"]: file["text"].encode() for file in files}
            if number == 0:
                given |= {script: code, ".dlt/config.toml": CONFIG.encode()}
            for name, content in given.items():
                clean.put(f"{path}/{name}", content)
            argv = [f"{ENVIRONMENT.inside}/bin/python", script]
            done = clean.run(argv, cwd=path, env=SETTINGS, timeout=TIMEOUT)
            if done.returncode or done.timed_out:
                said = done.stderr.decode(errors="replace").strip()[-400:] or "it took too long"
                raise CheckFailed(f"{script} did not run through on other data: {said}")
        return bytes(clean.get(f"{path}/{database}", limit=LIMIT))
    except GuestCallError as error:
        raise CheckFailed(f"{script} on other data: {error}") from None
    except MachineError as error:
        if clean.alive:
            raise
        raise CheckFailed(f"the machine that ran {script} did not survive it: {error}") from error


CHECKS: Mapping[str, CheckFunction] = {"dlt.loads": loads}
"""By the names that task files use."""
