"""Tasks: list the suites, or the tasks of one."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from deskgym.cli.options import add_suite_options, add_tasks, suite_options, tasks_of
from deskgym.cli.output import print_json, print_table
from deskgym.task_suites import find_entry
from deskgym.task_suites.suites import ENTRIES

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource

LONG = 15
"""Actions above which Spider2-V's tables call a task long."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE and where its tasks are from."""
    add_tasks(parser, suite_needed=False)
    add_suite_options(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the list."""
    if arguments.suite is None:
        if arguments.split or arguments.source or arguments.path or suite_options(arguments):
            raise ValueError("--split, --source, --path and suites' options are of one suite's tasks: name a SUITE")
        return _suites(arguments.json)
    source = tasks_of(arguments)
    rows = [describe(source, task_id) for task_id in source.ids(arguments.split)]
    _tell_proven(arguments, source, rows)
    _tell_actions(arguments, rows)
    if arguments.json:
        print_json({"suite": arguments.suite, "source": arguments.source, "mode": arguments.mode, "tasks": rows})
        return 0
    not_supported = [row for row in rows if not row["supported"]]
    name = f"{arguments.suite} ({arguments.source})" if arguments.source else arguments.suite
    columns = [(title, key) for title, key in find_entry(arguments.suite).columns if any(row.get(key) for row in rows)]
    print_table(
        f"{name}: {len(rows)} tasks, {len(rows) - len(not_supported)} supported",
        ("task", *(title for title, _ in columns), "wrong", *(["supported"] if not_supported else [])),
        (
            [
                row["id"],
                *(_cell(row.get(key)) for _, key in columns),
                len(row["wrong_attempts"]),
                *(["" if row["supported"] else "no"] if not_supported else []),
            ]
            for row in rows
        ),
    )
    print_unsupported({row["id"]: row["reason"] for row in not_supported})
    if key := find_entry(arguments.suite).grouped_by.get(arguments.source):
        _print_groups(key, rows)
    for key in find_entry(arguments.suite).tallies:
        if counts := Counter(value for row in rows for value in row.get(key) or ()):
            print(f"{key.replace('_', ' ')}: {', '.join(f'{value} {count}' for value, count in counts.most_common())}")
    if counted := [row["actions"] for row in rows if row["actions"] is not None]:
        long = sum(actions > LONG for actions in counted)
        print(f"oracles of more than {LONG} actions: {long} of the {len(counted)} whose last proof says how many")
    return 0


def _tell_proven(arguments: argparse.Namespace, source: TaskSource, rows: Sequence[dict[str, Any]]) -> None:
    """Say of a published benchmark's tasks whether their proof in the ledger holds."""
    from deskgym.task_suites.core.verify import ledger
    from deskgym.task_suites.core.verify.inputs import Provable

    if arguments.source is None or arguments.mode != "corrected" or not isinstance(source, Provable):
        return
    proofs = ledger.Ledger(ledger.ledger_path(arguments.suite, arguments.source)).proofs
    for row in rows:
        proof = proofs.get(row["id"]) if row["supported"] else None
        row["proven"] = proof is not None and not proof.void(source.proof_inputs(row["id"]))


def _tell_actions(arguments: argparse.Namespace, rows: Sequence[dict[str, Any]]) -> None:
    """Say how many actions a task's oracle took when its proof was played; what ends the episode is none."""
    from deskgym.task_suites.core.verify import ledger

    proofs = ledger.Ledger(ledger.ledger_path(arguments.suite, arguments.source)).proofs
    for row in rows:
        proof = proofs.get(row["id"])
        row["actions"] = proof.steps - 1 if proof and proof.steps else None


def _print_groups(key: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """How many tasks of each group there are, run here, have an oracle, are proven, and why the others do not run."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(str(row.get(key) or row["id"].partition("/")[0]), []).append(row)
    table = [(name, *_group(group)) for name, group in groups.items()]
    if len(groups) > 1:
        table.append(("all", *_group(rows)[:-1], ""))
    print_table("", (key, "tasks", "read", "run here", "oracle", "proven", "why not"), table)


def _group(rows: Sequence[Mapping[str, Any]]) -> tuple[object, ...]:
    run = [row for row in rows if row["supported"]]
    why = Counter(reason for row in rows for reason in row.get("reasons", ()) if _was_read(row))
    told = "; ".join(f"{count} {reason}" for reason, count in why.most_common())
    oracles, proven = sum(bool(row["oracle"]) for row in run), sum(bool(row.get("proven")) for row in run)
    return len(rows), sum(map(_was_read, rows)), len(run), oracles, proven, told


def _was_read(row: Mapping[str, Any]) -> bool:
    """Whether a task's file was read without a mistake."""
    return row["instruction"] is not None


def print_unsupported(reasons: Mapping[str, str]) -> None:
    """Say of tasks by id why they cannot be played; those with one reason together."""
    together: dict[str, list[str]] = {}
    for task, reason in reasons.items():
        together.setdefault(reason, []).append(task)
    for reason, tasks in together.items():
        who = ", ".join(tasks) if len(tasks) <= 3 else f"{len(tasks)} tasks, {', '.join(_by_group(tasks))}"
        print(f"not supported: {who}: {reason}")


def _by_group(tasks: Sequence[str]) -> list[str]:
    """How many tasks there are of each group, by what their ids begin with; the id where it is only one."""
    groups: dict[str, list[str]] = {}
    for task in tasks:
        groups.setdefault(task.partition("/")[0], []).append(task)
    return [f"{len(group)} of {name}/*" if len(group) > 1 else group[0] for name, group in groups.items()]


def _cell(value: object) -> object:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return "yes" if value is True else value or "-"


@runtime_checkable
class Describes(Protocol):
    """A TaskSource that knows of its tasks also what ``get`` cannot tell, because it cannot make them."""

    def describe(self, task_id: str) -> Mapping[str, Any]:
        """Any of difficulty, max_steps, instruction, feasible, oracle, wrong_attempts, supported, reason.

        Also what the suite's columns show.
        """
        ...


def describe(source: TaskSource, task_id: str, machine: str = "sandbox") -> dict[str, Any]:
    """A task as a row: of a template, its instance 0.

    Args:
        source: where it is from.
        task_id: its id.
        machine: the kind of machine that it is to be played on: whether its programs are there.
    """
    return _from_task(source, task_id, machine) | (
        dict(source.describe(task_id)) if isinstance(source, Describes) else {}
    )


def _from_task(source: TaskSource, task_id: str, machine: str) -> dict[str, Any]:
    from deskgym.envs.episode import needs_of
    from deskgym.envs.errors import MachineError, TaskError
    from deskgym.envs.provision.builder import MachineBuilder

    row: dict[str, Any] = {
        "id": task_id, "difficulty": None, "max_steps": None, "oracle": False, "wrong_attempts": [],
        "instruction": None, "feasible": None, "tags": [], "source": None, "supported": False, "reason": None,
    }  # fmt: skip
    try:
        task = source.get(task_id)
    except TaskError as error:
        return row | {"reason": str(error)}
    row |= {
        "difficulty": task.difficulty,
        "max_steps": task.max_steps,
        "oracle": True,
        "wrong_attempts": list(task.wrong_attempts),
        "instruction": task.instruction,
        "feasible": task.feasible,
        "tags": list(task.tags),
        "source": task.source,
    }
    try:
        MachineBuilder(machine).check_installed(needs_of(task))
    except MachineError as error:
        return row | {"reason": str(error)}
    return row | {"supported": True}


def _suites(as_json: bool) -> int:
    from deskgym.envs.errors import TaskError
    from deskgym.envs.machines.packages import missing_packages
    from deskgym.packages import packages
    from deskgym.task_suites import load_suite

    rows: list[dict[str, Any]] = []
    for entry in ENTRIES:
        row: dict[str, Any] = {"suite": entry.name, "programs": list(entry.programs), "tasks": None, "reason": None}
        try:
            row["tasks"] = len(load_suite(entry.name).ids())
            if missing := missing_packages(packages(entry.name)):
                row["reason"] = f"not installed: {', '.join(missing)}; run `deskgym install {entry.name}`"
        except TaskError as error:
            row["reason"] = str(error)
        rows.append(row)
    if as_json:
        print_json({"suites": rows})
    else:
        print_table(
            "",
            ("suite", "programs", "tasks", ""),
            ((row["suite"], _cell(row["programs"]), _cell(row["tasks"]), row["reason"] or "") for row in rows),
        )
    return 0
