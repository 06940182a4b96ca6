"""What runs came to: tries, tokens, money, and two runs in pairs."""

import json

import pytest
from scipy.stats import binomtest

from deskgym.agents.llm.exchanges import AGENT, FILE
from deskgym.datasets.run_results import compare, mcnemar, pass_all, pass_at, run_rows
from deskgym.datasets.task_results import task_results
from deskgym.viewer.report import write_report
from deskgym.wrappers.recording.recording import FORMAT, META, STEPS, VERDICT, find_recordings


def episode(folder, task, score, name, price=(1.0, 10.0), error=None, **asked_with):
    """A recording of one step by an agent that asked one model once."""
    path = folder / name
    path.mkdir(parents=True)
    meta = {"format": FORMAT, "task": {"id": task, "tags": []}, "seed": 0, "screen_size": [4, 4]}
    (path / META).write_text(json.dumps(meta))
    lines = [{"step": 0, "info": {}}, {"step": 1, "info": {}, "terminated": True, "action": {"action": "done"}}]
    (path / STEPS).write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdict = {"score": score, "success": score == 1, "checks": [], "error": error}
    (path / VERDICT).write_text(json.dumps(verdict))
    settings = {"name": "m", "price": price, **asked_with}
    (path / AGENT).write_text(json.dumps({"agent": "gui", "options": {"sees": "som"}, "model": settings}))
    response = {
        "choices": [{"message": {"content": "```DONE```"}}], "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
    }  # fmt: skip
    request = {"messages": [{"role": "user", "content": "<script>alert(1)</script>"}]}
    asked = {
        "step": 0,
        "role": "agent",
        "dropped": 0,
        "api": "openai",
        "request": request,
        "seconds": 0.5,
        "price": price,
    }
    failed = asked | {"error": "ModelError: gave no answer"}
    counted = {"response": response, "usage": {"prompt": 1000, "answer": 100, "cached": 0}}
    (path / FILE).write_text(json.dumps(asked | counted) + "\n" + json.dumps(failed) + "\n{cut\n")


@pytest.fixture
def recordings(tmp_path):
    scores = {"a#1": (1, 1, 0, 0), "b#1": (1, 1, 1, 1), "c#1": (0, 0, 0, 0)}
    for task, tries in scores.items():
        for k, score in enumerate(tries):
            episode(tmp_path, task, score, f"{task.replace('#', '-')}-{k}")
    episode(tmp_path, "a#1", 0, "x", error="the evaluator broke")
    return find_recordings(tmp_path)


def test_models_of_one_name_that_are_asked_otherwise_are_rows_of_their_own(tmp_path):
    episode(tmp_path, "a#1", 1, "cold", temperature=0.0)
    episode(tmp_path, "a#1", 1, "warm", temperature=0.7, timeout=9.0)
    episode(tmp_path, "a#1", 1, "unsaid", temperature=None, image_format="jpeg")
    names = [row.agent.partition(" with ")[2] for row in run_rows(find_recordings(tmp_path))]
    assert names == ["m", "m, temperature=0.7", "m, temperature=None, image_format=jpeg"]


def test_a_row_has_rates_tries_tokens_and_money(recordings):
    (row,) = run_rows(recordings)
    assert row.agent == "gui (sees=som) with m"
    assert (row.episodes, row.solved, row.left_out, row.tries) == (12, 6, 1, 4)
    assert row.rate == 0.5 and row.low < 0.5 < row.high
    assert row.pass_at == pytest.approx({1: 0.5, 2: (5 / 6 + 1) / 3, 4: 2 / 3})
    assert row.pass_all == pytest.approx({1: 0.5, 2: (1 / 6 + 1) / 3, 4: 1 / 3})
    assert (row.prompt_tokens, row.answer_tokens, row.seconds) == (13000, 1300, 13.0)
    assert row.cost == pytest.approx(0.013 + 0.013) and row.cost_per_solved == pytest.approx(0.026 / 6)


def test_without_a_price_there_is_no_cost(tmp_path):
    episode(tmp_path, "a#1", 1, "a", price=None)
    (row,) = run_rows(find_recordings(tmp_path))
    assert row.cost is None and row.cost_per_solved is None


@pytest.mark.parametrize("tries, solved", [(1, 0), (1, 1), (5, 2), (16, 15)])
def test_chances_of_tries_have_their_ends(tries, solved):
    assert pass_at(tries, solved, tries) == float(solved > 0) and pass_all(tries, solved, tries) == float(
        solved == tries
    )
    assert pass_at(tries, solved, 1) == pytest.approx(solved / tries) == pass_all(tries, solved, 1)


@pytest.mark.parametrize("first, second", [(0, 0), (3, 3), (1, 9), (0, 6), (12, 4)])
def test_mcnemar_is_the_exact_binomial_test(first, second):
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar(first, second) == pytest.approx(expected)


def test_two_runs_are_compared_where_both_count(tmp_path):
    for run, scores in {"one": (1, 1, 0, 1), "other": (1, 0, 0, None)}.items():
        for task, score in enumerate(scores):
            if score is not None:
                episode(tmp_path / run, f"t#{task}", score, f"{task}")
    found = compare(find_recordings(tmp_path / "one"), find_recordings(tmp_path / "other"))
    assert (found.pairs, found.both, found.first, found.second, found.neither) == (3, 1, 1, 0, 1)
    assert found.p == 1.0


def test_the_report_has_a_page_for_each_episode_and_no_script_of_theirs(recordings, tmp_path):
    out = tmp_path / "report"
    page = write_report(recordings, task_results(recordings), run_rows(recordings), None, out)
    text = page.read_text()
    assert text.count('href="episodes/') == 2 * len(recordings) and "pass@k" in text and "gui (sees=som) with m" in text
    for recording in recordings:
        (chat,) = (each.read_text() for each in out.glob(f"episodes/*-{recording.folder.name}.model.html"))
        assert len(list(out.glob(f"episodes/*-{recording.folder.name}.html"))) == 1
        assert "<script>alert" not in chat and "gave no answer" in chat and "DONE" in chat
