"""deskgym results, on recordings of three steps."""

import argparse
import json

import pytest

from deskgym.cli import results
from deskgym.envs.errors import DeskgymError
from deskgym.task_suites.table_analysis.turns import IntentOutcome, Outcome
from deskgym.wrappers.recording.recording import FORMAT, META, STEPS, write_json


@pytest.fixture
def command(capsys):
    def run(*argv):
        parser = argparse.ArgumentParser()
        results.add_arguments(parser)
        status = results.run(parser.parse_args([str(word) for word in argv]))
        return status, capsys.readouterr().out

    return run


def record(folder, *intents, mode, action="", **rest):
    folder.mkdir()
    outcome = Outcome("penguins/ines/t#0", "penguins", mode, action, intents, **rest)
    write_json(folder / META, {"format": FORMAT, "task": {"id": outcome.turn}})
    last = {"step": 1, "terminated": True, "info": {"analysis": {"turns": [outcome.to_dict()]}}}
    (folder / STEPS).write_text(f"{json.dumps({'step': 0})}\n{json.dumps(last)}\n")


@pytest.fixture
def episodes(tmp_path):
    record(tmp_path / "a", IntentOutcome("v", "value", True), IntentOutcome("w", "list", False), mode="normal")
    record(tmp_path / "b", IntentOutcome("v", "value", True), mode="private", recall=0.5)
    record(
        tmp_path / "c", IntentOutcome("choice", "choice", False), mode="action", action="plot_qa", options=4, answer="B"
    )
    record(tmp_path / "d", mode="action", action="plot_qa", error="lost")
    return tmp_path


def cells(out, label):
    (line,) = [line for line in out.splitlines() if line.split()[:1] == [label]]
    return line.split()[1:]


def test_the_tables_are_printed(command, episodes):
    status, out = command(episodes)
    assert status == 0 and "4 episodes, 4 turns" in out and "not the paper's models" in out
    assert cells(out, "Normal") == ["2", "50.0", "9.5-90.5", "50.0", "50.0", "50.0", "0.0", "-", "-"]
    assert cells(out, "Private") == ["1", "100.0", "20.7-100.0", "50.0", "100.0", "50.0", "0.0", "-", "-"]
    assert cells(out, "plot_qa") == ["1", "0.0", "0.0-79.3", "0.0", "0.0", "0.0", "25.0", "no", "1"]
    assert cells(out, "Private-Action") == ["0", "-", "-", "-", "-", "-", "-", "-", "-"]
    assert cells(out, "Overall")[:2] == ["4", "50.0"]


def test_the_same_as_json(command, episodes):
    status, out = command(episodes, "--json")
    data = json.loads(out)
    assert status == 0 and data["turns"] == 4
    rows = {row["label"]: row for table in ("modes", "actions", "kinds") for row in data[table]}
    assert rows["Normal"]["acc"] == 0.5 and rows["Choice"]["chance"] == 0.25 and rows["plot_qa"]["errors"] == 1
    assert rows["Choice"]["above_chance"] is False and rows["model"]["acc"] is None


def test_what_is_left_out_is_told(command, episodes):
    (episodes / "e").mkdir()
    write_json(episodes / "e" / META, {"format": FORMAT})
    assert "left out: 1 episodes not finished" in command(episodes)[1]


def test_no_recording_is_a_clear_error(command, tmp_path):
    with pytest.raises(DeskgymError, match="no recorded episode in"):
        command(tmp_path)
