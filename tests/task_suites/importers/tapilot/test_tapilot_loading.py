"""Both layouts of Tapilot-Crossing are read, and every mistake in them is named."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import tapilot_fixtures as fixtures

from deskgym.envs.errors import TaskError
from deskgym.envs.needs import Needs
from deskgym.envs.provision.tool_environments import ToolEnvironment
from deskgym.task_suites.core.program import Program
from deskgym.task_suites.importers import tapilot
from deskgym.task_suites.importers.tapilot import libraries
from deskgym.task_suites.importers.tapilot.suite import suite
from deskgym.task_suites.programs import load_program
from deskgym.task_suites.table_analysis.dialogue import DialogueTask, score_of
from deskgym.task_suites.table_analysis.metrics import check_outcome


@pytest.fixture
def lines(tmp_path: Path) -> tapilot.Collection:
    return tapilot.load(fixtures.write_lines(tmp_path))


@pytest.fixture
def folders(tmp_path: Path) -> tapilot.Collection:
    return tapilot.load(fixtures.write_folders(tmp_path))


def test_the_jsonl_files_are_read(lines: tapilot.Collection) -> None:
    assert lines.problems == ()
    found = {turn.id: (turn.mode, turn.action, turn.intents) for turn in lines.turns}
    assert found == {
        "normal/1": ("normal", "", 2),
        "normal/3": ("normal", "", 1),
        "normal/4": ("normal", "", 1),
        "private/5": ("private", "", 2),
        "action_analysis/2": ("action", "insight_mining", 1),
        "action_correction/c6": ("action", "update_code", 2),
    }
    assert lines["4"].id == "normal/4"
    assert lines.functions == {"read_csv_file", "mean_of", "pick"}


@pytest.mark.parametrize("shape", ["lines", "list", "object"])
def test_the_folder_of_json_files_is_read(tmp_path: Path, lines: tapilot.Collection, shape: str) -> None:
    data = tmp_path / "data"
    (data / "dialogue_data").rename(data / "interaction_data_json")
    for file in (data / "interaction_data_json").glob("*.jsonl"):
        entries = [json.loads(text) for text in file.read_text().splitlines()]
        if shape == "list":
            file.with_suffix(".json").write_text(json.dumps(entries, indent=2))
        elif shape == "object":
            (file.parent / "ATP" / file.stem).mkdir(parents=True)
            for number, entry in enumerate(entries):
                (file.parent / "ATP" / file.stem / f"turn_{number}.json").write_text(json.dumps(entry, indent=2))
        if shape != "lines":
            file.unlink()
    found = tapilot.load(tmp_path)
    assert [str(problem) for problem in found.problems] == [] and found.library == fixtures.LIBRARY
    assert [(turn.mode, turn.query, turn.data_id) for turn in sorted(found.turns, key=lambda turn: turn.data_id)] == [
        (turn.mode, turn.query, turn.data_id) for turn in sorted(lines.turns, key=lambda turn: turn.data_id)
    ]
    assert (shape == "object") == ("ATP/normal/turn_0/1" in str(found.turns))
    turns = {"ATP_tennis/ana/normal/turn_2": fixtures.folder_files(fixtures.code_turn(), None)}
    shutil.rmtree(data / "resource")
    assert len(tapilot.load(fixtures.write_folders(tmp_path, turns))) == len(found)  # a turn in both places is one


def test_the_folders_are_read(folders: tapilot.Collection) -> None:
    assert folders.problems == ()
    found = {turn.id.removeprefix("ATP_tennis/"): (turn.mode, turn.action) for turn in folders.turns}
    assert found == {
        "ana/normal/turn_2": ("normal", ""),
        "ana/private/turn_2": ("private", ""),
        "ana/action/turn_3_analysis_1": ("action", "insight_mining"),
        "ana/action/turn_4": ("action", "fast_fail"),
        "short_ana/short_action/turn_2_short_1": ("action", "clarification"),
        "short_ana/short_action_private/turn_2_short_2": ("private-action", "update_code"),
    }


def test_both_layouts_say_the_same(tmp_path: Path) -> None:
    one = tapilot.load(fixtures.write_lines(tmp_path / "lines"))["normal/1"]
    other = tapilot.load(fixtures.write_folders(tmp_path / "folders"))["ATP_tennis/ana/normal/turn_2"]
    for name in ("query", "context", "dialogue", "template", "history_code", "eval_code", "result_types"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.query == fixtures.QUERY
    assert [said.role for said in one.dialogue] == ["user", "assistant"]
    assert one.template is not None
    assert one.template.head.strip() == fixtures.READ.strip()
    assert one.template.tail.strip() == fixtures.SAVE.strip()


def test_a_prompt_in_plain_text_gives_the_same(tmp_path: Path) -> None:
    turns = fixtures.folders()
    files = turns["ATP_tennis/ana/normal/turn_2"]
    whole = tapilot.load(fixtures.write_folders(tmp_path / "a", turns))["ATP_tennis/ana/normal/turn_2"]
    del files["reference/prompt_code_hist.json"]
    text = tapilot.load(fixtures.write_folders(tmp_path / "b", turns))["ATP_tennis/ana/normal/turn_2"]
    assert (text.query, text.template, len(text.dialogue)) == (whole.query, whole.template, 2)
    assert "containing the following columns" in text.context


def test_tags_of_gaps_are_no_code(tmp_path: Path) -> None:
    turns = fixtures.folders()
    files = turns["ATP_tennis/ana/normal/turn_2"]
    plain = files["ref_code.py"]
    files["ref_code.py"] = f"<code1>\n{plain}</code1>\n"
    loaded = tapilot.load(fixtures.write_folders(tmp_path, turns))
    assert loaded["ATP_tennis/ana/normal/turn_2"].reference_code == plain


LINE_MISTAKES = {
    "not JSON": ('{"data_id": 1,', "is not JSON"),
    "a list": ("[1]", "must hold an object"),
    "a key twice": ('{"data_id": 1, "data_id": 1}', "given twice"),
}


@pytest.mark.parametrize("case", LINE_MISTAKES)
def test_a_broken_line_is_named_and_hides_no_other(tmp_path: Path, case: str) -> None:
    text, message = LINE_MISTAKES[case]
    loaded = tapilot.load(fixtures.write_lines(tmp_path, {"normal": [text, fixtures.code_turn()]}))
    assert [turn.id for turn in loaded.turns] == ["normal/1"]
    assert any(message in str(problem) for problem in loaded.problems)
    assert {(problem.file, problem.line) for problem in loaded.problems} == {("dialogue_data/normal.jsonl", 1)}


FIELD_MISTAKES = [
    ("data_id", None, "is missing"),
    ("data_id", [1], "must be a whole number"),
    ("domain_name", "ATP_tenis", "did you mean 'atp_tennis'"),
    ("result_type", 3, "must be a result type"),
    ("result_type", [], "must be a result type"),
    ("current_query", 5, "must be a string"),
    ("prompt_with_hist_txt", "", "must not be empty"),
    ("prompt_with_hist_json", [{"role": "boss", "content": "x"}], "must have a role"),
    ("prompt_with_hist_json", "[", "is not JSON"),
    ("prompt_with_hist_json", [{"role": "system", "content": "x"}], "does not end with a user's message"),
    ("reference_answer", "x = (", "is not Python"),
    ("ref_code_hist", "for", "is not Python"),
    ("ref_code_all", ["x"], "must be a string"),
    ("eval_metrics", None, "is missing"),
    ("eval_metrics", "print(True", "is not Python"),
]


@pytest.mark.parametrize(("key", "value", "message"), FIELD_MISTAKES)
def test_every_field_is_checked(tmp_path: Path, key: str, value: object, message: str) -> None:
    entry = fixtures.code_turn() | {key: value}
    if value is None:
        del entry[key]
    loaded = tapilot.load(fixtures.write_lines(tmp_path, {"normal": [fixtures.code_turn() | {"data_id": 9}, entry]}))
    (problem,) = loaded.problems
    assert (problem.file, problem.line, problem.key) == ("dialogue_data/normal.jsonl", 2, key)
    assert message in problem.message
    assert len(loaded) == 1
    with pytest.raises(TaskError, match="has mistakes"):
        loaded["normal/line-2"]


def test_all_mistakes_of_a_line_are_named(tmp_path: Path) -> None:
    entry = fixtures.code_turn() | {"domain_name": "golf", "eval_metrics": "(", "ref_code_hist": 4}
    loaded = tapilot.load(fixtures.write_lines(tmp_path, {"normal": [entry]}))
    assert {problem.key for problem in loaded.problems} == {"domain_name", "eval_metrics", "ref_code_hist"}


def test_an_answer_without_a_letter_and_a_data_id_twice_are_mistakes(tmp_path: Path) -> None:
    bad = fixtures.choice_turn() | {"reference_answer": '{"options": ["A. x", "B. y"], "correct_answer": "D"}'}
    files = {"action_una": [bad, fixtures.choice_turn() | {"data_id": 7}, fixtures.choice_turn() | {"data_id": 7}]}
    loaded = tapilot.load(fixtures.write_lines(tmp_path, files))
    assert [(problem.line, problem.key) for problem in loaded.problems] == [(1, "reference_answer"), (3, "data_id")]


FOLDER_MISTAKES = [
    ("eval.py", None, "eval.py", "is missing"),
    ("meta_data.json", None, "meta_data.json", "cannot be read"),
    ("meta_data.json", '{"result_type": "value", "action": "x"}', "meta_data.json", "is missing"),
    ("prompt_curr.txt", "", "prompt_curr.txt", "must not be empty"),
    ("ref_code.py", "x = (", "ref_code.py", "is not Python"),
    ("reference/ref_code_hist.py", None, "reference/ref_code_hist.py", "is missing"),
    ("reference/ref_code_all.py", "]", "reference/ref_code_all.py", "is not Python"),
    ("reference/prompt_code_hist.json", "{}", "reference/prompt_code_hist.json", "must be a list of messages"),
]


@pytest.mark.parametrize(("file", "text", "where", "message"), FOLDER_MISTAKES)
def test_every_file_of_a_folder_is_checked(
    tmp_path: Path, file: str, text: str | None, where: str, message: str
) -> None:
    turns = fixtures.folders()
    name = "ATP_tennis/ana/normal/turn_2"
    if text is None:
        del turns[name][file]
    else:
        turns[name][file] = text
    loaded = tapilot.load(fixtures.write_folders(tmp_path, turns))
    (problem,) = loaded.problems
    assert (problem.file, len(loaded)) == (f"{name}/{where}", len(turns) - 1)
    assert message in problem.message


def test_an_action_folder_must_say_its_action(tmp_path: Path) -> None:
    turn = fixtures.folder_files(fixtures.code_turn(), "guessing")
    loaded = tapilot.load(fixtures.write_folders(tmp_path, {"ATP_tennis/ana/action/turn_9": turn}))
    (problem,) = loaded.problems
    assert problem.key == "action" and "clarification" in problem.message


def test_what_is_no_turn_is_skipped_and_an_empty_copy_is_an_error(tmp_path: Path) -> None:
    root = fixtures.write_folders(tmp_path)
    (root / "data/interaction_data/ATP_tennis/ana/normal/mid_results").mkdir()
    assert [path.name for path in tapilot.load(root).skipped] == ["mid_results"]
    (tmp_path / "empty/interaction_data").mkdir(parents=True)
    for path, message in [("empty", "has no turns"), ("nowhere", "is not there"), ("data/resource", "has neither")]:
        with pytest.raises(TaskError, match=message):
            tapilot.load(tmp_path / path)
    assert len(tapilot.load(root / "data")) == len(tapilot.load(root / "data/interaction_data")) == 6


def test_what_is_missing_for_a_turn_is_told(tmp_path: Path) -> None:
    turn = fixtures.code_turn() | {"ref_code_hist": "import no_such_module_at_all\n"}
    root = fixtures.write_lines(tmp_path, {"normal": [turn], "private": [fixtures.code_turn()]})
    (root / "data/resource/decision_company.py").unlink()
    loaded = tapilot.load(root)
    assert loaded.reasons(loaded["normal/1"]) == [
        "its code imports no_such_module_at_all, which is not installed: pip install no_such_module_at_all"
    ]
    assert "decision_company.py is not in" in loaded.reasons(loaded["private/1"])[0]
    (root / "data/resource/atp_tennis.csv").unlink()
    assert "its table atp_tennis.csv is not in" in tapilot.load(root).reasons(loaded["normal/1"])[0]
    tasks = suite(str(root), "corrected")
    assert not tasks.describe("normal/1")["supported"]
    with pytest.raises(TaskError, match="cannot run here"):
        tasks.get("normal/1")
    with pytest.raises(TaskError, match="none of the 2 tasks"):
        tasks.draw(np.random.default_rng(0))


def test_the_suite_is_a_task_source(tmp_path: Path) -> None:
    root = fixtures.write_folders(tmp_path)
    tasks = suite(str(root), "paper")
    assert len(tasks.ids()) == 6
    task = tasks.get("ATP_tennis/ana/normal/turn_2")
    assert isinstance(task, DialogueTask)
    assert "YOUR SOLUTION BEGIN" in task.instruction and task.instruction.startswith(fixtures.QUERY)
    drawn = {tasks.draw(np.random.default_rng(seed), "*/action/*").id for seed in range(20)}
    assert drawn == {"ATP_tennis/ana/action/turn_3_analysis_1", "ATP_tennis/ana/action/turn_4"}
    again = pickle.loads(pickle.dumps(tasks))
    assert (again.mode, again.ids()) == ("paper", tasks.ids())
    assert json.dumps(tasks.describe(task.id))
    for wrong, message in [("ATP_tennis/ana/normal/turn_3", "did you mean"), (f"{task.id}#3", "no parameters")]:
        with pytest.raises(TaskError, match=message):
            tasks.get(wrong)
    with pytest.raises(TaskError, match="train and test"):
        tasks.ids("train")


def test_mistakes_are_warned_of_once(tmp_path: Path) -> None:
    tasks = suite(str(fixtures.write_lines(tmp_path, {"normal": [fixtures.code_turn(), "{"]})), "corrected")
    with pytest.warns(UserWarning, match="normal.jsonl:2"):
        assert tasks.ids() == ["normal/1", "normal/line-2"]
    assert "is not JSON" in tasks.describe("normal/line-2")["reason"]


def test_texts_for_the_agent(tmp_path: Path) -> None:
    tasks = suite(str(fixtures.write_lines(tmp_path)), "corrected")
    texts = tasks.get("private/5").begin("rules", 1).texts()
    assert "40 rows\nplayer,hand,height,wins\np0," in texts["tables"]
    assert texts["library"] == fixtures.LIBRARY
    assert "mark who is tall" in texts["dialogue"] and "mean_height" not in texts["dialogue"]
    choice = tasks.get("action_analysis/2").begin("rules", 1).texts()
    assert choice["instruction"].count("B. right") == 1 and choice["library"] == ""


def test_a_turn_that_the_agent_broke_is_wrong(tmp_path: Path) -> None:
    tasks = suite(str(fixtures.write_lines(tmp_path)), "corrected")
    for task, kinds in (("private/5", 2), ("action_analysis/2", 1)):
        talk = tasks.get(task).begin("rules", 1)
        talk.ran("import os; os.kill(1, 9)", "", False)
        talk.broken_by_agent("the agent broke its machine")
        (outcome,) = talk.outcomes
        check_outcome(outcome)
        assert talk.over and outcome.error is None and not outcome.executed and len(outcome.intents) == kinds
        assert not any(intent.correct for intent in outcome.intents)
        assert score_of(outcome) == 0


def test_a_clarification_tells_what_comments_say_and_no_code(tmp_path: Path) -> None:
    talk = (
        suite(str(fixtures.write_folders(tmp_path)), "corrected")
        .get("ATP_tennis/short_ana/short_action/turn_2_short_1")
        .begin("rules", 1)
    )
    answer = talk.ask("Which hand do you mean?")
    assert answer == "Keep the players who play with the left hand."
    assert "answered what I could" in talk.ask("And the heights?")


def test_without_the_benchmarks_libraries_a_score_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ToolEnvironment("test_never_built", ("a==1",))
    program = Program(name="tapilot", title="T", needs=Needs(layers=(missing,)))
    monkeypatch.setattr(libraries, "load_program", {"tapilot": program}.__getitem__)
    found = libraries.find_libraries()
    assert (found.environment, found.folder) == (None, None) and "`deskgym install tapilot`" in found.note
    assert load_program("tapilot").needs.layers[0].lines.count("pandas==2.0.3") == 1


def test_modules_are_looked_for_where_the_code_runs(tmp_path: Path) -> None:
    files = fixtures.lines()
    files["normal"][0]["ref_code_hist"] = "import statsmodels, json\nimport six\n" + fixtures.HISTORY
    collection = tapilot.load(fixtures.write_lines(tmp_path / "copy", files))
    for name in ("pandas", "numpy", "sklearn", "matplotlib", "statsmodels"):
        (tmp_path / "site" / name).mkdir(parents=True)
    assert "its code imports six" in str(collection.reasons(collection["normal/1"], tmp_path / "site"))
    (tmp_path / "site" / "six.py").touch()
    assert collection.reasons(collection["normal/1"], tmp_path / "site") == []
