"""``deskgym verify --blind``: rules that do not look at the data answer every choice; none may beat chance by much."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import chain

from deskgym.cli.options import tasks_of
from deskgym.cli.output import print_json, print_table, progress
from deskgym.cli.run import matching
from deskgym.task_suites.core.verify.blind_rules import LIMIT, Asking, Hits, Question, try_rules

QUESTIONS = 240
"""Instances of each template; no sandbox starts for them."""
SHOWN = 3
"""How many rules the table names for a template."""


def play_blind(arguments: argparse.Namespace) -> int:
    """Try all rules on every template with choices; 0 when none earns more than it may.

    Raises:
        ValueError: the suite has no choices.
    """
    source = tasks_of(arguments)
    asked: dict[str, list[Question]] = {}
    if isinstance(source, Asking):
        seeds = range(arguments.seed or 0, (arguments.seed or 0) + QUESTIONS)
        tasks = matching(arguments)
        with progress(arguments.json) as bar:
            shown = bar.add_task("templates", total=len(tasks))
            for task in tasks:
                if questions := source.questions(task, seeds):
                    asked[task] = questions
                bar.update(shown, advance=1, description=task)
    if not asked:
        raise ValueError(f"--blind needs tasks with options to choose from; {arguments.suite!r} has none of them")
    found = {task: try_rules(questions) for task, questions in asked.items()}
    together = try_rules(chain.from_iterable(asked.values()))
    good = not any(hits.rate > hits.allowed for each in [*found.values(), together] for hits in each)
    if arguments.json:
        rules = {task: {hits.rule: round(hits.rate, 4) for hits in each} for task, each in found.items()}
        everything = {hits.rule: round(hits.rate, 4) for hits in together}
        print_json({"suite": arguments.suite, "ok": good, "questions": QUESTIONS, "tasks": rules, "all": everything})
        return int(not good)
    print_table(
        f"blind rules on {arguments.suite}: the rules that are right most often; chance is 25%",
        ("task", "questions", "may be right", "best rules", "outcome"),
        ((task, each[0].asked, f"{each[0].allowed:.0%}", _best(each), _outcome(each)) for task, each in found.items()),
    )
    print(f"{len(found)} templates; of all {together[0].asked} questions together: {_best(together)}")
    if not good:
        print(
            f"a rule is right in more than {LIMIT:.0%} beyond chance: change what the options tell about the right one"
        )
    return int(not good)


def _best(each: Iterable[Hits]) -> str:
    return "; ".join(f"{hits.rule} {hits.rate:.1%}" for hits in list(each)[:SHOWN])


def _outcome(each: list[Hits]) -> str:
    return "too often" if each[0].rate > each[0].allowed else "ok"
