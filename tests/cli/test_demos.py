"""deskgym demos, on a suite of the fake machine."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from fake_suite import FakeSource

from deskgym.datasets import collect_demos, episodes_of, load_dataset
from deskgym.datasets.demos import DemoFolder, write_demos
from deskgym.envs.desktop_env import DesktopEnv

FAKE = ("demos", "science", "--machine", "fake", "--screen", "160x120", "--max-elements", "8")


def files(out):
    return {path.name: path.stat().st_mtime_ns for path in Path(out).glob("**/*.episode")}


def test_one_command_makes_the_dataset(cli, tmp_path):
    status, out, _ = cli(*FAKE, "--episodes", "3", "--seed", "5", "--out", str(tmp_path))
    assert status == 0 and "3 demonstrations played" in out
    dataset = load_dataset(tmp_path, "deskgym/science-computer-v0")
    episodes = list(episodes_of(dataset))
    assert [episode.seed for episode in episodes] == [5, 6, 7]
    assert all(episode.meta["success"] and episode.rewards[-1] == 1 for episode in episodes)
    assert dataset.env_spec.kwargs["machine"] == "fake"


def test_the_same_command_again_plays_nothing(cli, tmp_path):
    cli(*FAKE, "--out", str(tmp_path))
    before = files(tmp_path)
    status, out, _ = cli(*FAKE, "--out", str(tmp_path), "--json")
    report = json.loads(out)
    assert status == 0 and (report["played"], report["there_before"], report["episodes"]) == (0, 1, 1)
    assert files(tmp_path) == before
    status, out, _ = cli(*FAKE, "--episodes", "2", "--out", str(tmp_path), "--json")
    assert json.loads(out)["played"] == 1 and json.loads(out)["episodes"] == 2


def test_equal_seeds_give_equal_demonstrations(cli, tmp_path):
    for name in ("a", "b"):
        cli(*FAKE, "--episodes", "2", "--action", "code", "--out", str(tmp_path / name))
    one, other = (list(episodes_of(load_dataset(tmp_path / name))) for name in ("a", "b"))
    assert [(e.meta, e.actions) for e in one] == [(e.meta, e.actions) for e in other]


def test_failures_are_listed_and_kept_out(cli, tmp_path, science_has_bad_tasks):
    status, out, err = cli(*FAKE, "--out", str(tmp_path), "--json")
    report = json.loads(out)
    assert status == 1
    assert sorted(row["task"] for row in report["failed"]) == ["fake/broken", "fake/lazy", "fake/no-setup"]
    assert list(report["unsupported"]) == ["fake/unsupported"]
    assert "fake/lazy seed 0: failed: failed: number: answered '1'" in err
    assert {e.meta["task"].partition("#")[0] for e in episodes_of(load_dataset(tmp_path))} == {
        "fake/copy", "fake/no-wrong",
    }  # fmt: skip
    _, out, _ = cli(*FAKE, "--out", str(tmp_path))
    assert "0 demonstrations played, 2 were there, 3 failed, 0 skipped, 1 tasks not supported" in out


def test_what_no_discrete_action_can_say_is_skipped_and_remembered(cli, tmp_path):
    argv = (*FAKE, "--action", "discrete", "--discrete", '{"verbs": ["press", "done"]}', "--out", str(tmp_path))
    for _ in range(2):
        status, out, _ = cli(*argv, "--json")
        report = json.loads(out)
        assert status == 1 and report["episodes"] == 0 and report["failed"] == []
        assert "no discrete action" in report["skipped"][0]["message"]


def test_other_settings_are_not_mixed_in(cli, tmp_path):
    cli(*FAKE, "--out", str(tmp_path), "--id", "a-v0")
    status, _, err = cli(*FAKE, "--out", str(tmp_path), "--id", "a-v0", "--action", "code")
    assert status == 1 and "made otherwise (action 'computer', now 'code')" in err


@pytest.mark.parametrize(
    "argv, message",
    [
        (["--episodes", "0"], "--episodes 0"),
        (["--workers", "0"], "--workers 0"),
        (["--action", "discrete", "--discrete", "{"], "is not JSON"),
        (["--action", "discrete", "--discrete", "[]"], "legal is an object"),
        (["--action", "discrete", "--discrete", '{"verb": []}'], "did you mean 'verbs'"),
        (["--discrete", '{"grid": [0, 0]}'], "is for action='discrete'"),
        (["--task", "fake/cpy"], "did you mean 'fake/copy'"),
        (["--id", "no version"], "dataset id"),
    ],
)
def test_usage_errors_come_before_anything_is_played(cli, tmp_path, argv, message):
    status, _, err = cli(*FAKE, "--out", str(tmp_path), *argv)
    assert status == 1 and message in err and err.count("\n") == 1
    assert not files(tmp_path)


def test_a_killed_run_goes_on(cli, tmp_path):
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import deskgym.task_suites as t; "
        "vars(t.find_entry('science'))['load'] = 'fake_suite:suite'; "
        "from deskgym.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    argv = (*FAKE, "--episodes", "60", "--out", str(tmp_path))
    running = subprocess.Popen([sys.executable, "-c", code, *argv], stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while len(files(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    before = files(tmp_path)
    assert 3 <= len(before) < 60
    half = tmp_path / "deskgym" / "science-computer-v0" / "episodes" / "x.episode.1.part"
    half.write_bytes(b"half")
    status, out, _ = cli(*argv, "--json")
    report = json.loads(out)
    assert status == 0 and report["there_before"] == len(before) and report["episodes"] == 60
    assert {name: files(tmp_path)[name] for name in before} == before
    assert not half.exists()


def test_workers_make_the_same_dataset(tmp_path):
    make = partial(DesktopEnv, FakeSource(), machine="fake", screen_size=(160, 120), max_elements=8)
    plan = [("fake/copy", seed) for seed in range(9)]
    actions = []
    for workers in (1, 2):
        folder = DemoFolder(tmp_path / str(workers), {})
        results = [result for some in collect_demos(make, plan, folder, workers=workers) for result in some]
        assert sorted((r.task, r.seed) for r in results) == plan
        dataset = write_demos(tmp_path, f"w{workers}-v0", folder, make)
        actions.append([(e.meta["task"], [a["text"] for a in e.actions]) for e in episodes_of(dataset)])
    assert actions[0] == actions[1]


def test_a_place_that_cannot_be_and_a_suite_without_a_screen_are_said_before_playing(cli, tmp_path):
    (tmp_path / "file").touch()
    status, _, err = cli(*FAKE, "--out", str(tmp_path / "file" / "data"))
    assert status == 1 and f"--out '{tmp_path}/file/data': Not a directory at" in err and "legal is a folder" in err
    status, _, err = cli("demos", "table_analysis", "--out", str(tmp_path))
    assert status == 1 and "suites with a screen; 'table_analysis' has none" in err
