"""The paper's tables, computed again from the published results (arXiv:2406.13264, section 5 and appendix).

Every table stands as the paper has it, and as it would be without the mistakes in the published code:

- in F1 of SOP generation, demonstrations of which no step was right are left out; here they are 0;
- ranking compares an order of procedures with their ranks, without turning one into the other;
- validation exchanges precision and recall.
"""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deskgym.envs.errors import TaskError
from deskgym.task_suites.bpm.metrics import Confusion, StepScores, rank_correlations
from deskgym.task_suites.importers.wonderbread.result_files import ResultRow, read_results, results_folder

SCORES = ("completeness", "soundness", "clarity", "compactness")
Cell = str | float | None
_MODEL = "ablation--model"
_INPUTS = (("is_td", "intent"), ("is_kf", "key frames"), ("is_act", "actions"))


@dataclass(frozen=True)
class ResultTable:
    """A table of the paper.

    Attributes:
        title: what it shows, and where the paper has it.
        columns: their names; the first ones say what the row is of.
        rows: texts and numbers; None where the files do not say.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Cell, ...]]


def result_tables(source_path: str) -> list[ResultTable]:
    """All tables for which a copy has the files.

    Args:
        source_path: the folder of the copy.

    Raises:
        TaskError: it is no copy, has none of the files, or one of them has a mistake.
    """
    copy = Path(source_path).expanduser()
    results_folder(copy)
    makers: tuple[Callable[[Path], Iterator[ResultTable]], ...] = (
        _generation, _generation_judge, _answers, _answers_judge, _ranking, _improvement, _validation
    )  # fmt: skip
    tables = [table for make in makers for table in make(copy)]
    if not tables:
        raise TaskError(f"{results_folder(copy)} has none of the published results; it needs at least one of its files")
    return tables


def _generation(copy: Path) -> Iterator[ResultTable]:
    names = ("precision", "recall", "ordering")
    inputs = [f"ablation--{key}" for key, _ in _INPUTS]
    columns = ("ablation--is_pairwise", _MODEL, *inputs, *names, "n_lines_pred_sop")
    rows = read_results(copy, "sop_generation/sop_generation_eval.csv", columns)
    if rows is None:
        return
    groups: dict[tuple[str, ...], list[ResultRow]] = defaultdict(list)
    for row in rows:
        if not row.flag("ablation--is_pairwise"):
            given = [said for key, said in _INPUTS if row.flag(f"ablation--{key}")]
            groups[row.text(_MODEL), " + ".join(given)].append(row)
    table: list[tuple[Cell, ...]] = []
    for key, each in sorted(groups.items()):
        means = [statistics.fmean(row.number(name) for row in each) for name in (*names, "n_lines_pred_sop")]
        scores = [StepScores(*(row.number(name) for name in names)) for row in each]
        f1, counted = [each.f1 for each in scores], [each.f1 for each in scores if each.precision + each.recall]
        paper = statistics.fmean(counted) if counted else None
        table.append((*key, means[0], means[1], paper, statistics.fmean(f1), means[2], means[3], len(each)))
    head = ("model", "input", "precision", "recall", "F1 (paper)", "F1", "ordering", "steps", "n")
    yield ResultTable("SOP generation (Table 3)", head, table)


def _generation_judge(copy: Path) -> Iterator[ResultTable]:
    names = ("precision", "recall")
    columns = [f"{who}_eval_{name}" for name in names for who in ("auto", "manual")]
    rows = read_results(copy, "sop_generation/human_correlation/sample_human_eval.csv", columns)
    if rows is not None:
        pairs = {
            name: [[row.number(f"{who}_eval_{name}") for row in rows] for who in ("auto", "manual")] for name in names
        }
        yield _correlations("the judge of SOP generation and people (Table 9)", pairs)


def _answers(copy: Path) -> Iterator[ResultTable]:
    """The judge's scale is 1 for the best; 4 - score is what the paper prints."""
    rows = read_results(copy, "question_answering_all_results.csv", (_MODEL, *(f"{name}_score" for name in SCORES)))
    if rows is None:
        return
    table: list[tuple[Cell, ...]] = []
    for model, each in _by(rows, _MODEL).items():
        means = [4 - statistics.fmean(row.number(f"{name}_score") for row in each) for name in SCORES]
        table.append((model, *means, statistics.fmean(means), len(each)))
    yield ResultTable("question answering, 1 to 3 (Table 7)", ("model", *SCORES, "mean", "n"), table)


def _answers_judge(copy: Path) -> Iterator[ResultTable]:
    columns = [f"{name}_score" for name in SCORES]
    files = [
        read_results(copy, f"question_answering/human_correlation/qna-{who}-sample-final.csv", columns)
        for who in ("GPT4", "human")
    ]
    judge, people = files
    if judge is None or people is None:
        return
    if len(judge) != len(people):
        raise TaskError(f"{judge[0].file} has {len(judge)} rows, {people[0].file} has {len(people)}; legal is as many")
    pairs = {name: [[row.number(f"{name}_score") for row in rows] for rows in (judge, people)] for name in SCORES}
    yield _correlations("the judge of answers and people (Table 8)", pairs)


def _correlations(title: str, pairs: dict[str, list[list[float]]]) -> ResultTable:
    from scipy.stats import pearsonr, spearmanr

    rows: list[tuple[Cell, ...]] = []
    for name, (one, other) in pairs.items():
        found = [float(value) for test in (pearsonr, spearmanr) for value in test(one, other)]
        rows.append((name, *found, len(one)))
    return ResultTable(title, ("score", "Pearson", "p", "Spearman", "p", "n"), rows)


