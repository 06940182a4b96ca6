"""Tasks: list the suites, or the tasks of one."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Mapping
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
    columns = TURN_COLUMNS if any(row.get("modes") for row in rows) else COLUMNS
    print_table(
        f"{name}: {len(rows)} tasks, {supported} supported",
        tuple(columns),
        (tuple(cell(row) for cell in columns.values()) for row in rows),
    )
    for key in ("modes", "action_types", "result_types") if columns is TURN_COLUMNS else ():
        counts = Counter(value for row in rows for value in row.get(key) or ())
        print(f"{key.replace('_', ' ')}: {', '.join(f'{value} {count}' for value, count in counts.most_common())}")
    return 0


def _joined(key: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: ", ".join(row.get(key) or ()) or "-"


Cell = Callable[[Mapping[str, Any]], object]
_SUPPORTED: dict[str, Cell] = {
    "wrong": lambda row: len(row["wrong_attempts"]),
    "supported": lambda row: "yes" if row["supported"] else f"no: {row['reason']}",
}
COLUMNS: dict[str, Cell] = {
    "task": lambda row: row["id"],
    "difficulty": lambda row: row["difficulty"] or "-",
    "max steps": lambda row: row["max_steps"] or "-",
    "oracle": lambda row: "yes" if row["oracle"] else "-",
    **_SUPPORTED,
}
"""What is shown of a desktop's task."""
TURN_COLUMNS: dict[str, Cell] = {
    "task": lambda row: row["id"],
    "mode": _joined("modes"),
    "action type": _joined("action_types"),
    "result types": _joined("result_types"),
    "difficulty": lambda row: row["difficulty"] or "-",
    **_SUPPORTED,
}
"""What is shown of a conversation about tables."""


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
    return (
        row
        | _turns(task)
        | {
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
    )


def _turns(task: Any) -> dict[str, Any]:
    """What a conversation's turns are, each word once; {} for a desktop's task."""
    turns = getattr(task, "turns", ())
    words = {
        "modes": [turn.mode for turn in turns],
        "action_types": [turn.action for turn in turns if turn.action],
        "result_types": [intent.kind for turn in turns for intent in turn.intents],
    }
    return {"turns": len(turns)} | {name: list(dict.fromkeys(found)) for name, found in words.items()} if turns else {}


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
