"""``deskgym verify --choices``: oracles must also solve the instances with those choices that no proof has played."""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from math import ceil
from typing import TYPE_CHECKING

from deskgym.cli.options import tasks_of
from deskgym.cli.output import note, print_json, print_table
from deskgym.cli.run import matching
from deskgym.cli.tasks import describe

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.attempts import AttemptReport


def play_choices(arguments: argparse.Namespace) -> int:
    """Play them; 0 when every oracle earns 1.

    Raises:
        ValueError: the suite's tasks are not drawn from templates.
    """
    from deskgym.cli.verify_play import play_again, play_attempts
    from deskgym.cli.verify_proofs import find_ledger
    from deskgym.task_suites.core.suite import TaskSuite
    from deskgym.task_suites.core.verify.attempts import Attempt
    from deskgym.task_suites.core.verify.choices import seeds_of_choices

    source = tasks_of(arguments)
    if not isinstance(source, TaskSuite):
        raise ValueError(f"--choices: the tasks of {arguments.suite!r} are drawn from no templates; leave it out")
    ledger, attempts = find_ledger(arguments, source), []
    for name in matching(arguments):
        if "#" not in name and describe(source, name, arguments.machine)["supported"]:
            proof = ledger.proofs.get(name) if ledger is not None else None
            holds = proof is not None and proof.seed == 0 and not proof.stale(source.proof_inputs(name))
            seeds = seeds_of_choices(source.templates[name], proof.resets if proof is not None and holds else 0)
            attempts += [Attempt(f"{name}#{seed}", "oracle", 1.0) for seed in seeds]
    if arguments.sample is not None:
        seed = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
        attempts = random.Random(seed).sample(attempts, ceil(len(attempts) * arguments.sample))
        note(f"a sample of {len(attempts)} instances; the same one: --sample {arguments.sample:g} --seed {seed}")
    reports: dict[str, list[AttemptReport]] = defaultdict(list)

    def keep(report: AttemptReport) -> None:
        reports[report.attempt.task].append(report)

    play_attempts(arguments, attempts, 1, 0, arguments.workers, keep)
    flaky = play_again(arguments, reports, 1, 0, keep) if arguments.retry else []
    rows = [
        {"instance": task, "problem": report.problems[0]}
        for task, each in sorted(reports.items())
        for report in each
        if report.problems
    ]
    if arguments.json:
        print_json({"suite": arguments.suite, "ok": not rows, "played": len(reports), "unsolved": rows, "flaky": flaky})
    else:
        if rows:
            title = f"instances of {arguments.suite} that their oracle does not solve"
            print_table(title, ("instance", "problem"), [tuple(row.values()) for row in rows])
        print(f"{len(reports) - len(rows)} of {len(reports)} further instances are solved by their oracles")
    return int(bool(rows))
