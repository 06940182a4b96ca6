"""Results: success rates of recorded episodes by what their tasks are, and table analysis as in the paper's Table 3."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deskgym.cli.output import note, print_json, print_table
from deskgym.wrappers.recording.recording import Recording, RecordingError, find_recordings

if TYPE_CHECKING:
    from deskgym.datasets.procedure_results import KindRow
    from deskgym.datasets.run_results import RunRow
    from deskgym.datasets.task_results import Row as TaskRow
    from deskgym.datasets.task_results import TaskResults
    from deskgym.task_suites.table_analysis.results import Results
    from deskgym.task_suites.table_analysis.results import Row as AnalysisRow

TASKS = ("", "episodes", "solved", "rate", "95 %", "score", "steps")
RUNS = (
    "", "episodes", "solved", "rate", "95 %", "score", "prompt tokens", "answer tokens", "dollars", "dollars/solved",
    "left out",
)  # fmt: skip
ANALYSIS = (
    "", "intents", "Acc", "95 %", "AccR", "AccSE", "AccSER", "chance", "above chance", "errors",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """DIR, --against, --html and --json."""
    parser.add_argument("folder", metavar="DIR", help="folder of recorded episodes")
    parser.add_argument("--against", metavar="OTHER", help="compare with the episodes of the same instances there")
    parser.add_argument("--html", metavar="OUT", help="write a report into this folder too, with a page per episode")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the tables."""
    from deskgym.datasets.analysis_results import analysis_results, is_analysis
    from deskgym.datasets.procedure_results import procedure_results
    from deskgym.datasets.run_results import compare, run_rows
    from deskgym.datasets.task_results import task_results

    recordings = find_recordings(arguments.folder)
    turns = [recording for recording in recordings if is_analysis(recording)]
    analysis = analysis_results(turns) if turns else None
    tasks = task_results([recording for recording in recordings if not is_analysis(recording)])
    procedures = procedure_results(recordings)
    left_out = dict(tasks.left_out)
    for reason, count in (analysis.left_out if analysis else {}).items():
        left_out[reason] = left_out.get(reason, 0) + count
    if not tasks.episodes and not (analysis and analysis.episodes):
        raise RecordingError(_nothing(arguments.folder, recordings, left_out))
    runs = run_rows(recordings)
    other = find_recordings(arguments.against) if arguments.against else []
    against = compare(recordings, other) if other else None
    if against is not None and not against.pairs:
        raise RecordingError(
            f"{arguments.folder} and {arguments.against} have no instance in common that counts in both"
        )
    if arguments.html:
        from deskgym.viewer.report import write_report

        page = write_report(recordings, tasks, runs, against, Path(arguments.html))
        note(f"the report is {page}")
    if arguments.json:
        data: dict[str, Any] = {} if analysis is None else analysis.to_dict()
        data |= {"procedures": [asdict(row) for row in procedures]} if procedures else {}
        data |= {"runs": [row.to_dict() for row in runs]} if runs else {}
        data |= {"against": asdict(against)} if against else {}
        print_json(data | ({"tasks": tasks.to_dict()} if tasks.episodes else {}) | {"left_out": left_out})
        return 0
    if tasks.episodes:
        _print_tasks(tasks)
    if procedures:
        _print_procedures(procedures)
    if analysis is not None and analysis.episodes:
        _print_analysis(analysis)
    if runs:
        _print_runs(runs)
    if against:
        print(against)
    for reason, count in left_out.items():
        print(f"left out: {count} episodes {reason}")
    for remark in analysis.notes if analysis else ():
        print(remark)
    return 0


def _nothing(folder: str, recordings: Sequence[Recording], left_out: Mapping[str, int]) -> str:
    reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
    return f"none of the {len(recordings)} recorded episodes in {folder} counts ({reasons}); record some to their end"


def _print_tasks(results: TaskResults) -> None:
    for title, rows in results.tables.items():
        name = title or f"{results.episodes} episodes; rates and scores in percent"
        print_table(name, TASKS, [_task_cells(row) for row in rows])


def _task_cells(row: TaskRow) -> tuple[object, ...]:
    steps = "-" if row.steps is None else f"{row.steps:.1f}"
    interval = _interval(row.low, row.high)
    return row.label, row.episodes, row.solved, _percent(row.rate), interval, _percent(row.score), steps


def _print_runs(rows: Sequence[RunRow]) -> None:
    cells = [
        (row.agent, row.episodes, row.solved, _percent(row.rate), _interval(row.low, row.high), _percent(row.score),
         row.prompt_tokens, row.answer_tokens, _dollars(row.cost), _dollars(row.cost_per_solved), row.left_out or "-")
        for row in rows
    ]  # fmt: skip
    print_table("agents with a model; rates and scores in percent", RUNS, cells)
    tries = [
        (row.agent, f"{k}", _percent(row.pass_at[k]), _percent(row.pass_all[k]))
        for row in rows
        for k in row.pass_at
        if row.tries > 1
    ]
    if tries:
        print_table("of k tries at a task, in percent", ("", "k", "pass@k", "pass^k"), tries)


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:.4f}"


def _print_analysis(results: Results) -> None:
    title = f"{results.episodes} episodes, {results.turns} turns; in percent of intents"
    for name, rows in ((title, results.modes), ("by action type", results.actions), ("by result type", results.kinds)):
        print_table(name, ANALYSIS, [_analysis_cells(row) for row in rows])


def _analysis_cells(row: AnalysisRow) -> tuple[object, ...]:
    scores = row.scores
    above = {None: "-", True: "yes", False: "no"}[scores.above_chance]
    shares = [_percent(share) for share in (scores.acc_r, scores.acc_se, scores.acc_ser, scores.chance)]
    interval = _interval(scores.low, scores.high)
    return (row.label, scores.intents, _percent(scores.acc), interval, *shares, above, row.errors or "-")


def _print_procedures(rows: Sequence[KindRow]) -> None:
    cells = [
        (row.kind, row.episodes, f"{row.score:.3f}", row.unreadable or "-",
         ", ".join(f"{name} {value:.3f}" for name, value in row.metrics.items()) or "-")
        for row in rows
    ]  # fmt: skip
    print_table("answers about procedures", ("", "episodes", "score", "unreadable", "metrics"), cells)


def _interval(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"{100 * low:.1f}-{100 * high:.1f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
