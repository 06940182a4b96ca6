"""The benchmarks of states and of runtimes, each with as little as it takes."""

import json

import pytest

from deskgym.benchmarks import runtimes, soak_forks, states

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.mark.parametrize("more", [[], ["--runtime", "runsc"]])
def test_forks_go_on_like_single_episodes(more, tmp_path, capsys):
    assert states.main(["--task", "kalgebra/tab", "--tasks", "1", "--forks", "2", "--out", str(tmp_path), *more]) == 0
    data = json.loads((tmp_path / "states.json").read_text())
    (task,) = data["tasks"]
    assert task["equal"] == 2 and task["how"] == ("snapshot" if more else "replay")
    assert "2 of 2 forks" in capsys.readouterr().out


def test_runtimes_are_compared(tmp_path, capsys):
    options = ["--task", "Science-v0:kalgebra/tab", "--rounds", "1", "--out", str(tmp_path)]
    assert runtimes.main(options) == 0
    data = json.loads((tmp_path / "runtimes.json").read_text())
    assert data["earned"] == {f"Science-v0:kalgebra/tab/{runtime}": [1.0] for runtime in ("runc", "runsc")}
    assert "later reset" in capsys.readouterr().out


def test_a_task_without_an_environment_is_refused(capsys):
    assert runtimes.main(["--task", "kalgebra/tab"]) == 1
    assert "is no task; write it like" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "how"),
    [
        (["--runtime", "runsc"], "snapshot"),
        (
            ["--env", "TableAnalysis-v0", "--task", "bikes/hugo/action/daily-rides.clarification", "--restores"],
            "process",
        ),
    ],
)
def test_forks_leave_nothing(options, how, capsys):
    assert soak_forks.main(["--forks", "8", "--checkpoints", "8", *options]) == 0
    out = capsys.readouterr()
    assert f"({how})" in out.out and "0 of which differed" in out.out and "no leaks" in out.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--forks", "3"], "3; legal is a whole number from 4 up"),
        (["--forks", "8", "--checkpoints", "9"], "legal are 4 to the number of forks, 8"),
    ],
)
def test_too_few_forks_are_refused(options, says, capsys):
    with pytest.raises(SystemExit):
        soak_forks.main(options)
    assert says in capsys.readouterr().err


def test_what_is_not_there_is_told_in_a_line(capsys):
    assert soak_forks.main(["--forks", "4", "--task", "kalgebra/tb"]) == 2
    assert "did you mean 'kalgebra/tab'" in capsys.readouterr().err
