"""Verify: play what is not proven yet; oracles must earn 1, doing nothing and wrong attempts 0. Keeps a ledger."""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import add_env, add_tasks, env_kwargs, make_env, seed_number, tasks_of
from deskgym.cli.output import note, print_json, print_table, progress, pulse
from deskgym.cli.run import matching
from deskgym.cli.tasks import Describes, describe, print_unsupported

if TYPE_CHECKING:
    from deskgym.envs.episode import TaskSource
    from deskgym.task_suites.core.verify.attempts import Attempt, AttemptReport
    from deskgym.task_suites.core.verify.inputs import ProofInputs
    from deskgym.task_suites.core.verify.ledger import Ledger

KEPT_WITH = {"machine": "sandbox", "mode": "corrected"} | dict.fromkeys(("action", "observation", "screen", "episode"))
"""The options with which a proof is kept: the ledger is of what users get unless they ask for something else."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, its tasks, which of them, how often and where."""
    add_tasks(parser, suite_needed=False)
    parser.add_argument("--task", metavar="GLOB", help="a task id or a glob over ids (default: all)")
    parser.add_argument("--resets", type=int, metavar="N", help="episodes per attempt (default: 3; of a mutant 1)")
    parser.add_argument(
        "--seed", type=seed_number, metavar="S", help="the first reset's seed (default: 0), or the sample's"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that play at once (default: 1)")
    parser.add_argument("--all", action="store_true", help="play the tasks too whose proof in the ledger still holds")
    parser.add_argument(
        "--sample", type=float, metavar="SHARE", help="play a random share of the tasks; of attacks also so many"
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--check", action="store_true", help="play nothing: fail where a task has no proof that holds")
    parser.add_argument("--strict-versions", action="store_true", help="other versions of packages end a proof too")
    parser.add_argument(
        "--retry", action="store_true", help="play once more, alone, what may be a busy machine's fault"
    )
    instead.add_argument("--mutants", action="store_true", help="play every oracle with a change, which must earn 0")
    instead.add_argument(
        "--choices", action="store_true", help="play oracles with those values of choices that no proof has played"
    )
    instead.add_argument("--attack", action="store_true", help="play the red team's attacks, which must earn 0")
    parser.add_argument("--only", metavar="GLOB", help="with --attack: the attacks of these names")
    instead.add_argument("--blind", action="store_true", help="try rules that choose options without the data")
    instead.add_argument("--rescore", metavar="DIR", help="score the episodes recorded in DIR again instead of playing")
    add_env(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Verify; 0 when everything is as it must be."""
    if arguments.rescore is not None:
        from deskgym.cli.rescoring import rescore_all

        return rescore_all(arguments.rescore, arguments.path, arguments.json)
    if arguments.suite is None:
        raise ValueError("verify needs a SUITE, or --rescore DIR")
    for option in ("resets", "workers"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise ValueError(f"--{option} {value}; legal is a number from 1 up")
    sample = arguments.sample
    if sample is not None and not (0 < sample <= 1 or (arguments.attack and sample > 1 and sample.is_integer())):
        raise ValueError(f"--sample {sample:g}; legal is a share above 0, up to 1; with --attack also a whole number")
    whole = [f"--{name}" for name in ("check", "mutants", "blind") if getattr(arguments, name)]
    if sample is not None and whole:
        raise ValueError(f"--sample {sample:g} beside {whole[0]}; legal is --sample alone, with --choices or --attack")
    if arguments.only is not None and not arguments.attack:
        raise ValueError(f"--only {arguments.only}; legal with --attack")
    if arguments.mutants:
        from deskgym.cli.mutants import play_mutants

        return play_mutants(arguments)
    if arguments.choices:
        from deskgym.cli.choices import play_choices

        return play_choices(arguments)
    if arguments.attack:
        from deskgym.cli.attacks import play_attacks

        return play_attacks(arguments)
    if arguments.blind:
        from deskgym.cli.blind import play_blind

        return play_blind(arguments)
    if arguments.check:
        return _check(arguments)
    return _play(arguments)


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


def _play(arguments: argparse.Namespace) -> int:
    from deskgym.envs.errors import TaskError
    from deskgym.task_suites.core.verify.attempts import problems_of
    from deskgym.task_suites.core.verify.ledger import proof_of

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
            ledger.keep(task, None if problems_of(reports[task]) else proof_of(plan.inputs[task], reports[task]))

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
    rows = [_row(task, reports[task]) for task, each in plan.attempts.items() if len(reports[task]) == len(each)]
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


def find_ledger(arguments: argparse.Namespace, source: TaskSource) -> Ledger | None:
    """The suite's ledger, or None where proofs are not kept, which is said."""
    from deskgym.task_suites.core.verify.inputs import Provable
    from deskgym.task_suites.core.verify.ledger import Ledger, ledger_path

    other = _other_options(arguments)
    if other or not isinstance(source, Provable):
        why = f"played with {other}" if other else "these tasks are not ours"
        note(f"no proof is kept or looked up: {why}")
        return None
    ledger = Ledger(ledger_path(arguments.suite, arguments.source))
    if not ledger.writable and not arguments.check:
        note(f"no proof is kept: {ledger.path} cannot be written")
        return None
    return ledger


def _other_options(arguments: argparse.Namespace) -> str:
    """The options that are given and with which no proof is kept, with commas."""
    other = [f"--{name}" for name, value in KEPT_WITH.items() if getattr(arguments, name) != value]
    if arguments.split is not None and arguments.source is None:
        other.append("--split")  # draws other instances
    return ", ".join(other)


def _plan(arguments: argparse.Namespace, source: TaskSource, ledger: Ledger | None) -> Plan:
    from deskgym.task_suites.core.verify.attempts import attempts_of
    from deskgym.task_suites.core.verify.inputs import Provable

    plan, tasks = Plan(), matching(arguments)
    if arguments.sample is not None:
        plan.sampled = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
        tasks = sorted(random.Random(plan.sampled).sample(tasks, max(1, round(arguments.sample * len(tasks)))))
    everything = ledger is None or arguments.all or arguments.sample is not None
    for task in tasks:
        if not everything and not _reason(arguments, source, ledger, task):
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


def _reason(arguments: argparse.Namespace, source: TaskSource, ledger: Ledger | None, task: str) -> str:
    """Why a task has no proof that holds, or ""."""
    from deskgym.envs.errors import TaskError
    from deskgym.task_suites.core.verify.inputs import Provable

    proof = ledger.proofs.get(task) if ledger else None
    if proof is None or not isinstance(source, Provable):
        return "it has no proof"
    try:
        inputs = source.proof_inputs(task)
    except TaskError as error:
        return str(error)
    other = proof.other_versions(inputs) if arguments.strict_versions else {}
    changed = ", ".join(f"{name} {versions}" for name, versions in other.items())
    return proof.stale(inputs) or (f"other versions: {changed}" if changed else "")


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


def _check(arguments: argparse.Namespace) -> int:
    """Fail where a task has no proof that holds."""
    from deskgym.task_suites.core.verify.inputs import Provable

    source = tasks_of(arguments)
    if not isinstance(source, Provable):
        benchmark = getattr(source, "benchmark", arguments.source)
        whose = f"{benchmark}'s tasks" if benchmark else f"the tasks of {arguments.suite}"
        raise ValueError(f"{whose} have no ledger; leave out --check")
    ledger, tasks = find_ledger(arguments, source), matching(arguments)
    if ledger is None:
        raise ValueError(f"--check reads the ledger; leave out --check or {_other_options(arguments)}")
    if isinstance(source, Describes):  # a published benchmark has tasks that do not run here
        tasks = [task for task in tasks if source.describe(task).get("supported", True)]
    reasons = {task: reason for task in tasks if (reason := _reason(arguments, source, ledger, task))}
    versions = {} if arguments.strict_versions else _other_versions(source, ledger, set(tasks) - set(reasons))
    if arguments.json:
        found = {"suite": arguments.suite, "ok": not reasons, "tasks": len(tasks), "unproven": reasons}
        print_json({**found, "other_versions": versions})
        return int(bool(reasons))
    for task, reason in reasons.items():
        print(f"{task}: {reason}")
    for change, count in versions.items():
        print(f"{count} tasks were proven with another version: {change}")
    changed = sum(ledger.proofs[task].mutants is not None for task in tasks if task not in reasons)
    print(f"mutants of {changed} proven tasks were played; none earned the reward")
    print(f"{arguments.suite}: {len(tasks) - len(reasons)} of {len(tasks)} tasks are proven ({ledger.path})")
    if reasons:
        copy = f" --source {arguments.source} --path {arguments.path}" if arguments.source else ""
        print(f"prove the others with: deskgym verify {arguments.suite}{copy}")
    return int(bool(reasons))


def _other_versions(source: TaskSource, ledger: Ledger, tasks: set[str]) -> dict[str, int]:
    """Which packages have other versions here than in the proofs, and in how many."""
    from deskgym.task_suites.core.verify.inputs import Provable

    counts: dict[str, int] = defaultdict(int)
    if not isinstance(source, Provable):
        return counts
    for task in tasks:
        for name, versions in ledger.proofs[task].other_versions(source.proof_inputs(task)).items():
            counts[f"{name} {versions}"] += 1
    return dict(counts)


def _of_other_interfaces(arguments: argparse.Namespace, ledger: Ledger) -> list[str]:
    """The tasks in the ledger that this verification does not know: variants, or of these the others."""
    from deskgym.task_suites.core.gui_only import PREFIX

    variants = getattr(arguments, "interface", None) == "gui"
    return [task for task in ledger.proofs if task.startswith(PREFIX) != variants]


def _row(task: str, reports: Sequence[AttemptReport]) -> dict[str, Any]:
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
