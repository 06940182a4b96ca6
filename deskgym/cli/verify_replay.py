"""``deskgym verify --replay``: play some users of what has changed, and a share of everything."""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deskgym.cli.output import note, print_json, print_table
from deskgym.cli.tasks import describe
from deskgym.cli.verify_play import keep_proof, play_again, play_attempts, row_of
from deskgym.cli.verify_proofs import open_ledger, provable_tasks, same_but_for_suite

if TYPE_CHECKING:
    from deskgym.task_suites.core.verify.attempts import AttemptReport
    from deskgym.task_suites.core.verify.inputs import ProofInputs
    from deskgym.task_suites.core.verify.ledger import Proof
    from deskgym.task_suites.core.verify.replays import Candidate, Replay, ReplayPlan

SHOWN = 3
"""Reasons that are named for a replay."""


class _Suite:
    """A suite's arguments, tasks and ledger."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        from deskgym.cli.verify_states import States

        self.arguments = arguments
        self.source, self.ledger = open_ledger(arguments, "--replay")
        self.states = States(self.ledger.path)
        self.rescored: list[str] = []
        self.problems: dict[str, Sequence[str]] = {}
        self.name = (arguments.suite, getattr(arguments, "interface", None) or "", arguments.source or "")

    def candidates(self, known: set[tuple[str, str]]) -> Iterator[Candidate]:
        """The tasks whose proof is not void, but for those that another interface has as well."""
        from deskgym.task_suites.core.verify.replays import Candidate

        for task in provable_tasks(self.arguments, self.source):
            proof = self.ledger.proofs.get(task)
            place = (str(self.ledger.path), task)
            if proof is None or place in known:
                continue
            inputs = self.source.proof_inputs(task)
            if not proof.void(inputs):
                known.add(place)
                yield Candidate(self.name, task, self._judged_again(task, proof, inputs), inputs.read())

    def misjudged(self) -> Iterator[dict[str, Any]]:
        """A row for each task whose kept states are judged otherwise than they must be."""
        place = dict(zip(("suite", "interface", "source"), self.name, strict=True))
        for task, problems in self.problems.items():
            told = [f"a kept final state is judged otherwise: {problem}" for problem in problems]
            yield {**place, "task": task, "ok": False, "problems": told, "seconds": 0.0, "attempts": [],
                   "reasons": ["kept final states"]}  # fmt: skip

    def _drawn_again(self, task: str, proof: Proof, inputs: ProofInputs) -> Proof:
        """A fresh proof; where other code draws the same instance, it says so: nobody needs to draw it once more."""
        known = replace(proof, drawing=inputs.drawing or None)
        if known != proof and not self.arguments.plan:
            self.ledger.keep(task, known)
        return known

    def _judged_again(self, task: str, proof: Proof, inputs: ProofInputs) -> Proof:
        """A stale proof, made fresh where its kept states show all that has changed; else as it is."""
        from deskgym.cli.verify_states import renewed, rescore

        if not proof.stale(inputs):
            return self._drawn_again(task, proof, inputs)
        states = self.states.load(task)
        if not states:
            return proof
        found = rescore(self.source, task, proof, inputs, states)
        self.problems |= {task: found.problems} if found.problems else {}
        if not found.fresh:
            return proof
        self.rescored.append(task)
        fresh = renewed(proof, inputs)
        if not self.arguments.plan:
            self.ledger.keep(task, fresh)
        return fresh


def replay(arguments: argparse.Namespace) -> int:
    """Play the replays; 0 when each attempt earned what it must."""
    from deskgym.task_suites.core.verify.platform import platform
    from deskgym.task_suites.core.verify.replays import MINUTES, SHARES, plan_replays, this_turn

    suites = [_Suite(each) for each in same_but_for_suite(arguments)]
    known: set[tuple[str, str]] = set()
    turn = this_turn() if arguments.turn is None else arguments.turn
    plan = plan_replays(
        [candidate for suite in suites for candidate in suite.candidates(known)],
        platform(),
        shares=SHARES if arguments.shares is None else arguments.shares,
        turn=turn,
        seconds=60.0 * arguments.workers * (MINUTES if arguments.minutes is None else arguments.minutes),
    )
    rows: list[dict[str, Any]] = [row for suite in suites for row in suite.misjudged()]
    if arguments.plan:
        return _print_plan(arguments, plan, turn, rows)
    note(f"{len(plan.replays)} replays in turn {turn}; the same ones without changes of the code: --turn {turn}")
    rescored = sum(len(suite.rescored) for suite in suites)
    if rescored:
        note(f"{rescored} stale proofs are fresh again: their kept final states are judged as before")
    flaky: list[str] = []
    for suite in suites:
        mine = [each for each in plan.replays if each.candidate.suite == suite.name]
        if mine:
            found, lucky = _played(suite, mine)
            rows += found
            flaky += lucky
    return _print_rows(arguments, plan, turn, rows, flaky)


def _played(suite: _Suite, replays: Sequence[Replay]) -> tuple[list[dict[str, Any]], list[str]]:
    """Play a suite's replays, and keep their proofs: what each gave, and what passed only when it was played again."""
    from deskgym.task_suites.core.verify.attempts import Attempt, attempts_of

    arguments, reports = suite.arguments, defaultdict[str, list["AttemptReport"]](list)
    resets, seed = arguments.resets or 1, arguments.seed or 0
    inputs = {each.candidate.task: each.candidate.inputs for each in replays}
    attempts: list[Attempt] = []
    counts: dict[str, int] = {}
    reasons: dict[str, str] = {}
    for each in replays:
        task = each.candidate.task
        row = describe(suite.source, task, arguments.machine)
        if not row["supported"]:
            reasons[task] = f"it cannot be played here: {row['reason']}"
            continue
        own = attempts_of(task, row["wrong_attempts"])
        attempts += own
        counts[task] = len(own)

    def keep(report: AttemptReport) -> None:
        task = report.attempt.task
        reports[task].append(report)
        if len(reports[task]) == counts[task]:
            keep_proof(arguments, suite.ledger, task, inputs[task], reports[task])

    play_attempts(arguments, attempts, resets, seed, arguments.workers, keep)
    flaky = play_again(arguments, reports, resets, seed, keep) if arguments.retry else []
    rows = [row_of(task, reports[task]) for task in counts]
    for task, reason in reasons.items():
        rows.append({"task": task, "ok": False, "problems": [reason], "seconds": 0.0, "attempts": []})
    why = {each.candidate.task: each.reasons for each in replays}
    place = dict(zip(("suite", "interface", "source"), suite.name, strict=True))
    return [{**place, **row, "reasons": why[row["task"]]} for row in rows], flaky


