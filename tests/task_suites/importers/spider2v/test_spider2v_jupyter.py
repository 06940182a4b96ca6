"""Spider2-V's notebooks: which run here, how they are solved, and one of them in a real sandbox."""

import json

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.machines.packages import missing_packages
from deskgym.task_suites.importers import spider2v
from deskgym.task_suites.importers.spider2v.apps.jupyter import spoilt
from deskgym.task_suites.importers.spider2v.tasks import has_oracle, reasons

TASK = "jupyter/00b43a0a"


def test_what_is_missing_of_a_gold_file(tmp_path):
    table = tmp_path / "gold.csv"
    table.write_bytes(b"a\n1\n2\n")
    assert spoilt(table) == b"a\n1\n"
    code = {"cell_type": "code", "source": ["1"], "outputs": [{"output_type": "stream"}]}
    book = tmp_path / "gold.ipynb"
    book.write_text(json.dumps({"cells": [code, {**code, "outputs": []}, {"cell_type": "markdown", "source": "x"}]}))
    first, second, _ = json.loads(spoilt(book))["cells"]
    assert (first["source"], first["outputs"], second["source"]) == (["1"], [], [])


def test_all_given_notebooks_run_but_for_those_that_download(upstream):
    collection = spider2v.load(upstream)
    tasks = [task for task in collection.tasks if task.app == "jupyter"]
    against = {task.id[:16]: reasons(task) for task in tasks if reasons(task)}
    assert len(tasks) == 26
    assert against == dict.fromkeys(
        ("jupyter/30f3108a", "jupyter/b779944b"), ["needs the California Housing data set from the internet"]
    )
    assert sum(has_oracle(task, "corrected") for task in tasks) == 24


@pytest.fixture(scope="module")
def env(upstream):
    if missing_packages(("chromium",)):
        pytest.skip("Chromium is not installed")
    made = gym.make(
        "deskgym/DataEngineering-v0", source="spider2v", source_path=str(upstream), task=TASK, action="code",
        observation=("instruction",), screen_size=(1280, 720), max_steps=30,
    )  # fmt: skip
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(("agent", "score"), [("oracle", 1), ("noop", 0)])
def test_a_table_that_a_notebook_makes(env, agent, score):
    env.reset(seed=0)
    inner = env.unwrapped
    assert inner.screen.find(role="menu bar") and not inner.screen.find_all(role="dialog")
    for action in inner.oracle() if agent == "oracle" else [inner.done]:
        *_, terminated, _, info = env.step(action)
    assert terminated and info["verdict"]["score"] == score and info["verdict"]["error"] is None, info
