"""``deskgym verify --mutants``: every oracle with one change must earn 0, or its task file says why it may not."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import tasks_of
from deskgym.cli.output import note, print_json, print_table
from deskgym.cli.run import matching
from deskgym.cli.tasks import describe

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource
    from deskgym.task_suites.core.verify.attempts import AttemptReport
    from deskgym.task_suites.core.verify.inputs import ProofInputs

GOOD = ("killed", "partial", "equivalent")
"""The outcomes that a mutant may have."""


def play_mutants(arguments: argparse.Namespace) -> int:
    """Play them; 0 when each earns 0 or is named in its task file as one that solves the task too.

    Raises:
        ValueError: the suite's oracles cannot be changed.
    """
    from deskgym.cli.verify_play import play_attempts
    from deskgym.task_suites.core.verify.attempts import mutants_of_task
    from deskgym.task_suites.core.verify.inputs import Mutable

    source = tasks_of(arguments)
    if not isinstance(source, Mutable):
        raise ValueError(f"--mutants cannot change the oracles of {arguments.suite!r}; leave it out")
    kept = _Kept(arguments, source)
    attempts, accepted, problems, unchanged = [], {}, [], 0
    for name in matching(arguments):
        row = describe(source, name, arguments.machine)
        if not row["supported"]:
            note(f"{name}: not supported: {row['reason']}")
            continue
        task = source.get(name) if "#" in name else source.get(name, arguments.seed or 0)
        mutants = source.mutants(task)
        equivalent = source.equivalent_mutants(name.partition("#")[0])
        unknown = [mutant for mutant in equivalent if mutant not in mutants]
        problems += [
            f"{name}: equivalent_mutants names {mutant!r}; its mutants are {', '.join(mutants) or 'none'}"
            for mutant in unknown
        ]
        if kept.has(name, task.id, len(mutants), len(mutants) - len(equivalent)) and not unknown:
            unchanged += 1
            continue
        attempts += mutants_of_task(task.id, mutants)
        accepted[task.id] = equivalent
    rows: list[dict[str, Any]] = []
    resets, seed = arguments.resets or 1, arguments.seed or 0

    def each(report: AttemptReport) -> None:
        rows.append(_row(report, accepted))
        kept.add(rows[-1])

    play_attempts(arguments, attempts, resets, seed, arguments.workers, each)
    rows.sort(key=lambda row: (row["task"], row["mutant"]))
    ok = bool(rows or unchanged) and not problems and all(row["outcome"] in GOOD for row in rows)
    if arguments.json:
        found = {"suite": arguments.suite, "ok": ok, "mutants": rows, "problems": problems, "unchanged": unchanged}
        print_json(found)
    else:
        _print(arguments.suite, rows, problems)
        if unchanged:
            print(
                f"those of {unchanged} tasks not played: their proofs say that they earned nothing (--all plays them)"
            )
    return int(not ok)


class _Kept:
    """What the ledger says of mutants, and what it is told of those that are played."""

    def __init__(self, arguments: argparse.Namespace, source: TaskSource) -> None:
        from deskgym.cli.verify_proofs import find_ledger
        from deskgym.task_suites.core.verify.inputs import Provable

        self._source = source if isinstance(source, Provable) else None
        self._ledger = find_ledger(arguments, source) if not arguments.seed else None
        self._all = arguments.all
        self._inputs: dict[str, ProofInputs] = {}
        self._names: dict[str, str] = {}
        self._left: Counter[str] = Counter()
        self._killed: dict[str, int] = {}
        self._survived: set[str] = set()

    def has(self, name: str, task: str, count: int, killed: int) -> bool:
        """Whether its proof holds and says that so many were killed; if not, the rows that are added are counted.

        Args:
            name: the task's, as its proof has it.
            task: the id of the instance that is played.
            count: of its mutants.
            killed: of those that the task file does not name as equivalent.
        """
        proof = self._ledger.proofs.get(name) if self._ledger else None
        if proof is None or self._source is None:
            return False
        inputs = self._source.proof_inputs(name).read()
        if proof.stale(inputs):
            return False
        if not self._all and proof.mutants == killed:
            return True
        self._names[task], self._inputs[task], self._left[task], self._killed[task] = name, inputs, count, killed
        return False

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one mutant's row; the last one of a task goes into its proof."""
        task = row["task"]
        if self._ledger is None or task not in self._names:
            return
        if row["outcome"] not in GOOD:
            self._survived.add(task)
        self._left[task] -= 1
        if self._left[task] == 0:
            count = None if task in self._survived else self._killed[task]
            self._ledger.keep_mutants(self._names[task], self._inputs[task], count)


def _row(report: AttemptReport, accepted: dict[str, Any]) -> dict[str, Any]:
    """One mutant: killed, partial (some of its results), equivalent (named in the task file), survived, or error."""
    mutant = report.attempt.agent.partition(":")[2]
    why = accepted[report.attempt.task].get(mutant, "")
    earned = [result for result in report.results if result.score == 1]
    partial = any(result.score for result in report.results)
    broken = [result for result in report.results if result.score is None]
    if earned:
        outcome = "equivalent" if why else "survived"
        verdict = earned[0].to_dict().get("verdict") or {}
        checks = [check["name"] for check in verdict.get("checks", ()) if check["outcome"] == "pass"]
    else:
        outcome, checks = ("error" if broken else "partial" if partial else "killed"), []
    return {
        "task": report.attempt.task,
        "mutant": mutant,
        "outcome": outcome,
        "checks": checks,
        "why": broken[0].message if outcome == "error" else why if outcome == "equivalent" else "",
    }


def _print(suite: str, rows: list[dict[str, Any]], problems: list[str]) -> None:
    """All that were not killed, then the counts."""
    shown = [row for row in rows if row["outcome"] not in ("killed", "partial")]
    if shown:
        print_table(
            f"mutants of {suite}: those that were not killed",
            ("task", "mutant", "outcome", "checks that let it through", "why"),
            ((r["task"], r["mutant"], r["outcome"], ", ".join(r["checks"]), r["why"]) for r in shown),
        )
    counts = Counter(row["outcome"] for row in rows)
    print(f"{len(rows)} mutants: {', '.join(f'{count} {outcome}' for outcome, count in counts.items()) or 'none'}")
    for problem in problems:
        print(problem)
