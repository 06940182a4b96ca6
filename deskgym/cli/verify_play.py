"""Plays what ``deskgym verify`` has to play, and keeps the proofs."""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import env_kwargs, make_env, tasks_of
from deskgym.cli.output import note, print_json, print_table, progress, pulse
from deskgym.cli.run import matching
from deskgym.cli.tasks import describe, print_unsupported
from deskgym.cli.verify_proofs import find_ledger, why_unproven

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource
    from deskgym.task_suites.core.verify.attempts import Attempt, AttemptReport
    from deskgym.task_suites.core.verify.inputs import ProofInputs
    from deskgym.task_suites.core.verify.ledger import Ledger


@dataclass
class Plan:
    """What is to be played, and what is not.

    Attributes:
        attempts: by task.
        inputs: by task, what its proof depends on before it is played; where proofs are kept.
        unsupported: tasks that cannot be played, with the reason.
        unchanged: tasks whose proof holds.
        sampled: the seed of the sample, or None.
    """

    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    inputs: dict[str, ProofInputs] = field(default_factory=dict)
    unsupported: dict[str, str] = field(default_factory=dict)
    unchanged: list[str] = field(default_factory=list)
    sampled: int | None = None


def play(arguments: argparse.Namespace) -> int:
    """Play the tasks without a fresh proof; 0 when everything is as it must be."""
    from deskgym.cli.verify_states import States
    from deskgym.envs.errors import TaskError

    source, resets = tasks_of(arguments), arguments.resets or 3
    ledger = None if "#" in (arguments.task or "") else find_ledger(arguments, source)  # an instance has no proof
    plan = _plan(arguments, source, ledger)
    if plan.sampled is not None:
        note(f"a sample of {len(plan.attempts)} tasks; the same one: --sample {arguments.sample} --seed {plan.sampled}")
    seed = (arguments.seed or 0) if plan.sampled is None else 0
    reports: dict[str, list[AttemptReport]] = defaultdict(list)

    def keep(report: AttemptReport) -> None:
        task = report.attempt.task
        reports[task].append(report)
        if ledger is not None and len(reports[task]) == len(plan.attempts[task]):
            keep_proof(arguments, ledger, task, plan.inputs[task], reports[task])

    attempts = [attempt for each in plan.attempts.values() for attempt in each]
    flaky, broken_off = [], ""
    try:
        play_attempts(arguments, attempts, resets, seed, arguments.workers, keep)
        flaky = play_again(arguments, reports, resets, seed, keep) if arguments.retry else []
    except TaskError as error:  # each environment reads the task files: somebody may have changed them meanwhile
        if not reports:
            raise
        broken_off = str(error)
        note(f"broken off; the table has what was played before: {error}")
    whole = arguments.task is None and arguments.split is None and plan.sampled is None and not broken_off
    if ledger is not None and whole:
        ledger.retain([*plan.attempts, *plan.unsupported, *plan.unchanged, *_of_other_interfaces(arguments, ledger)])
        States(ledger.path).retain(ledger.proofs)
    rows = [row_of(task, reports[task]) for task, each in plan.attempts.items() if len(reports[task]) == len(each)]
    failed = sum(not row["ok"] for row in rows) + bool(broken_off)
    ok = bool(rows or plan.unchanged) and not failed
    if arguments.json:
        found = {"suite": arguments.suite, "ok": ok, "tasks": rows, "unsupported": plan.unsupported}
        found |= {"unchanged": plan.unchanged, "flaky": flaky, "sample_seed": plan.sampled, "broken_off": broken_off}
        print_json(found)
    else:
        _print(arguments, resets, rows, plan)
        if broken_off:
            print(f"FAILED {arguments.suite}: broken off: {broken_off}")
    return int(not ok)


def keep_proof(
    arguments: argparse.Namespace, ledger: Ledger, task: str, inputs: ProofInputs, reports: Sequence[AttemptReport]
) -> None:
    """Write a task's proof and its final states, or remove the proof where an attempt went wrong."""
    from deskgym.cli.verify_states import States
    from deskgym.task_suites.core.verify.attempts import problems_of
    from deskgym.task_suites.core.verify.ledger import proof_of

    if problems_of(reports):
        ledger.keep(task, None)
        return
    ledger.keep(task, proof_of(inputs, reports))
    if arguments.source is None:  # what is in a published benchmark's tasks is not ours to keep
        States(ledger.path).keep_reports(task, reports)


def _plan(arguments: argparse.Namespace, source: TaskSource, ledger: Ledger | None) -> Plan:
    from deskgym.task_suites.core.verify.attempts import attempts_of
    from deskgym.task_suites.core.verify.inputs import Provable

    plan, tasks = Plan(), matching(arguments, source)
    if arguments.sample is not None:
        plan.sampled = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
        tasks = sorted(random.Random(plan.sampled).sample(tasks, max(1, round(arguments.sample * len(tasks)))))
    everything = ledger is None or arguments.all or arguments.sample is not None
    for task in tasks:
        if not everything and not why_unproven(arguments, source, ledger, task):
            plan.unchanged.append(task)
            continue
        row = describe(source, task, arguments.machine)
        if row["supported"]:
            plan.attempts[task] = attempts_of(task, row["wrong_attempts"])
            if ledger is not None and isinstance(source, Provable):
                plan.inputs[task] = source.proof_inputs(task).read()
        else:
            plan.unsupported[task] = row["reason"]
    return plan


