"""``deskgym verify --attack``: attacks must earn 0, and must not turn a fail into an error or a fault."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from deskgym.cli.options import tasks_of
from deskgym.cli.output import note, print_json, print_table
from deskgym.cli.run import matching
from deskgym.cli.tasks import describe

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.attempts import Attempt, AttemptReport

HOSTS = ("process", "vnc")
"""Machines that an attack would harm: they are no throwaway ones."""
LUCK = 4
"""On how many instances a blind answer must earn the reward to be more than lucky."""
STEPS = 200
"""Steps of an episode: an attack that a task's own limit cut off after its honest part would be paid for that."""


@dataclass
class Row:
    """What an attack did.

    Attributes:
        attack: its name.
        played: on how many tasks.
        best: the highest score.
        found: task → what it earned, broke or reached.
        counts: how often, by the kind of what was found: ``"earned"``, ``"error"``, ``"fault"``, ``"got in"``.
    """

    attack: str
    played: int = 0
    best: float = 0.0
    found: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("earned", "error", "fault", "got in"), 0))

    def add(self, report: AttemptReport) -> None:
        """Take in how an attack on a task went."""
        from deskgym.task_suites.core.verify.attacks.inside.processes import GOT_IN

        self.played += 1
        for result in report.results:
            kind, what = "", result.message
            if result.score:
                kind, what = "earned", f"earned {result.score:g}"
                self.best = max(self.best, result.score)
            elif result.score is None:
                kind = "got in" if what.startswith(GOT_IN) else result.outcome
            if kind:
                kind = kind if kind in self.counts else "error"
                self.counts[kind] += 1
                self.found[report.attempt.task] = what if kind == "earned" else f"{kind}: {what.removeprefix(GOT_IN)}"


def earned(report: AttemptReport) -> bool:
    """Whether any of its episodes has a score above 0."""
    return any(result.score for result in report.results)


def only_broke(report: AttemptReport) -> bool:
    """Whether all that is wrong with it is that it ended without a verdict, which may be a busy machine's doing."""
    from deskgym.task_suites.core.verify.attacks.inside.processes import GOT_IN

    reached = any(result.message.startswith(GOT_IN) for result in report.results)
    return bool(report.problems) and report.may_be_luck and not reached


def play_attacks(arguments: argparse.Namespace) -> int:
    """Play them; 0 when none earns anything, and each ends in a verdict.

    Raises:
        ValueError: an option does not go with ``--attack``.
    """
    from deskgym.cli.verify_play import play_attempts
    from deskgym.task_suites import find_entry

    if arguments.machine in HOSTS:
        raise ValueError(f"--machine {arguments.machine}: attacks harm it; legal are machines such as sandbox and qemu")
    if arguments.action not in (None, "code"):
        raise ValueError(f"--action {arguments.action}: attacks are code actions; leave it out")
    if find_entry(arguments.suite, arguments.source).display:
        arguments.action = "code"
        arguments.observation = arguments.observation or "instruction,feedback"
    attempts, blind, sampled = _attempts(arguments)
    reports: dict[Attempt, AttemptReport] = {}
    broken: dict[Attempt, str] = {}

    def first(report: AttemptReport) -> None:
        if arguments.retry and only_broke(report):
            broken[report.attempt] = f"{report.attempt.task}: {report.problems[0]}"
        else:
            keep(report)

    def second(report: AttemptReport) -> None:
        keep(report)
        if not report.problems:
            note(f"flaky, passed when it was played once more: {broken[report.attempt]}")

    def keep(report: AttemptReport) -> None:
        reports[report.attempt] = report

    resets, seed = arguments.resets or 1, arguments.seed or 0
    play = partial(play_attempts, arguments, max_steps=STEPS)
    play(attempts, resets, seed, arguments.workers, first)
    play(list(broken), resets, seed, 1, second)
    lucky = {attempt: others for attempt, others in blind.items() if attempt in reports and earned(reports[attempt])}
    again = [other for others in lucky.values() for other in others]
    play(again, 1, seed, arguments.workers, keep)
    rows: dict[str, Row] = {}
    for attempt, report in reports.items():
        name = attempt.agent.partition(":")[2]
        row = rows.setdefault(name, Row(name))
        if earned(report) and (attempt in again or not all(earned(reports[other]) for other in lucky.get(attempt, ()))):
            row.played += 1  # it may be luck, or counts where it was right first
        else:
            row.add(report)
    found = sorted(rows.values(), key=lambda row: (not row.found, row.attack))
    ok = bool(found) and not any(row.found for row in found)
    if arguments.json:
        attacks = [vars(row) for row in found]
        print_json({"suite": arguments.suite, "ok": ok, "sample_seed": sampled, "attacks": attacks})
    else:
        _print(arguments.suite, found)
    return int(not ok)


def _attempts(arguments: argparse.Namespace) -> tuple[list[Attempt], dict[Attempt, list[Attempt]], int | None]:
    """The attacks to play; the blind ones among them, with the same on other instances; the sample's seed or None."""
    from deskgym.task_suites.core.verify.attacks import Attackable
    from deskgym.task_suites.core.verify.attempts import Attempt

    source = tasks_of(arguments)
    if not isinstance(source, Attackable):
        raise ValueError(f"--attack knows no attacks on the tasks of {arguments.suite!r}; leave it out")
    attempts: list[Attempt] = []
    blind: dict[Attempt, list[Attempt]] = {}
    names, sampled = matching(arguments), None
    if arguments.sample is not None:
        sampled = random.SystemRandom().randrange(10**6) if arguments.seed is None else arguments.seed
    for name in names:
        row = describe(source, name, arguments.machine)
        if not row["supported"]:
            note(f"{name}: not supported: {row['reason']}")
            continue
        seed = 0 if arguments.seed is None or sampled is not None else arguments.seed
        task = source.get(name) if "#" in name else source.get(name, seed)
        for attack, script in source.attacks(task).items():
            if not fnmatchcase(attack, arguments.only or "*"):
                continue
            attempt = Attempt(task.id, f"attack:{attack}", 0.0)
            attempts.append(attempt)
            if getattr(script, "blind", False) and "#" in task.id:
                base, _, number = task.id.partition("#")
                others = range(int(number) + 1, int(number) + LUCK)
                blind[attempt] = [Attempt(f"{base}#{other}", attempt.agent, 0.0) for other in others]
    if sampled is not None:
        attempts = _drawn(attempts, arguments.sample, sampled)
        note(f"a sample of {len(attempts)} attacks; the same one: --sample {arguments.sample:g} --seed {sampled}")
    return attempts, blind, sampled


def _drawn(attempts: Sequence[Attempt], share: float, seed: int) -> list[Attempt]:
    """A random share of attempts, or so many of them, in order."""
    count = min(len(attempts), max(1, round(share * len(attempts) if share <= 1 else int(share))))
    drawn = random.Random(seed).sample(range(len(attempts)), count)
    return [attempts[k] for k in sorted(drawn)]


def _print(suite: str, rows: list[Row]) -> None:
    """The table, then what was found."""
    print_table(
        f"attacks on {suite}",
        ("attack", "tasks", "best", "earned", "error", "fault", "got in"),
        ((row.attack, row.played, f"{row.best:g}", *(count or "" for count in row.counts.values())) for row in rows),
    )
    for row in rows:
        for task, what in row.found.items():
            print(f"FAILED {row.attack}: {task}: {what}")
    total, bad = sum(row.played for row in rows), sum(len(row.found) for row in rows)
    print(f"{total} attacks, {bad} of which earned something, broke the verdict or got in; must be 0")
