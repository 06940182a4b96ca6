"""What a project's code does and defines: it is run in the clean machine, never believed from where the agent was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers.files import parse_json
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.dagster.environment import BIN
from deskgym.task_suites.programs.dagster_project.commands import JUDGE
from deskgym.task_suites.programs.dagster_project.program import FOLDER
from deskgym.task_suites.programs.toolkits.code_again import CodeAgain, compare

_PYTHON = f"{BIN}/python"
TIMEOUT = 180.0

Tree = dict[str, Any]


def loads(
    final: FinalState,
    script: str,
    database: str,
    query: str,
    rows: list[list[Any]],
    stages: list[Tree],
    path: str = FOLDER,
) -> Outcome:
    """A file of definitions, run in a clean machine once for each stage, loads these rows into a DuckDB database.

    Args:
        final: the final state.
        script: the file in the folder; nothing else of the agent's is used.
        database: the DuckDB file that it makes in the folder.
        query: what is compared, in DuckDB's dialect.
        rows: what the query must give at the end, in any order.
        stages: ``job``, or all assets where it is left out; ``config`` of the run; ``files``: ``path`` in the folder
            and ``text`` of each that stands there.
        path: the folder.
    """

    def play(machine: Machine) -> bytes:
        again = CodeAgain(final, machine, path, script)
        for stage in stages:
            again.put({file["path"]: file["text"].encode() for file in stage.get("files", ())})
            told = [stage.get("job", ""), json.dumps(stage.get("config", {}))]
            again.run([_PYTHON, f"{JUDGE}/run_project.py", script, *told], TIMEOUT)
        return again.get(database)

    content = final.read_once(f"dagster_project:{path}:{script}:{database}:{stages}", play)
    return compare(final, content, f"{database} as {script} makes it", query, rows)


def defines(
    final: FinalState, script: str, assets: list[Tree] | None = None, jobs: list[Tree] | None = None,
    schedules: list[Tree] | None = None, path: str = FOLDER,
) -> Outcome:  # fmt: skip
    """A file of definitions has just these.

    Args:
        final: the final state.
        script: the file in the folder.
        assets: ``name``, and ``sources``: what each is made from; not looked at if left out.
        jobs: ``name`` and ``ops`` in their order; not looked at if left out.
        schedules: ``name``, ``job``, ``cron``, ``timezone`` and ``running``; not looked at if left out.
        path: the folder.
    """

    def play(machine: Machine) -> Tree:
        again = CodeAgain(final, machine, path, script)
        said = again.run([_PYTHON, f"{JUDGE}/inspect_project.py", script], TIMEOUT).stdout.decode(errors="replace")
        found = parse_json(said, "what the file defines")
        if not isinstance(found, dict):
            raise CheckFailed(f"what the file defines reads {shown(said)}; right is an object")
        return found

    found = final.read_once(f"dagster_project:{path}:{script}:inspect", play)
    wanted = {"assets": assets, "jobs": jobs, "schedules": schedules}
    wrong = [
        f"its {kind} are {shown(found.get(kind), 300)}; right is {shown(right, 300)}"
        for kind, right in wanted.items()
        if right is not None and found.get(kind) != sorted(right, key=lambda each: str(each["name"]))
    ]
    return not wrong, "; ".join(wrong) or f"{script} defines what it should"


CHECKS: Mapping[str, CheckFunction] = {"dagster_project.loads": loads, "dagster_project.defines": defines}
"""By the names that task files use."""