def play_attempts(
    arguments: argparse.Namespace,
    attempts: Sequence[Attempt],
    resets: int,
    seed: int,
    workers: int,
    each: Callable[[AttemptReport], None],
    max_steps: int | None = None,
) -> None:
    """Play attempts with a progress bar, in at most ``max_steps`` (None: the task's own), and hand on each report."""
    from deskgym.cli.verifying import verify

    make = partial(make_env, arguments.record, max_steps=max_steps, **env_kwargs(arguments))
    running = verify(make, attempts, resets=resets, seed=seed, workers=workers) if attempts else (_ for _ in ())
    total, played = len(attempts) * resets, 0
    said = pulse(lambda: f"{played} of {total} episodes played", seconds=30.0)
    with progress(arguments.json) as bar, closing(running), said:
        episodes = bar.add_task("episodes", total=total)
        for report in running:
            played += resets
            bar.update(episodes, advance=resets, description=f"{report.attempt.task} {report.attempt.agent}")
            for problem in (
                () if report.skipped or report.attempt.agent.startswith(("mutant:", "attack:")) else report.problems
            ):
                note(f"{report.attempt.task}: {problem}")
            each(report)


def play_again(
    arguments: argparse.Namespace,
    reports: dict[str, list[AttemptReport]],
    resets: int,
    seed: int,
    keep: Callable[[AttemptReport], None],
) -> list[str]:
    """Play once more, alone, what went wrong and may be a busy machine's doing; what passes then is named as flaky."""
    again = [report for each in reports.values() for report in each if report.problems and report.may_be_luck]
    before = {report.attempt: report for report in again}
    for report in again:
        reports[report.attempt.task].remove(report)
    flaky: list[str] = []

    def second(report: AttemptReport) -> None:
        keep(report)
        first = before.pop(report.attempt)
        if not report.problems and not first.skipped:
            flaky.append(f"{report.attempt.task}: {first.problems[0]}")
            note(f"flaky, passed when it was played once more: {flaky[-1]}")

    try:
        play_attempts(arguments, list(before), resets, seed, 1, second)
    finally:
        for report in before.values():  # something broke it off
            keep(report)
    return flaky


def _of_other_interfaces(arguments: argparse.Namespace, ledger: Ledger) -> list[str]:
    """The tasks in the ledger that this verification does not know: variants, or of these the others."""
    from deskgym.task_suites.core.gui_only import PREFIX

    variants = getattr(arguments, "interface", None) == "gui"
    return [task for task in ledger.proofs if task.startswith(PREFIX) != variants]


def row_of(task: str, reports: Sequence[AttemptReport]) -> dict[str, Any]:
    """One task's reports together."""
    from deskgym.task_suites.core.verify.attempts import problems_of

    problems = problems_of(reports)
    return {
        "task": task,
        "ok": not problems,
        "problems": problems,
        "seconds": round(sum(result.seconds for report in reports for result in report.results), 2),
        "attempts": [
            {
                "agent": report.attempt.agent,
                "expected": report.attempt.expected,
                "good": report.good,
                "episodes": [result.to_dict() for result in report.results],
            }
            for report in reports
        ],
    }


def _print(arguments: argparse.Namespace, resets: int, rows: Sequence[dict[str, Any]], plan: Plan) -> None:
    good = sum(row["ok"] for row in rows)
    if rows:
        print_table(
            f"verify {arguments.suite}: {resets} resets each; columns are episodes that went as they must",
            ("task", "oracle = 1", "no-op = 0", "wrong = 0", "seconds", "outcome"),
            (
                (
                    row["task"],
                    _count(row, "oracle"),
                    _count(row, "noop"),
                    _count(row, "wrong:"),
                    f"{row['seconds']:.1f}",
                    "ok" if row["ok"] else f"wrong: {row['problems'][0]}" + _more(len(row["problems"]) - 1),
                )
                for row in rows
            ),
        )
    for row in rows:
        for problem in row["problems"]:
            print(f"FAILED {row['task']}: {problem}")  # whole, and where a log's reader looks for it
    told = [f"{good} of {len(rows)} tasks are as they must be"] if rows or not plan.unchanged else []
    if plan.unchanged:
        told.append(f"{len(plan.unchanged)} not played: their proofs hold (--all plays them too)")
    if plan.unsupported:
        told.append(f"{len(plan.unsupported)} not supported")
    print("; ".join(told))
    print_unsupported(plan.unsupported)


def _count(row: dict[str, Any], prefix: str) -> str:
    attempts = [attempt for attempt in row["attempts"] if attempt["agent"].startswith(prefix)]
    total = sum(len(attempt["episodes"]) for attempt in attempts)
    return f"{sum(attempt['good'] for attempt in attempts)}/{total}" if attempts else "missing"


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""
