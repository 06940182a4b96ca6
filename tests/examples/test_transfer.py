"""examples/transfer.py on real programs: its table has each task and player, and the same command is done at once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "transfer.py"


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(500)
def test_it_learns_from_three_programs_and_goes_on_where_it_was(tmp_path):
    command = [sys.executable, "-W", "ignore", str(SCRIPT), "--demos", "2", "--tests", "2", "--epochs", "2"]
    command += ["--out", str(tmp_path / "transfer")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "transfer" / "tested.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({line["task"] for line in lines}) == 5
    assert sorted(path.name for path in path.parent.glob("without *.pt")) == [
        "without CoqIDE.pt", "without KAlgebra.pt", "without KStars.pt", "without PyMOL.pt"
    ]  # fmt: skip
    counts = {player: sum(line["player"] == player for line in lines) for player in {line["player"] for line in lines}}
    assert counts == {"random": 5, "untrained": 5, "the other three": 10, "all four": 10}
    assert {line["outcome"] for line in lines} <= {"solved", "failed"}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines[1:]))  # as if it had been killed before the last
    again = subprocess.run(command, capture_output=True, text=True, timeout=90)
    assert again.returncode == 0 and len(path.read_text().splitlines()) == len(lines)
    other = subprocess.run([*command, "--demos", "3"], capture_output=True, text=True, timeout=60)
    assert other.returncode == 1 and "holds an experiment with --demos 2 --epochs 2 --seed 0" in other.stderr
