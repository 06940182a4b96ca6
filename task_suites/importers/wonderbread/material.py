"""Material for tasks about procedures: a copy of WONDERBREAD, with its recordings or without."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.demonstration import Demonstration, find_demonstrations
from deskgym.task_suites.importers.wonderbread.result_files import ResultRow, read_results
from deskgym.task_suites.procedures.material import Material, Question, Ranking, Workflow
from deskgym.task_suites.procedures.recordings import read_demonstration
from deskgym.task_suites.procedures.suite import ProcedureSuite

SOURCE = "WONDERBREAD (Apache-2.0, the user's own copy)"
RECORDINGS = ("data/demos", "data/gold_demos")
"""Where a copy has its recordings, which are published apart from it."""


def published(copy: Path) -> Material:
    """What a copy of WONDERBREAD has.

    Recordings are those in ``RECORDINGS``. Procedures, drafts and rankings are read of its results, questions of
    ``data/qa_dataset.csv``.

    Raises:
        TaskError: it is no copy, or a file in it has a mistake.
    """
    gold = _texts(copy, "sop_generation/sop_generation_eval.csv", "demo_name", "gold_sop")
    drafts = _texts(copy, "sop_improvement_all_results.csv", "demo_name", "orig_sop")
    ranked = read_results(copy, "sop_ranking_all_results.csv", ("folder_name", "sop", "gt_ranking", "task_id")) or []
    others = {row.text("folder_name"): row.text("sop") for row in ranked}
    best = {row.text("folder_name"): row.whole("gt_ranking") == 1 for row in ranked}
    recorded = {path.name: path for folder in RECORDINGS for path in _recordings(copy / folder)}
    intents = {name.partition(" @ ")[0]: text.strip().splitlines()[0] for name, text in others.items() if text.strip()}
    intents |= {name.partition(" @ ")[0]: title for name, text in drafts.items() if (title := _title(text))}
    workflows = {}
    for name in sorted({*gold, *drafts, *others, *recorded}):
        intent, site, folder = intents.get(name.partition(" @ ")[0], ""), "", None
        procedure = gold.get(name) or others.get(name)
        if name in recorded and (found := broken_or(recorded[name])) is not None:
            sites = found.task.get("sites")
            intent, site = found.intent, str(sites[0]) if isinstance(sites, list) and sites else ""
            procedure = procedure or found.procedure
            folder = recorded[name]
        if intent:
            is_right = name in gold or best.get(name, False)
            workflows[name] = Workflow(name, intent, site, procedure, drafts.get(name), folder, is_right=is_right)
    return Material(SOURCE, workflows, _rankings(ranked, intents), tuple(_questions(copy)))


def broken_or(folder: Path) -> Demonstration | None:
    """A recording; None, with a warning, where it cannot be read: the others can."""
    try:
        return read_demonstration(folder)
    except TaskError as error:
        warnings.warn(f"a recording is left out: {error}", stacklevel=2)
        return None


def _recordings(folder: Path) -> list[Path]:
    return find_demonstrations(folder) if folder.is_dir() else []


def _texts(copy: Path, file: str, key: str, column: str) -> dict[str, str]:
    return {row.text(key): row.text(column) for row in read_results(copy, file, (key, column)) or []}


def _title(text: str) -> str:
    """The title of a procedure; "" where it begins with a step."""
    lines = text.strip().splitlines()
    return "" if not lines or lines[0][:1].isdigit() else lines[0].strip()


def _rankings(rows: Sequence[ResultRow], intents: dict[str, str]) -> dict[str, Ranking]:
    by_task: dict[str, dict[str, tuple[str, int]]] = {}
    for row in rows:  # each model's answer has a row of its own for each procedure
        by_task.setdefault(row.text("task_id"), {})[row.text("folder_name")] = (
            row.text("sop"),
            row.whole("gt_ranking"),
        )
    return {
        task: Ranking(task, intents.get(task, ""), *zip(*(found[name] for name in sorted(found)), strict=True))
        for task, found in sorted(by_task.items())
        if len(found) > 1
    }


def _questions(copy: Path) -> Iterator[Question]:
    path = copy / "data" / "qa_dataset.csv"
    if not path.is_file():
        return
    columns = ("Task ID(s)", "Question Instantiation", "Evidence", "Human Label", "Question Template")
    try:
        with path.open(encoding="utf-8-sig", newline="") as text:
            reader = csv.DictReader(text, strict=True)
            if missing := [name for name in columns if name not in (reader.fieldnames or ())]:
                raise TaskError(f"{path} has no column {', '.join(missing)}")
            rows = list(reader)
    except (OSError, ValueError, csv.Error) as error:
        raise TaskError(f"{path} cannot be read as CSV: {error}") from None
    for number, row in enumerate(rows, 1):
        names, question, evidence, answer, template = (row[name] or "" for name in columns)
        workflows = tuple(part.strip() for part in names.split(","))
        shown = tuple(part.strip() == "SOP" for part in evidence.split(","))
        if len(shown) != len(workflows) or not answer.strip():
            raise TaskError(
                f"{path}: question {number} has {len(workflows)} workflows and {len(shown)} kinds of evidence"
            )
        yield Question(number, question, workflows, shown, answer, template)


def suite(source_path: str, mode: str, shown: str = "all") -> ProcedureSuite:
    """The tasks of a copy of WONDERBREAD; what ``load_suite`` calls. Reads nothing yet."""
    return ProcedureSuite(published, source_path, mode, shown, "WONDERBREAD")