def _ranking(copy: Path) -> Iterator[ResultTable]:
    columns = (_MODEL, "demo_name", "sop", "gt_ranking", "pred_ranking")
    rows = read_results(copy, "sop_ranking_all_results.csv", columns)
    if rows is None:
        return
    table: list[tuple[Cell, ...]] = []
    for model, each in _by(rows, _MODEL).items():
        groups = list(_by(each, "demo_name").values())
        for mode in ("paper", "corrected"):
            found = [rank_correlations(_order(group), _ranks(group), mode == "paper") for group in groups]
            table.append((model, mode, *_spread(found), len(groups)))
    groups = list(_by(rows, "demo_name").values())
    longest = []
    for group in groups:
        each = list({row.text("sop"): row for row in group}.values())  # every model has ranked them
        order = sorted(range(len(each)), key=lambda index: -len(each[index].text("sop")))
        ranks = _ranks(each)
        if sorted(ranks) == list(range(1, len(ranks) + 1)):  # no two procedures are the same text
            longest.append(rank_correlations(order, ranks))
    table.append(("the longest first", "corrected", *_spread(longest), len(longest)))
    head = ("model", "mode", "Spearman", "sd", "Kendall", "sd", "n")
    yield ResultTable("SOP ranking (Figure 7a)", head, table)


def _order(group: Sequence[ResultRow]) -> list[int]:
    order = [row.whole("pred_ranking") - 1 for row in group]
    if sorted(order) != list(range(len(group))) or len(order) < 2:
        first = group[0]
        said = [index + 1 for index in order]
        where = f"{first.file}:{first.line}: pred_ranking of {first.text('demo_name')} by {first.text(_MODEL)}"
        raise TaskError(f"{where} is {said}; legal is each of 1 to {max(2, len(group))} once")
    return order


def _ranks(group: Sequence[ResultRow]) -> list[int]:
    return [row.whole("gt_ranking") for row in group]


def _spread(found: Sequence[tuple[float, float]]) -> Iterator[float | None]:
    """Mean and standard deviation of the first numbers, then of the second ones."""
    for values in zip(*found, strict=True):
        yield statistics.fmean(values)
        yield statistics.stdev(values) if len(values) > 1 else None


def _improvement(copy: Path) -> Iterator[ResultTable]:
    """Scores of original and improved procedures by the published rubric, 1 to 5."""
    table: list[tuple[Cell, ...]] = []
    columns = ("0_rubric_eval_score", "1_rubric_eval_score")
    for model in ("GPT4", "Claude3", "GeminiPro"):
        name = f"sop_ranking/sop_ranking_all_results_rubric_FINAL_0704_{model}_gpt4turbo.csv"
        rows = [row for row in read_results(copy, name, columns) or () if all(map(row.text, columns))]
        if rows:
            original, improved = (statistics.fmean(row.number(column) for row in rows) for column in columns)
            table.append((model, original, improved, improved - original, len(rows)))
    if table:
        yield ResultTable("SOP improvement by rubric, 1 to 5", ("model", "original", "improved", "gain", "n"), table)


def _validation(copy: Path) -> Iterator[ResultTable]:
    """From the published tables alone: predictions are not in the repository. Shares are of two digits."""
    for part, negatives, title in (("completion", 3, "completed or not"), ("trajectory", 6, "trajectory right or not")):
        path = results_folder(copy) / "demo_validation" / f"df_task_{part}.tex"
        if not path.exists():
            continue
        table: list[tuple[Cell, ...]] = []
        for cells in _latex_rows(path.read_text(errors="replace")):
            try:
                numbers = dict(zip(("precision", "recall", "f1", "count"), map(float, cells[-4:]), strict=True))
            except ValueError as error:
                raise TaskError(f"{path.relative_to(copy)}: {error}; legal are numbers in its last columns") from None
            inputs = " + ".join(
                said for said, cell in zip(("intent", "key frames", "actions", "SOP"), cells[1:5], strict=True) if cell
            )
            found = _confusion(numbers["precision"], numbers["recall"], int(numbers["count"]), negatives)
            paper = [numbers[name] for name in ("precision", "recall", "f1")]
            right = [found.precision, found.recall, found.f1, found.balanced_accuracy, found.mcc]
            table.append((cells[0], inputs, *paper, *right, int(numbers["count"])))
        head = ("model", "input", *(f"{name} (paper)" for name in ("P", "R", "F1")))
        yield ResultTable(
            f"demonstration validation: {title}", (*head, "P", "R", "F1", "balanced accuracy", "MCC", "n"), table
        )


def _confusion(precision: float, recall: float, count: int, negatives: int) -> Confusion:
    """Counts from the published shares: "precision" is tp / positives, "recall" tp / (tp + wrong negatives)."""
    positives = count / (1 + negatives)
    tp = precision * positives
    fp = tp / recall - tp if recall else 0.0
    wrong = count - positives
    return Confusion(round(tp), round(min(fp, wrong)), round(wrong - min(fp, wrong)), round(positives - tp))


def _latex_rows(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.sub(r"\\\\\s*$", "", line.strip()).split("&")]
        if len(cells) == 9 and re.fullmatch(r"\d+", cells[-1]):
            yield cells


def _by(rows: Sequence[ResultRow], column: str) -> dict[str, list[ResultRow]]:
    groups: dict[str, list[ResultRow]] = defaultdict(list)
    for row in rows:
        groups[row.text(column)].append(row)
    return dict(sorted(groups.items()))
