"""What is loaded from the given upstream files."""

import json
import shutil
from collections import Counter

import numpy as np
import pytest

from deskgym.task_suites import load_suite
from deskgym.task_suites.importers import spider2v
from deskgym.task_suites.importers.spider2v.collection import derived_instruction


@pytest.fixture(scope="module")
def collection(upstream):
    return spider2v.load(upstream)


def test_every_given_file_loads(collection, upstream):
    assert [str(problem) for problem in collection.problems] == []
    folders = [folder for folder in (upstream / "evaluation_examples/examples").glob("*/*") if folder.is_dir()]
    assert Counter(task.app for task in collection.tasks) == Counter(folder.parent.name for folder in folders)
    assert len(collection) == len(folders) > 300


def test_every_given_task_has_its_twin_and_its_documents(collection):
    for task in collection.tasks:
        other = "verbose" if task.variant == "abstract" else "abstract"
        twin = collection[task.counterpart]
        assert (twin.counterpart, twin.variant) == (task.id, other)
        assert collection.instruction(task, other) == twin.instruction == derived_instruction(task, other)
        assert task.tutorial and list(task.contexts) == ["txt", "md", "html"]


def test_every_given_value_is_kept(collection):
    """Nothing that a file says is dropped, apart from upstream's wrong name of dbt Cloud's settings."""
    for task in collection.tasks:
        data = json.loads(task.file.read_text())
        for steps, loaded in (
            (data["config"], task.config),
            (data["evaluator"].get("postconfig", []), task.postconfig),
        ):
            assert [step["type"] for step in steps] == [step.type for step in loaded]
            for step, read in zip(steps, loaded, strict=True):
                names = {"settings_file" if name == "setting_file" else name for name in step["parameters"]}
                assert names <= set(read.parameters)
        functions = data["evaluator"]["func"]
        many = isinstance(functions, list)
        assert [comparison.metric for comparison in task.comparisons] == (functions if many else [functions])


def test_files_that_upstream_lacks_are_named(collection):
    missing = {name for task in collection.tasks for name in task.missing}
    assert missing == {"evaluation_examples/examples/superset/all_databases.sql"}


@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("dbt/8ff98608", "jaffle_shop.zip"),
        ("dbt/8ff98608", "jaffle_shop.duckdb"),
        ("dbt/7b81c78d", "raw_orders.csv"),
        ("excel/1e8df695", ".xlsx"),
        ("jupyter/de41e397", "film_actor.csv"),
    ],
)
def test_a_given_task_without_one_of_its_files_is_not_drawn(collection, upstream, tmp_path, task, file):
    """A missing archive, gold, table or database: its task alone does not run, and says what it lacks."""
    record = collection[task]
    for task_id in (record.id, record.counterpart):
        place = tmp_path / "evaluation_examples/examples" / task_id
        shutil.copytree(upstream / "evaluation_examples/examples" / task_id, place)
    for lost in (tmp_path / "evaluation_examples/examples" / record.id).glob(f"*{file}"):
        lost.unlink()
    source = load_suite("data_engineering", source="spider2v", source_path=str(tmp_path))
    told = source.describe(record.id)["reasons"]
    assert told and all(f"{file} is not in this copy" in reason for reason in told), told
    assert source.describe(record.counterpart)["supported"]
    assert source.draw(np.random.default_rng(0)).id == record.counterpart


def test_lists(collection, upstream):
    assert {name: len(ids) for name, ids in collection.lists.items()} == {
        "test_all": len(collection),
        "test_abstract": len(collection) // 2,
        "test_verbose": len(collection) // 2,
        "test_account": 96,
        "test_non_account": 210,
        "test_one": 0,
    }
    assert [task.id[:16] for task in collection.tasks if task.notes] == ["airbyte/4c0bd03d", "airbyte/aef836e9"]
    as_published = spider2v.load(upstream, mode="paper")
    assert (len(as_published.lists["test_account"]), len(as_published.lists["test_non_account"])) == (94, 212)
    assert not any(task.notes for task in as_published.tasks)
