"""Tasks: list the suites, or the tasks of one."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from deskgym.cli.options import add_tasks, tasks_of
from deskgym.cli.output import print_json, print_table

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE and where its tasks are from."""
    add_tasks(parser, suite_needed=False)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    if arguments.suite is None:
        return _suites(arguments.json)
    source = tasks_of(arguments)
    rows = [describe(source, task_id) for task_id in source.ids(arguments.split)]
    if arguments.json:
        print_json({"suite": arguments.suite, "source": arguments.source, "mode": arguments.mode, "tasks": rows})
        return 0
    supported = sum(row["supported"] for row in rows)
    name = f"{arguments.suite} ({arguments.source})" if arguments.source else arguments.suite
    print_table(
        f"{name}: {len(rows)} tasks, {supported} supported",
        ("task", "difficulty", "max steps", "oracle", "wrong", "supported"),
        (
            (
                row["id"],
                row["difficulty"] or "-",
                row["max_steps"] or "-",
                "yes" if row["oracle"] else "-",
                len(row["wrong_attempts"]),
                "yes" if row["supported"] else f"no: {row['reason']}",
            )
            for row in rows
        ),
    )
    return 0


@runtime_checkable
class Describes(Protocol):
    """A TaskSource that knows of its tasks also what ``get`` cannot tell, because it cannot make them."""

    def describe(self, task_id: str) -> Mapping[str, Any]:
        """Any of difficulty, max_steps, instruction, feasible, oracle, wrong_attempts, supported, reason."""
        ...


def describe(source: TaskSource, task_id: str) -> dict[str, Any]:
    """A task as a row: of a template, its instance 0."""
    return _from_task(source, task_id) | (dict(source.describe(task_id)) if isinstance(source, Describes) else {})


def _from_task(source: TaskSource, task_id: str) -> dict[str, Any]:
    from deskgym.envs.errors import TaskError

    row: dict[str, Any] = {
        "id": task_id, "difficulty": None, "max_steps": None, "oracle": False, "wrong_attempts": [],
        "instruction": None, "feasible": None, "tags": [], "source": None, "supported": False, "reason": None,
    }  # fmt: skip
    try:
        task = source.get(task_id)
    except TaskError as error:
        return row | {"reason": str(error)}
    return row | {
        "difficulty": task.difficulty,
        "max_steps": task.max_steps,
        "oracle": True,
        "wrong_attempts": list(task.wrong_attempts),
        "instruction": task.instruction,
        "feasible": task.feasible,
        "tags": list(task.tags),
        "source": task.source,
        "supported": True,
    }


def _suites(as_json: bool) -> int:
    from deskgym.envs.errors import TaskError
    from deskgym.task_suites import SUITES, load_suite

    rows: list[dict[str, Any]] = []
    for name in SUITES:
        try:
            rows.append({"suite": name, "tasks": len(load_suite(name).ids()), "reason": None})
        except TaskError as error:
            rows.append({"suite": name, "tasks": None, "reason": str(error)})
    if as_json:
        print_json({"suites": rows})
    else:
        cells = ((row["suite"], "-" if row["tasks"] is None else row["tasks"], row["reason"] or "") for row in rows)
        print_table("", ("suite", "tasks", ""), cells)
    return 0
