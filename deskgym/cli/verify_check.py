"""``deskgym verify --check`` and ``--release``: whether every task has a proof, and how many of these are stale."""

from __future__ import annotations

import argparse
import gc
from collections import Counter
from typing import TYPE_CHECKING, Any

from deskgym.cli.output import print_json
from deskgym.cli.verify_proofs import (
    copy_options,
    open_ledger,
    provable_tasks,
    same_but_for_suite,
    unproven_by_versions,
)

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.ledger import Proof

SHOWN = 10
"""Changed symbols that are named."""


def check(arguments: argparse.Namespace) -> int:
    """Play nothing; 0 when every task has a proof, and with ``--release`` when every proof is fresh."""
    gc.disable()  # collecting takes a third of the time, for nothing: what is made is kept until the command ends
    try:
        found = [_checked(each) for each in same_but_for_suite(arguments)]
    finally:
        gc.freeze()
        gc.enable()
    if arguments.json:
        print_json(found[0] if arguments.suite is not None else {"ok": all(f["ok"] for f in found), "suites": found})
    else:
        for each in found:
            _print(each, arguments)
    return int(not all(each["ok"] for each in found))


def _checked(arguments: argparse.Namespace) -> dict[str, Any]:
    source, ledger = open_ledger(arguments, "--release" if arguments.release else "--check")
    void: dict[str, str] = {}
    stale: dict[str, str] = {}
    changed: Counter[str] = Counter()
    versions: Counter[str] = Counter()
    mutants = 0
    tasks = provable_tasks(arguments, source)
    for task in tasks:
        proof = ledger.proofs.get(task)
        if proof is None:
            void[task] = "it has no proof"
            continue
        inputs = source.proof_inputs(task)
        if reason := proof.void(inputs) or unproven_by_versions(arguments, proof, inputs):
            void[task] = reason
            continue
        if reason := proof.stale(inputs):
            stale[task] = reason
            changed.update(proof.changed(inputs))
        if not arguments.strict_versions:
            versions.update(f"{name} {change}" for name, change in proof.other_versions(inputs).items())
        mutants += _played_mutants(proof)
    return {
        "suite": arguments.suite,
        "interface": getattr(arguments, "interface", None) or "",
        "ok": not void and not (arguments.release and stale),
        "tasks": len(tasks),
        "unproven": void,
        "stale": stale,
        "changed": dict(changed.most_common()),
        "other_versions": dict(versions),
        "mutants": mutants,
        "ledger": str(ledger.path),
        "prove": f"deskgym verify {arguments.suite}{copy_options(arguments)}",
    }


def _played_mutants(proof: Proof) -> int:
    return proof.mutants is not None


def _print(found: dict[str, Any], arguments: argparse.Namespace) -> None:
    for task, reason in found["unproven"].items():
        print(f"{task}: {reason}")
    if arguments.release:
        for task, reason in found["stale"].items():
            print(f"{task}: {reason}")
    for change, count in found["other_versions"].items():
        print(f"{count} tasks were proven with another version: {change}")
    for key, count in list(found["changed"].items())[:SHOWN]:
        print(f"{count} proofs are stale by {key}")
    if len(found["changed"]) > SHOWN:
        print(f"... and by {len(found['changed']) - SHOWN} more symbols")
    print(f"mutants of {found['mutants']} proven tasks were played; none earned the reward")
    proven = found["tasks"] - len(found["unproven"])
    name = f"{found['suite']} {found['interface']}".strip()
    print(f"{name}: {proven} of {found['tasks']} tasks are proven, {len(found['stale'])} stale ({found['ledger']})")
    if not found["ok"]:
        print(f"prove the others with: {found['prove']}")
