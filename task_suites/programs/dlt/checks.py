"""The check of a pipeline: what it loads in the clean machine, from other data than the agent has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import CheckFunction, Outcome
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.dlt.environment import ENVIRONMENT, SETTINGS
from deskgym.task_suites.programs.dlt.program import CONFIG, FOLDER
from deskgym.task_suites.programs.toolkits.code_again import CodeAgain, compare

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

    def play(machine: Machine) -> bytes:
        again = CodeAgain(final, machine, path, script)
        again.put({".dlt/config.toml": CONFIG.encode()})
        for files in stages:
            again.put({file["path"]: file["text"].encode() for file in files})
            again.run([f"{ENVIRONMENT.inside}/bin/python", script], TIMEOUT, SETTINGS)
        return again.get(database)

    content = final.read_once(f"dlt:{path}:{script}:{database}:{stages}", play)
    return compare(final, content, f"{database} as {script} makes it", query, rows)


CHECKS: Mapping[str, CheckFunction] = {"dlt.loads": loads}
"""By the names that task files use."""
