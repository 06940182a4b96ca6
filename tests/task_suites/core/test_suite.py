"""Suites: ids, instances, globs, splits; lazy and picklable."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from deskgym.envs.episode import TaskLike, TaskSource
from deskgym.envs.errors import TaskError
from deskgym.task_suites.core.suite import TaskSuite

BODY = """
title: T
instruction: Write {n}, {curve}.
difficulty: easy
tags: [x]
params:
  n: {integer: [1, 60]}
  curve: {choice: [sin, cos, tan, exp, log, sqrt, abs, sinh, cosh, tanh]}
checks:
  - file.exists: /tmp/x
oracle:
  - type: "{n}"
  - done:
wrong:
  nothing typed:
    - done:
"""
FIXED = BODY[: BODY.index("params:")] + BODY[BODY.index("checks:") :]
FIXED = FIXED.replace("{n}", "1").replace("{curve}", "sin")


def check_open(final, name: str):
    return True, ""


@pytest.fixture
def suite(tmp_path: Path) -> TaskSuite:
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.yaml").write_text("id: demo/plot" + BODY)
    (tmp_path / "b.yaml").write_text("id: demo/held-out\nsplit_by: [curve]" + BODY)
    (tmp_path / "deep" / "c.yml").write_text("id: other/fixed" + FIXED)
    return TaskSuite("demo", tmp_path, checks={"demo.open": check_open})


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_protocols(suite: TaskSuite) -> None:
    assert isinstance(suite, TaskSource) and isinstance(suite.get("demo/plot", 1), TaskLike)


def test_making_one_reads_nothing_and_it_pickles() -> None:
    suite = TaskSuite("demo", "/nowhere", checks={"demo.open": check_open})
    assert pickle.loads(pickle.dumps(suite)).folders == [Path("/nowhere")]
    with pytest.raises(TaskError, match="no folder /nowhere"):
        suite.ids()


def test_a_pickled_suite_has_the_same_tasks(suite: TaskSuite) -> None:
    suite.ids()
    again = pickle.loads(pickle.dumps(suite))
    assert again.get("demo/plot#3").instruction == suite.get("demo/plot#3").instruction


def test_verbose_instructions_tell_the_steps(tmp_path: Path) -> None:
    steps = 'verbose:\n  - "Open {curve}."\n  - Type {n}.\n'
    (tmp_path / "a.yaml").write_text("id: demo/plot" + BODY.replace("difficulty", steps + "difficulty"))
    (tmp_path / "b.yaml").write_text("id: demo/short" + BODY)
    suite, plain = (
        TaskSuite("demo", tmp_path, checks={"demo.open": check_open}, verbose=verbose) for verbose in (True, False)
    )
    task, same = suite.get("demo/plot", 3), plain.get("demo/plot", 3)
    first, second = same.verbose
    assert task.instruction == f"{same.instruction}\n\nThese steps do it:\n1. {first}\n2. {second}"
    assert suite.draw(rng(), task.id).instruction == task.instruction
    assert "These steps do it" in suite.draw(rng(), "demo/plot").instruction
    assert suite.get("demo/short", 3).instruction == plain.get("demo/short", 3).instruction
    assert task.setup_key == same.setup_key  # one snapshot serves both


def test_get(suite: TaskSuite) -> None:
    assert suite.ids() == ["demo/held-out", "demo/plot", "other/fixed"]
    task = suite.get("demo/plot", 7)
    assert (task.id, task.seed, task.source) == ("demo/plot#7", 7, "deskgym (Apache-2.0)")
    assert task.instruction == "Write {n}, {curve}.".format(**task.params)
    assert suite.get("demo/plot#7").params == task.params == suite.get("demo/plot#7", seed=9).params
    assert suite.get("demo/plot").id == "demo/plot#0"
    assert (suite.get("other/fixed", 5).id, suite.get("other/fixed").seed) == ("other/fixed", None)


@pytest.mark.parametrize(
    ("task_id", "message"),
    [
        ("demo/plt", "did you mean 'demo/plot'"), ("", "legal are demo/held-out, demo/plot"),
        ("demo/plot#", "after the # comes a seed"), ("demo/plot#-1", "a seed"), ("demo/plot#9999999999", "a seed"),
        ("demo/plot#x", "a seed"), ("other/fixed#1", "only one instance"),
    ],
)  # fmt: skip
def test_unknown_ids(suite: TaskSuite, task_id: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        suite.get(task_id)


def test_a_seed_out_of_range(suite: TaskSuite) -> None:
    with pytest.raises(TaskError, match="a seed is 0 to"):
        suite.get("demo/plot", -1)


def test_draw(suite: TaskSuite) -> None:
    assert suite.draw(rng(3)).id == suite.draw(rng(3)).id
    same = rng(1)
    assert len({suite.draw(same).id for _ in range(50)}) > 20
    assert {suite.draw(same, "demo/*").id.partition("#")[0] for _ in range(40)} == {"demo/plot", "demo/held-out"}
    assert suite.draw(same, "demo/plot").id.startswith("demo/plot#")
    assert suite.draw(same, "demo/plot#5").id == "demo/plot#5"
    assert suite.draw(same, "*fixed").id == "other/fixed"


@pytest.mark.parametrize(
    ("pattern", "split", "message"),
    [
        ("nope/*", None, "unknown task 'nope/\\*'"),
        ("demo/plt", None, "did you mean 'demo/plot'"),
        (None, "trian", "did you mean 'train'"),
    ],
)
def test_nothing_to_draw(suite: TaskSuite, pattern: str | None, split: str | None, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        suite.draw(rng(), pattern, split)


def test_an_instance_of_the_other_split_is_refused(suite: TaskSuite) -> None:
    task = suite.get("demo/plot#5")
    other = {"train": "test", "test": "train"}[task.split]
    with pytest.raises(TaskError, match="is in the split"):
        suite.draw(rng(), "demo/plot#5", other)


@pytest.mark.parametrize("task_id", ["demo/plot", "demo/held-out"])
def test_splits_are_disjoint_over_2000_seeds(suite: TaskSuite, task_id: str) -> None:
    template = suite.templates[task_id]
    seen: dict[str, set] = {"train": set(), "test": set()}
    for seed in range(2000):
        params = template.draw(seed)
        seen[template.split(params)].add((params["n"], params["curve"]))
    assert not seen["train"] & seen["test"]
    assert len(seen["train"]) > len(seen["test"]) > 50
    if task_id == "demo/held-out":
        assert not {curve for _, curve in seen["train"]} & {curve for _, curve in seen["test"]}


def test_draws_of_a_split_are_in_it(suite: TaskSuite) -> None:
    same = rng(5)
    for split in ("train", "test"):
        assert {suite.draw(same, "demo/*", split).split for _ in range(50)} == {split}


def test_a_fixed_task_is_in_one_split(suite: TaskSuite) -> None:
    split = suite.get("other/fixed").split
    assert "other/fixed" in suite.ids(split)
    assert "other/fixed" not in suite.ids({"train": "test", "test": "train"}[split])
