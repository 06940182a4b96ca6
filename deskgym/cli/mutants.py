"""``deskgym verify --mutants``: every oracle with one change must earn 0, or its task file says why it may not."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import tasks_of
from deskgym.cli.output import note, print_json, print_table
from deskgym.cli.run import matching
from deskgym.cli.tasks import describe

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.attempts import AttemptReport


def play_mutants(arguments: argparse.Namespace) -> int:
    """Play them; 0 when each earns 0 or is named in its task file as one that solves the task too.

    Raises:
        ValueError: the suite's oracles cannot be changed.
    """
    from deskgym.cli.verify import play_attempts
    from deskgym.task_suites.core.verify.attempts import mutants_of_task
    from deskgym.task_suites.core.verify.inputs import Mutable

    source = tasks_of(arguments)
    if not isinstance(source, Mutable):
        raise ValueError(f"--mutants cannot change the oracles of {arguments.suite!r}; leave it out")
    attempts, accepted, problems = [], {}, []
    for name in matching(arguments):
        row = describe(source, name, arguments.machine)
        if not row["supported"]:
            note(f"{name}: not supported: {row['reason']}")
            continue
        task = source.get(name) if "#" in name else source.get(name, arguments.seed or 0)
        mutants = source.mutants(task)
        attempts += mutants_of_task(task.id, mutants)
        accepted[task.id] = source.equivalent_mutants(name.partition("#")[0])
        problems += [
            f"{name}: equivalent_mutants names {mutant!r}; its mutants are {', '.join(mutants) or 'none'}"
            for mutant in accepted[task.id]
            if mutant not in mutants
        ]
    rows: list[dict[str, Any]] = []
    resets, seed = arguments.resets or 1, arguments.seed or 0
    play_attempts(
        arguments, attempts, resets, seed, arguments.workers, lambda report: rows.append(_row(report, accepted))
    )
    rows.sort(key=lambda row: (row["task"], row["mutant"]))
    ok = bool(rows) and not problems and all(row["outcome"] in ("killed", "partial", "equivalent") for row in rows)
    if arguments.json:
        print_json({"suite": arguments.suite, "ok": ok, "mutants": rows, "problems": problems})
    else:
        _print(arguments.suite, rows, problems)
    return int(not ok)


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
