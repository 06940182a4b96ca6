"""``deskgym verify --blind``: rules that do not look at the data answer every choice; none may beat chance by much."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import chain

from deskgym.cli.options import tasks_of
from deskgym.cli.output import print_json, print_table, progress
from deskgym.cli.run import matching
from deskgym.task_suites.core.verify.blind_rules import Asking, Question
from deskgym.task_suites.core.verify.blind_trials import LIMIT, Hits, allowed, suspects, try_rules

QUESTIONS = 400
"""Instances of each template on which all rules are tried; no sandbox starts for them."""
AGAIN = 2000
"""Further instances of a template on which those rules are tried again that were right in more than the limit."""
SHOWN = 2
"""How many rules the table names for a template."""


def play_blind(arguments: argparse.Namespace) -> int:
    """Try all rules on every template with choices; 0 when none earns more than it may.

    Raises:
        ValueError: the suite has no choices.
    """
    source = tasks_of(arguments)
    asked: dict[str, list[Question]] = {}
    first: dict[str, list[Hits]] = {}
    again: dict[str, list[Hits]] = {}
    start = arguments.seed or 0
    if isinstance(source, Asking):
        tasks = matching(arguments)
        with progress(arguments.json) as bar:
            shown = bar.add_task("templates", total=len(tasks))
            for task in tasks:
                if questions := source.questions(task, range(start, start + QUESTIONS)):
                    asked[task], first[task] = questions, try_rules(questions)
                    if accused := suspects(first[task]):
                        fresh = range(start + QUESTIONS, start + QUESTIONS + AGAIN)
                        again[task] = try_rules(source.questions(task, fresh), accused)
                bar.update(shown, advance=1, description=task)
    if not asked:
        raise ValueError(f"--blind needs tasks with options to choose from; {arguments.suite!r} has none of them")
    together = try_rules([*chain.from_iterable(asked.values())])
    trials = sum(map(len, again.values())) + len(together)
    good = not any(hits.beats(trials) for each in [*again.values(), together] for hits in each)
    if arguments.json:
        print_json(
            {
                "suite": arguments.suite,
                "ok": good,
                "questions": QUESTIONS,
                "again": {"questions": AGAIN, "may_be_right": round(allowed(AGAIN, trials), 4), "tasks": _rates(again)},
                "tasks": _rates(first),
                "all": _rates({"": together})[""],
            }
        )
        return int(not good)
    print_table(
        f"blind rules on {arguments.suite}: the rules that are right most often; chance is 25%",
        ("task", "questions", "best rules", f"those above {LIMIT:.0%} again", "outcome"),
        (
            (task, each[0].asked, _best(each), _best(again.get(task, [])), _outcome(again.get(task, []), trials))
            for task, each in first.items()
        ),
    )
    print(f"{len(first)} templates; of all {together[0].asked} questions together: {_best(together)}")
    print(
        f"{len(again)} templates were tried again on {AGAIN} fresh questions each; a rule fails there above "
        f"{allowed(AGAIN, trials):.1%}, of all questions above {allowed(together[0].asked, trials):.1%}"
    )
    if not good:
        print(f"a rule is right in more than {LIMIT:.0%}, luck set aside: change what the options tell")
    return int(not good)


def _rates(found: dict[str, list[Hits]]) -> dict[str, dict[str, float]]:
    return {task: {hits.rule: round(hits.rate, 4) for hits in each} for task, each in found.items()}


def _best(each: Iterable[Hits]) -> str:
    return "; ".join(f"{hits.rule} {hits.rate:.1%}" for hits in list(each)[:SHOWN])


def _outcome(again: list[Hits], trials: int) -> str:
    return "too often" if any(hits.beats(trials) for hits in again) else "ok"
