"""The ledger of a suite, as the commands of ``deskgym verify`` use it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import tasks_of
from deskgym.cli.output import note
from deskgym.cli.run import matching
from deskgym.cli.tasks import Describes

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource
    from deskgym.task_suites.core.verify.inputs import ProofInputs
    from deskgym.task_suites.core.verify.ledger import Ledger, Proof

KEPT_WITH = {"machine": "sandbox", "mode": "corrected"} | dict.fromkeys(("action", "observation", "screen", "episode"))
"""The options with which a proof is kept: the ledger is of what users get unless they ask for something else."""


def find_ledger(arguments: argparse.Namespace, source: TaskSource) -> Ledger | None:
    """The suite's ledger, or None where proofs are not kept, which is said."""
    from deskgym.task_suites.core.verify.inputs import Provable
    from deskgym.task_suites.core.verify.ledger import Ledger, ledger_path

    other = other_options(arguments)
    if other or not isinstance(source, Provable):
        why = f"played with {other}" if other else "these tasks are not ours"
        note(f"no proof is kept or looked up: {why}")
        return None
    ledger = Ledger(ledger_path(arguments.suite, arguments.source))
    if not ledger.writable and not (arguments.check or arguments.release):
        note(f"no proof is kept: {ledger.path} cannot be written")
        return None
    return ledger


def other_options(arguments: argparse.Namespace) -> str:
    """The options that are given and with which no proof is kept, with commas."""
    other = [f"--{name}" for name, value in KEPT_WITH.items() if getattr(arguments, name) != value]
    if arguments.split is not None and arguments.source is None:
        other.append("--split")  # draws other instances
    return ", ".join(other)


def open_ledger(arguments: argparse.Namespace, option: str) -> tuple[Any, Ledger]:
    """A suite's tasks and its ledger.

    Raises:
        ValueError: it has no ledger, or one that the other options do not go with.
    """
    from deskgym.task_suites.core.verify.inputs import Provable

    source = tasks_of(arguments)
    if not isinstance(source, Provable):
        benchmark = getattr(source, "benchmark", arguments.source)
        whose = f"{benchmark}'s tasks" if benchmark else f"the tasks of {arguments.suite}"
        raise ValueError(f"{whose} have no ledger; leave out {option}")
    ledger = find_ledger(arguments, source)
    if ledger is None:
        raise ValueError(f"{option} reads the ledger; leave out {option} or {other_options(arguments)}")
    return source, ledger


def provable_tasks(arguments: argparse.Namespace, source: TaskSource) -> list[str]:
    """The ids of the tasks that the arguments name and that run here."""
    tasks = matching(arguments, source)
    if arguments.source is not None and isinstance(source, Describes):  # not all of its tasks run here
        tasks = [task for task in tasks if source.describe(task).get("supported", True)]
    return tasks


def same_but_for_suite(arguments: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """The arguments for each suite with a ledger, and each interface, where they name no suite; else as they are."""
    from deskgym.task_suites import load_suite
    from deskgym.task_suites.core.verify.inputs import Provable
    from deskgym.task_suites.suites import ENTRIES

    if arguments.suite is not None:
        yield arguments
        return
    for entry in ENTRIES:
        if not isinstance(load_suite(entry.name), Provable):
            continue
        variants = ("gui",) if "gui" in entry.options.get("interface", ()) else ()
        for interface in (None, *variants):
            yield argparse.Namespace(**{**vars(arguments), "suite": entry.name, "interface": interface})


def copy_options(arguments: argparse.Namespace) -> str:
    """The options of a command that name the interface, or the copy of a published benchmark."""
    interface = getattr(arguments, "interface", None)
    told = f" --interface {interface}" if interface else ""
    return told + (f" --source {arguments.source} --path {arguments.path}" if arguments.source else "")


def unproven_by_versions(arguments: argparse.Namespace, proof: Proof, inputs: ProofInputs) -> str:
    """With ``--strict-versions``: which versions are others than in a proof, or ""."""
    other = proof.other_versions(inputs) if arguments.strict_versions else {}
    return f"other versions: {', '.join(f'{name} {change}' for name, change in other.items())}" if other else ""


def why_unproven(arguments: argparse.Namespace, source: TaskSource, ledger: Ledger | None, task: str) -> str:
    """Why a task has no fresh proof, or ""."""
    from deskgym.envs.errors import TaskError
    from deskgym.task_suites.core.verify.inputs import Provable

    proof = ledger.proofs.get(task) if ledger else None
    if proof is None or not isinstance(source, Provable):
        return "it has no proof"
    try:
        inputs = source.proof_inputs(task)
    except TaskError as error:
        return str(error)
    return proof.stale(inputs) or unproven_by_versions(arguments, proof, inputs)
