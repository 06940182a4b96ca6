"""deskgym results, on recordings of tasks: success rates by category, instruction, interface, actions and account."""

import argparse
import json

import pytest

from deskgym.cli import results
from deskgym.envs.errors import DeskgymError
from deskgym.wrappers.recording.recording import FORMAT, META, STEPS, VERDICT, write_json


@pytest.fixture
def command(capsys):
    def run(*argv):
        parser = argparse.ArgumentParser()
        results.add_arguments(parser)
        status = results.run(parser.parse_args([str(word) for word in argv]))
        return status, capsys.readouterr().out

    return run


def record(
    folder,
    task,
    *tags,
    score=1.0,
    steps=4,
    error=None,
    actions=None,
    instruction=None,
    fault=None,
    made=None,
    budget=None,
):
    folder.mkdir()
    params = {} if actions is None else {"action_number": actions}
    meta = {"id": task, "tags": list(tags), "params": params, "difficulty": "easy"}
    meta |= {} if budget is None else {"max_steps": budget}
    made = (made or {"suite": "data_engineering"}) | ({"instruction": instruction} if instruction else {})
    write_json(folder / META, {"format": FORMAT, "task": meta, "env": made})
    last = {"step": steps, "terminated": True, "info": {"fault": fault} if fault else {}}
    (folder / STEPS).write_text(f"{json.dumps({'step': 0})}\n{json.dumps(last)}\n")
    if fault is None:
        verdict = {"score": score, "success": score == 1, "checks": [], "error": error, "notes": []}
        write_json(folder / VERDICT, verdict)


@pytest.fixture
def episodes(tmp_path):
    record(tmp_path / "a", "excel/x", "gui", "traditional_data_processing", "abstract", actions=4)
    record(tmp_path / "b", "excel/y", "gui", "traditional_data_processing", "verbose", score=0, steps=15, actions=16)
    record(tmp_path / "c", "dbt/z", "cli+gui", "data_transformation", "account", score=0.5, actions=15)
    record(tmp_path / "d", "calc/sort#1", "cli", "data_transformation", instruction="verbose")
    record(tmp_path / "e", "dbt/w", "cli", score=0, error="broke")
    record(tmp_path / "f", "dbt/v", "cli", fault={"kind": "lost", "message": "x", "cause": "infrastructure"})
    record(tmp_path / "g", "dbt/u", "cli", fault={"kind": "lost", "message": "x", "cause": "agent"}, steps=2)
    return tmp_path


def cells(out, label):
    (line,) = [line for line in out.splitlines() if line.split()[:1] == [label]]
    return line.split()[1:]


def test_science_is_counted_by_domain_and_observation(command, tmp_path):
    made = {"suite": "science"}
    record(tmp_path / "a", "kalgebra/x", "algebra", made=made | {"observation": ["screenshot", "a11y", "instruction"]})
    record(tmp_path / "b", "cross/y", "documentation", "biochemistry", "cross_program", made=made, score=0)
    _, out = command(tmp_path)
    assert cells(out, "algebra")[:2] == ["1", "1"] and cells(out, "gis")[:2] == ["0", "0"]
    assert cells(out, "documentation")[:2] == ["1", "0"] == cells(out, "biochemistry")[:2]
    assert cells(out, "cross_program")[0] == "1" and cells(out, "easy")[0] == "2"
    assert cells(out, "a11y+screenshot")[:2] == ["1", "1"] and cells(out, "screenshot")[:2] == ["1", "0"]


def test_step_budgets_are_counted_as_in_scienceboard_s_table(command, tmp_path):
    for k, budget in enumerate((5, 6, 10, 11, 16, None)):
        record(tmp_path / str(k), f"kalgebra/{k}", "gui_only", made={"suite": "science"}, budget=budget, score=k % 2)
    _, out = command(tmp_path)
    lines = {line.strip()[:8].strip(): line.split()[-6:-4] for line in out.splitlines()}
    assert [lines[label] for label in ("up to 5", "6 to 10", "11 to 15", "above 15")] == [
        ["1", "0"], ["2", "1"], ["1", "1"], ["1", "0"],
    ]  # fmt: skip
    assert cells(out, "gui_only")[0] == "6"


def test_the_tables_are_printed(command, episodes):
    status, out = command(episodes)
    assert status == 0 and "5 episodes; rates and scores in percent" in out
    assert cells(out, "all") == ["5", "2", "40.0", "11.8-76.9", "50.0", "5.8"]
    assert cells(out, "traditional_data_processing") == ["2", "1", "50.0", "9.5-90.5", "50.0", "9.5"]
    assert cells(out, "data_warehousing") == ["0", "0", "-", "-", "-", "-"]
    assert cells(out, "cli+gui")[:3] == ["1", "0", "0.0"] and cells(out, "gui")[0] == "2"
    assert cells(out, "verbose")[:2] == ["2", "1"] and cells(out, "abstract")[:2] == ["3", "1"]
    assert [cells(out, label)[0] for label in ("<5", "5-15", ">15")] == ["1", "1", "1"]
    assert cells(out, "account")[0] == "1" and cells(out, "no")[:2] == ["account", "4"]
    assert cells(out, "excel")[:2] == ["2", "1"] and cells(out, "calc")[:2] == ["1", "1"]
    assert "left out: 1 episodes that could not be judged" in out
    assert "left out: 1 episodes with a broken machine" in out


def test_the_same_as_json(command, episodes):
    status, out = command(episodes, "--json")
    data = json.loads(out)
    rows = {row["label"]: row for table in data["tasks"]["tables"].values() for row in table}
    assert status == 0 and data["tasks"]["episodes"] == 5 and sum(data["left_out"].values()) == 2
    assert rows["all"]["rate"] == 0.4 and rows["data_warehousing"]["rate"] is None


def test_none_that_counts_is_an_error(command, tmp_path):
    record(tmp_path / "e", "dbt/w", "cli", score=0, error="broke")
    with pytest.raises(DeskgymError, match="none of the 1 recorded episodes in .* counts .1 that could not be judged"):
        command(tmp_path)
