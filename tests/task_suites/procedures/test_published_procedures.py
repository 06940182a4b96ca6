"""Tasks about procedures over WONDERBREAD's own files, and how far the judge that needs no model agrees with theirs."""

import csv
from collections import Counter
from pathlib import Path

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.errors import TaskError
from deskgym.task_suites import load_suite
from deskgym.task_suites.bpm.metrics import once_each, rank_correlations, step_scores
from deskgym.task_suites.bpm.procedure_text import published_steps_of
from deskgym.task_suites.procedures.judges import LexicalJudge


@pytest.fixture(scope="module")
def upstream():
    """The given upstream files, which lie beside the checkout and not in it."""
    folder = Path(__file__).parents[3] / "../shared/upstream/wonderbread"
    if not folder.is_dir():
        pytest.skip("WONDERBREAD's own files are not at ../shared/upstream/wonderbread")
    return folder


def test_there_is_a_task_for_each_ranking_question_procedure_and_draft(upstream):
    ids = load_suite("bpm", source="wonderbread", source_path=upstream).ids()
    count = Counter(name.partition("/")[0] for name in ids)
    assert count == {"sop_generation": 136, "sop_improvement": 107, "ranking": 87, "question_answering": 62}


def test_what_needs_recordings_says_so(upstream):
    suite = load_suite("bpm", source="wonderbread", source_path=upstream)
    reasons = [suite.describe(name)["reason"] for name in suite.ids() if name.startswith("question")]
    assert any(reason and "there is no recording of" in reason for reason in reasons)


@pytest.mark.parametrize("kind", ["ranking", "sop_generation", "sop_improvement", "question_answering"])
def test_oracle_and_wrong_answers(upstream, kind):
    env = gym.make(
        "deskgym/BPM-v0", source="wonderbread", source_path=upstream, task=f"{kind}/*", observation=("instruction",)
    )
    for seed in range(25):
        env.reset(seed=seed)
        task = env.unwrapped.task
        assert env.step(next(env.unwrapped.oracle()))[1] == 1, task.id
        for name, answer in task.wrong.items():
            env.reset(options={"task": task.id})
            assert env.step(answer)[1] == 0, (task.id, name)


def test_the_order_that_is_shown_is_drawn(upstream):
    suite = load_suite("bpm", source="wonderbread", source_path=upstream)
    name = next(name for name in suite.ids() if name.startswith("ranking/"))
    assert len({suite.get(name, seed).ranks for seed in range(30)}) > 3
    paper = load_suite("bpm", source="wonderbread", source_path=upstream, mode="paper").get(name, 4)
    assert paper.ranks == suite.get(name, 4).ranks
    order = paper.read(paper.right)
    grade = paper.grade(order, LexicalJudge())
    assert (grade.score, grade.metrics["tau_paper"]) == (1, rank_correlations(order, paper.ranks, paper=True)[1])


def test_the_lexical_judge_agrees_with_the_published_one(upstream):
    from scipy.stats import spearmanr

    path = upstream / "data/experimental_results/sop_generation/sop_generation_eval.csv"
    csv.field_size_limit(1 << 24)
    with path.open(encoding="utf-8-sig", newline="") as text:
        rows = [row for k, row in enumerate(csv.DictReader(text)) if k % 9 == 1]  # not those that ENOUGH was set by
    judge, ours, theirs = LexicalJudge(), [], []
    for row in rows:
        steps, right = published_steps_of(row["pred_sop"]), published_steps_of(row["gold_sop"])
        found = step_scores(judge.same_steps(steps, right), judge.same_steps(right, steps))
        ours.append((found.precision, found.recall, found.ordering))
        theirs.append(tuple(float(row[name] or 0) for name in ("precision", "recall", "ordering")))
    agreement = [
        spearmanr(*pair).statistic for pair in zip(zip(*ours, strict=True), zip(*theirs, strict=True), strict=True)
    ]
    print("agreement with the published judge (precision, recall, ordering):", [round(float(a), 2) for a in agreement])
    assert min(agreement) > 0.55


def test_a_line_that_is_taken_is_gone_and_equal_lines_are_as_many_as_they_are():
    assert once_each([0, 0, -1, 1], ["a", "b"]) == [0, -1, -1, 1]
    assert once_each([0, 0, 0], ["Save", "Save"]) == [0, 1, -1]


def test_a_copy_with_a_mistake_is_named(tmp_path):
    with pytest.raises(TaskError, match="has no folder data/experimental_results"):
        load_suite("bpm", source="wonderbread", source_path=tmp_path).ids()
    (tmp_path / "data/experimental_results").mkdir(parents=True)
    head = "Task ID(s),Question Instantiation,Evidence,Human Label,Question Template\n"
    (tmp_path / "data/qa_dataset.csv").write_text(head + '"1 @ a, 2 @ b",Why?,SOP,Because.,Why?\n')
    with pytest.raises(TaskError, match="question 1 has 2 workflows and 1 kinds of evidence"):
        load_suite("bpm", source="wonderbread", source_path=tmp_path).ids()
