"""examples/train_ppo.py on the real program: it learns, goes on after a SIGKILL, and gives search.py its policy."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "train_ppo.py"


def start(out, minutes):
    options = ["--tasks", "ladder/1-tab", "--minutes", str(minutes), "--envs", "2", "--test-episodes", "4"]
    options += ["--demonstrations", "4"]
    command = [sys.executable, "-W", "ignore", str(SCRIPT), *options, "--no-ablation", "--out", str(out)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


def state(out):
    path = out / "masks" / "state.json"
    return json.loads(path.read_text()) if path.exists() else {"episodes": 0}


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.sandbox
@pytest.mark.timeout(600)
def test_it_learns_and_goes_on_after_a_kill(tmp_path):
    out = tmp_path / "ppo"
    killed = start(out, 10)
    deadline = time.monotonic() + 200
    while state(out)["episodes"] < 10 and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.5)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    before = state(out)
    assert before["episodes"] >= 10
    finished = start(out, before["elapsed"] / 60 + 2)
    text, _ = finished.communicate(timeout=350)
    assert finished.returncode == 0, text
    after = state(out)
    assert after["episodes"] > before["episodes"] and after["steps"] > before["steps"]
    lines = [json.loads(line) for line in (out / "masks" / "log.jsonl").read_text().splitlines()]
    trained = [line for line in lines if "train" in line]
    assert [line["episodes"] for line in trained] == sorted(line["episodes"] for line in trained)
    assert trained[-1]["train"]["ladder/1-tab"] >= 0.35, "random actions solve about a tenth"
    tested = json.loads((out / "masks" / "test.json").read_text())["ladder/1-tab"]
    assert tested["of"] + tested["lost"] == 4 and tested["lost"] == 0
    assert out.with_suffix(".png").stat().st_size > 5_000
    assert "ladder/1-tab" in text and "cloned" in text
    found = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT.with_name("search.py")), "--policy", str(out), "--tasks",
         "ladder/2-variable", "--episodes", "1", "--tries", "3", "--record", str(tmp_path / "tree")],
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert "search" in found.stdout
    branches = [json.loads(path.read_text()).get("branch") for path in sorted((tmp_path / "tree").glob("*/meta.json"))]
    names = {path.parent.name for path in (tmp_path / "tree").glob("*/meta.json")}
    assert len(branches) > 1 or "1/1" in found.stdout, "unsolved, it goes back"
    assert branches[0] is None and {branch["of"] for branch in branches[1:]} < names


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(400)
def test_its_curves_are_written_for_tensorboard_and_weights_and_biases(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    pytest.importorskip("wandb")
    options = ["--tasks", "ladder/1-tab", "--minutes", "0.3", "--envs", "1", "--test-episodes", "2", "--no-ablation"]
    options += ["--demonstrations", "0"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT), *options, "--out", str(tmp_path / "ppo"), "--wandb", "tests"],
        env={**os.environ, "WANDB_MODE": "offline"}, capture_output=True, text=True, timeout=350,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    events = accumulator.EventAccumulator(str(tmp_path / "ppo" / "tensorboard" / "masks"))
    events.Reload()
    assert {"solved/ladder/1-tab", "episodes"} <= set(events.Tags()["scalars"])
    (run,) = (tmp_path / "ppo" / "wandb").glob("offline-run-*")
    assert list(run.glob("*.wandb"))
