"""Verify: play every task's oracle (must earn 1), nothing and its wrong attempts (must earn 0) on repeated resets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from deskgym.cli.options import add_env, add_tasks, env_kwargs, make_env, tasks_of
from deskgym.cli.output import note, print_json, print_table, progress
from deskgym.cli.run import matching
from deskgym.cli.tasks import describe

if TYPE_CHECKING:
    from deskgym.cli.verifying import Attempt, AttemptReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """SUITE, its tasks, how often and where."""
    add_tasks(parser, suite_needed=False)
    parser.add_argument("--task", metavar="GLOB", help="a task id or a glob over ids (default: all)")
    parser.add_argument("--resets", type=int, default=3, metavar="N", help="episodes per attempt (default: 3)")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the first reset's seed (default: 0)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that play at once (default: 1)")
    parser.add_argument("--rescore", metavar="DIR", help="score the episodes recorded in DIR again instead of playing")
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
        if getattr(arguments, option) < 1:
            raise ValueError(f"--{option} {getattr(arguments, option)}; legal is a number from 1 up")
    attempts, unsupported = _attempts(arguments)
    reports = _verify(arguments, attempts)
    rows = [_row(task, [report for report in reports if report.attempt.task == task]) for task in _tasks(attempts)]
    failed = sum(not row["ok"] for row in rows)
    if arguments.json:
        print_json(
            {"suite": arguments.suite, "ok": bool(rows) and not failed, "tasks": rows, "unsupported": unsupported}
        )
    else:
        _print(arguments, rows, unsupported)
    return int(failed > 0 or not rows)


def _attempts(arguments: argparse.Namespace) -> tuple[list[Attempt], dict[str, str]]:
    """What to play, and the tasks that cannot be played, with the reason."""
    from deskgym.cli.verifying import attempts_of

    source = tasks_of(arguments)
    attempts: list[Attempt] = []
    unsupported: dict[str, str] = {}
    for task in matching(arguments):
        row = describe(source, task)
        if row["supported"]:
            attempts += attempts_of(task, row["wrong_attempts"])
        else:
            unsupported[task] = row["reason"]
    return attempts, unsupported


def _verify(arguments: argparse.Namespace, attempts: Sequence[Attempt]) -> list[AttemptReport]:
    from deskgym.cli.verifying import verify

    make = partial(make_env, arguments.record, **env_kwargs(arguments))
    reports: list[AttemptReport] = []
    with (
        progress(arguments.json) as bar,
        closing(
            verify(make, attempts, resets=arguments.resets, seed=arguments.seed, workers=arguments.workers)
        ) as running,
    ):
        episodes = bar.add_task("episodes", total=len(attempts) * arguments.resets)
        for report in running:
            reports.append(report)
            bar.update(
                episodes, advance=len(report.results), description=f"{report.attempt.task} {report.attempt.agent}"
            )
            for problem in report.problems:
                note(f"{report.attempt.task}: {problem}")
    return reports


def _tasks(attempts: Sequence[Attempt]) -> list[str]:
    return list(dict.fromkeys(attempt.task for attempt in attempts))


def _row(task: str, reports: Sequence[AttemptReport]) -> dict[str, Any]:
    """One task's reports together."""
    problems = [problem for report in reports for problem in report.problems]
    if not any(report.attempt.agent.startswith("wrong:") for report in reports):
        problems.append("the task has no wrong attempt")
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


def _print(arguments: argparse.Namespace, rows: Sequence[dict[str, Any]], unsupported: dict[str, str]) -> None:
    good = sum(row["ok"] for row in rows)
    print_table(
        f"verify {arguments.suite}: {arguments.resets} resets each; columns are episodes that went as they must",
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
    print(
        f"{good} of {len(rows)} tasks are as they must be"
        + (f"; {len(unsupported)} not supported" if unsupported else "")
    )
    for task, reason in unsupported.items():
        print(f"  not supported: {task}: {reason}")


def _count(row: dict[str, Any], prefix: str) -> str:
    attempts = [attempt for attempt in row["attempts"] if attempt["agent"].startswith(prefix)]
    total = sum(len(attempt["episodes"]) for attempt in attempts)
    return f"{sum(attempt['good'] for attempt in attempts)}/{total}" if attempts else "missing"


def _more(count: int) -> str:
    return f" (and {count} more)" if count else ""