def _print_plan(arguments: argparse.Namespace, plan: ReplayPlan, turn: int, misjudged: Sequence[dict[str, Any]]) -> int:
    if arguments.json:
        replays = [
            {
                **dict(zip(("suite", "interface", "source"), each.candidate.suite, strict=True)),
                "task": each.candidate.task,
                "reasons": each.reasons,
                "seconds": round(each.candidate.seconds, 1),
            }
            for each in plan.replays
        ]
        print_json({**_stale(plan, turn), "replays": replays, "misjudged": list(misjudged)})
        return 0
    rows = [
        (" ".join(filter(None, each.candidate.suite)), each.candidate.task, f"{each.candidate.seconds:.0f}", _why(each))
        for each in plan.replays
    ]
    print_table(f"{len(rows)} replays in turn {turn}", ("suite", "task", "seconds", "why"), rows)
    _print_failed(misjudged)
    _print_stale(plan)
    return 0


def _print_rows(
    arguments: argparse.Namespace, plan: ReplayPlan, turn: int, rows: Sequence[dict[str, Any]], flaky: Sequence[str]
) -> int:
    failed = [row for row in rows if not row["ok"]]
    if arguments.json:
        print_json({"ok": not failed, **_stale(plan, turn), "tasks": rows, "flaky": flaky})
        return int(bool(failed))
    _print_failed(failed)
    _print_stale(plan)
    changed = sum(any(":" in reason for reason in row["reasons"]) for row in rows)
    print(
        f"{len(rows) - len(failed)} of {len(rows)} replays in turn {turn} went as they must; {changed} of them for "
        f"changed code; {plan.stale} proofs were stale before"
    )
    return int(bool(failed))


def _print_failed(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        for problem in row["problems"]:
            print(f"FAILED {row['suite']} {row['task']}: {problem} (played for {', '.join(row['reasons'][:SHOWN])})")


def _stale(plan: ReplayPlan, turn: int) -> dict[str, Any]:
    return {"turn": turn, "stale": plan.stale, "changed": plan.changed, "unseen": plan.unseen}


def _print_stale(plan: ReplayPlan) -> None:
    for key, count in plan.changed.items():
        print(f"{count} proofs are stale by {key}{', which no task was played with' if key in plan.unseen else ''}")


def _why(replay: Replay) -> str:
    more = len(replay.reasons) - SHOWN
    return ", ".join(replay.reasons[:SHOWN]) + (f" and {more} more" if more > 0 else "")
