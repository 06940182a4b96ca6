"""The result table from folders of recorded episodes."""

import json

import numpy as np
import pytest
from scipy.stats import binom

from deskgym.datasets.analysis_results import read_results
from deskgym.task_suites.table_analysis.results import make_results
from deskgym.task_suites.table_analysis.turns import LETTERS, IntentOutcome, Outcome
from deskgym.wrappers.recording.recording import FORMAT, META, STEPS, RecordingError, write_json


def outcome(mode, action, *intents, **rest):
    made = tuple(IntentOutcome(f"v{number}", kind, correct) for number, (kind, correct) in enumerate(intents))
    return Outcome(f"penguins/ines/{mode}/t#0", "penguins", mode, action, made, **rest)


OUTCOMES = (
    outcome("normal", "", ("value", True), ("plot", False)),
    outcome("normal", "", ("dataframe", True)),
    outcome("action", "update_code", ("dict", False)),
    outcome("action", "fast_fail", ("unanswerable", True), options=4, answer="C", right="C"),
    outcome("action", "plot_qa", ("choice", False), options=5, answer="A", right="B"),
    outcome("private", "", ("series", True), recall=0.5),
    outcome("private-action", "clarification", ("tuple", False), recall=0.0),
    outcome("action", "plot_qa", error="the machine broke"),
    outcome("private", "", ("model", False), error="the reference failed"),
)


def record(folder, last_info, *, terminated=True):
    """A recorded episode as ``deskgym.wrappers.recording.recording`` tells, of two steps."""
    folder.mkdir(parents=True)
    write_json(folder / META, {"format": FORMAT, "task": {"id": "penguins/ines/normal/t#0"}})
    lines = [{"step": 0, "info": {}}, {"step": 1, "terminated": terminated, "truncated": False, "info": last_info}]
    (folder / STEPS).write_text("".join(json.dumps(line) + "\n" for line in lines))


def analysis(*outcomes):
    return {"analysis": {"turns": [outcome.to_dict() for outcome in outcomes]}}


def by_label(rows):
    return {row.label: row for row in rows}


def test_the_rows_of_table_3():
    rows = by_label(make_results(OUTCOMES).modes)
    assert list(rows) == ["Normal", "Action", "Private", "Private-Action", "Code", "Choice", "Overall"]
    counted = {label: (row.scores.intents, row.scores.correct, row.errors) for label, row in rows.items()}
    assert counted == {
        "Normal": (3, 2, 0),
        "Action": (3, 1, 1),
        "Private": (1, 1, 1),
        "Private-Action": (1, 0, 0),
        "Code": (6, 3, 1),
        "Choice": (2, 1, 1),
        "Overall": (8, 4, 2),
    }
    assert rows["Private"].scores.acc_r == 0.5 and rows["Overall"].scores.acc_r == 3.5 / 8
    assert rows["Choice"].scores.chance == pytest.approx((1 / 4 + 1 / 5) / 2)
    assert rows["Overall"].scores.chance == pytest.approx((1 / 4 + 1 / 5) / 8)


def test_the_rows_by_action_and_result_type():
    results = make_results(OUTCOMES)
    actions, kinds = by_label(results.actions), by_label(results.kinds)
    assert set(actions) == {
        "update_code", "clarification", "fast_fail", "best_guess", "plot_qa", "insight_mining",
    }  # fmt: skip
    assert (actions["plot_qa"].scores.intents, actions["plot_qa"].errors) == (1, 1)
    assert actions["best_guess"].scores.acc is None
    assert {label for label, row in kinds.items() if not row.scores.intents} == {"list", "function", "model"}
    assert kinds["model"].errors == 1 and kinds["unanswerable"].scores.acc == 1
    assert sum(row.scores.intents for row in kinds.values()) == by_label(results.modes)["Overall"].scores.intents


def test_a_folder_of_episodes_is_read(tmp_path):
    record(tmp_path / "a", analysis(*OUTCOMES[:3]))
    record(tmp_path / "deep" / "b", analysis(*OUTCOMES[3:]))
    record(tmp_path / "other-suite", {"timing": {}})
    record(tmp_path / "cut-off", {}, terminated=False)
    record(tmp_path / "broken", {"fault": "guest_lost"})
    results = read_results(tmp_path)
    assert (results.episodes, results.turns) == (2, len(OUTCOMES))
    assert results.left_out == {"of other suites": 1, "not finished": 1, "with a broken machine": 1}
    assert results.modes == make_results(OUTCOMES).modes
    assert json.loads(json.dumps(results.to_dict()))["modes"][-1]["intents"] == 8


def test_the_embeddings_and_the_errors_are_told():
    notes = make_results(OUTCOMES).notes
    assert notes[0].endswith("not the paper's models")
    assert notes[1] == "2 turns could not be judged and are left out; the first: the machine broke"


def choices(answers, seed):
    rights = np.random.default_rng(seed).integers(4, size=len(answers))
    return [
        outcome(
            "action", "best_guess", ("choice", answer == LETTERS[right]), options=4, answer=answer, right=LETTERS[right]
        )
        for answer, right in zip(answers, rights, strict=True)
    ]


def test_one_letter_is_one_however_it_is_written():
    spelled = [
        outcome("action", "plot_qa", ("choice", False), options=4, answer=a, right="A") for a in ("B", "b.", "(B)")
    ]
    assert make_results(spelled * 3).notes[-1].startswith("one answer for all: 9 of 9 choices were answered B")


@pytest.mark.parametrize("letter, said", [("B", "were answered B"), (None, "got no answer")])
def test_one_letter_is_no_better_than_chance_and_the_table_says_so(letter, said):
    results = make_results(choices([letter] * 200, seed=4))
    row = by_label(results.modes)["Choice"]
    assert row.scores.correct <= binom.ppf(0.99, 200, 0.25)
    assert row.scores.chance == 0.25 and row.scores.above_chance is False
    assert results.notes[-1] == f"one answer for all: 200 of 200 choices {said}; expect chance or less"


def test_an_agent_that_looks_is_better_than_chance():
    outcomes = choices(list("ABCD") * 10, seed=5)
    right = [
        outcome("action", "best_guess", ("choice", True), options=4, answer=o.right, right=o.right) for o in outcomes
    ]
    results = make_results(right)
    assert by_label(results.modes)["Choice"].scores.above_chance is True
    assert len(results.notes) == 1


def test_no_recording_of_table_analysis(tmp_path):
    with pytest.raises(RecordingError, match="no folder"):
        read_results(tmp_path / "nowhere")
    with pytest.raises(RecordingError, match="no recorded episode"):
        read_results(tmp_path)
    record(tmp_path / "science", {})
    record(tmp_path / "cut-off", {}, terminated=False)
    with pytest.raises(RecordingError, match=r"no finished episode .*1 not finished, 1 of other suites.*deskgym run"):
        read_results(tmp_path)


@pytest.mark.parametrize(
    "bad",
    [
        {"analysis": {}},
        {"analysis": []},
        {"analysis": {"turns": [3]}},
        {"analysis": {"turns": [{"turn": "t"}]}},
        {"analysis": {"turns": [OUTCOMES[0].to_dict() | {"intents": []}]}},
        {"analysis": {"turns": [OUTCOMES[0].to_dict() | {"surprise": 1}]}},
    ],
)
def test_a_damaged_record_is_named(tmp_path, bad):
    record(tmp_path / "episode", bad)
    with pytest.raises(RecordingError, match="episode: its 'analysis' cannot be read"):
        read_results(tmp_path)
