"""The soak: leaks planted on purpose are found, and the real thing has none."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from deskgym.benchmarks import census
from deskgym.benchmarks import soak as command
from deskgym.benchmarks.soak import Options, soak
from deskgym.benchmarks.soak_tasks import LEAKS
from deskgym.benchmarks.soak_trends import ALLOWED, MEMORY, trends_of

FOUND_AS = {
    "descriptor": "file descriptors",
    "file": "temporary files",
    "process": "processes on the host",
    "zombie": "zombies",
    "memory": MEMORY,
}


@pytest.fixture
def run(tmp_path, capsys):
    """Runs the command; returns its exit status and its data."""

    def run(*arguments):
        status = command.main([*arguments, "--json", "--out", str(tmp_path / "soak.json")])
        data = json.loads(capsys.readouterr().out)
        assert data == json.loads((tmp_path / "soak.json").read_text())
        return status, data

    return run


FAKE = ("--machine", "fake", "--shares", "bare=1", "--episodes", "60", "--envs", "2", "--checkpoints", "8")


def test_every_kind_of_leak_is_found(run):
    status, data = run(*FAKE, *(word for name in LEAKS for word in ("--leak", name)))
    assert status == 1
    assert set(data["leaks"]) == set(FOUND_AS.values())
    assert data["episodes"] == 60 and data["ends"] == {"failed": 60}  # a fake machine runs no code


def test_without_one_nothing_is_found(run):
    before = os.environ.get("TMPDIR")
    status, data = run(*FAKE)
    assert (status, data["leaks"]) == (0, [])
    assert os.environ.get("TMPDIR") == before


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.alone
def test_nothing_leaks_over_sixty_episodes():
    command = [sys.executable, "-m", "deskgym.benchmarks.soak", "--episodes", "60", "--envs", "2", "--checkpoints", "8"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=280)
    assert done.stdout, done.stderr[-4000:]
    data = json.loads(done.stdout)
    trends = {trend.what: trend for trend in trends_of(data)}
    assert (done.returncode, data["leaks"]) == (0, []), [trends[name].cells() for name in data["leaks"]]
    assert sum(data["ends"].values()) == 60 and set(data["ends"]) <= {"solved", "failed"}
    assert data["stats"]["swaps"] >= 50
    for what, count in (("machines", 2 * 2), ("state folders", 2)):
        trend = trends[what]
        assert trend.last - trend.before == count and trend.after == trend.before


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.sandbox
def test_a_descriptor_and_a_process_are_found_among_real_desktops():
    data = soak(Options(24, 2, 6, shares={"bare": 1.0}, leaks=("descriptor", "process")), quiet=True)
    assert {"file descriptors", "processes on the host"} <= set(data["leaks"])


def sampled(what, values, before=0.0, after=0.0):
    """Data of a run in which one count had these values, and all others 0."""
    rest = dict.fromkeys(ALLOWED, 0.0)
    samples = [{**rest, "episode": 100.0 * k, what: value} for k, value in enumerate(values)]
    return {"samples": samples, "before": {**rest, what: before}, "after": {**rest, what: after}}


def leaks(*arguments, **more):
    return [trend.what for trend in trends_of(sampled(*arguments, **more)) if trend.leak]


def test_a_slow_leak_is_found_and_noise_is_none():
    noise = np.random.default_rng(0).normal(0, 3, 20)
    assert leaks(MEMORY, 100 + noise) == []
    assert leaks(MEMORY, 100 + noise + np.arange(20)) == [MEMORY]
    assert leaks("file descriptors", [50.0] * 15 + [51.0] * 5) == []  # once is no trend
    assert leaks("file descriptors", [50.0 + k // 4 for k in range(20)]) == ["file descriptors"]


def test_growth_while_caches_fill_does_not_count():
    assert leaks(MEMORY, [10.0, 40.0, 70.0, 90.0, 100.0, *[101.0] * 15]) == []


def test_what_does_not_come_back_is_a_leak():
    assert leaks("mounts", [5.0] * 20, before=4.0, after=5.0) == ["mounts"]
    assert leaks("mounts", [5.0] * 20, before=4.0, after=4.0) == []
    assert leaks("memory available, MiB", np.linspace(9000, 0, 20)) == []  # others' business


@pytest.mark.parametrize("wrong", ["bare", "word=1", "bare=0", "bare=-1,editor=1", ""])
def test_wrong_shares_are_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        command.parse(["--shares", wrong])
    assert "legal is such as" in capsys.readouterr().err


def test_too_few_checkpoints_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.parse(["--checkpoints", "3"])
    assert "legal are 4" in capsys.readouterr().err


def test_what_malloc_keeps_for_later_is_not_counted():
    """Freed arrays below malloc's threshold: the kernel still counts them."""
    counter = census.Census()

    def kept(size):
        frames = [np.ones(size, np.uint8) for _ in range(40)]
        last = np.ones(100_000, np.uint8)  # what lies behind them keeps them from going back by themselves
        del frames
        return last

    before = command.count(counter)[MEMORY]
    last = kept(1 << 16)
    assert command.count(counter)[MEMORY] < before + 1.5
    assert last[0] == 1
