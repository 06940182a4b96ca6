"""JupyterLab: its data, its notebooks, what they do when they are run again, and a task in a real sandbox."""

import json
import sqlite3

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.evaluation.predicates import Predicate
from deskgym.envs.machines import MachineConfig, create_machine
from deskgym.envs.provision.layers import layer_paths
from deskgym.task_suites.programs.jupyterlab import checks, functions
from deskgym.task_suites.programs.jupyterlab.notebooks import notebook, sqlite
from deskgym.task_suites.programs.jupyterlab.rerun import rerun
from deskgym.task_suites.programs.jupyterlab.server import HOME

PATH, DATA = "/home/user/work/a.ipynb", "/home/user/work/a.csv"
CHART = """
import matplotlib.pyplot as plt
plt.bar(["x", "y"], [3, 5])
plt.title("T")
plt.ylabel("n")
plt.show()
"""


@pytest.mark.parametrize("seed", range(5))
def test_orders_are_drawn_by_the_seed_and_dirt_can_be_undone(seed):
    table = functions.orders(seed)
    assert table == functions.orders(seed) != functions.orders(seed + 1)
    dirty = functions.dirty(seed)
    kept = {row[0] for row in functions.tidy(dirty)[1:]}
    assert len(dirty) == len(table) + 3 and functions.tidy(dirty) != dirty
    assert [row for row in table[1:] if row[0] in kept] == sorted(functions.tidy(dirty)[1:])
    assert len(kept) == len(table) - 1 - 4


def test_what_is_right_to_do_with_orders():
    table = [["order", "region", "units", "price"], [1, "South", 2, 5.0], [2, "North", 1, 7.0], [3, "South", 3, 1.0]]
    assert functions.totals(table, "region", "units") == [["region", "units"], ["North", 1], ["South", 5]]
    assert functions.totals(table, "region", "units", 2) == [["region", "units"], ["South", 5]]
    assert functions.bars(table, "region", "orders") == [["North", 1], ["South", 2]]
    assert functions.revenue(table, "region", 2) == [["region", "revenue"], ["South", 13.0]]
    assert functions.worth(table, 2) == 13.0
    assert functions.csv(table[:2]) == "order,region,units,price\n1,South,2,5.0\n"
    assert functions.postage(5, 2, 1, [0.4, 1, 1.1, 3]) == [5, 5, 7, 9]


def test_a_notebook_and_a_database_are_what_is_asked_for():
    made = notebook(["a = 1", {"markdown": "# T"}, {"code": "print(a)", "prints": "1\n"}], "jupyterlab")
    assert [cell["cell_type"] for cell in made["cells"]] == ["code", "markdown", "code"]
    assert made["metadata"]["kernelspec"]["display_name"] == "Python (jupyterlab)"
    assert made["cells"][2]["outputs"][0]["text"] == "1\n" and made["cells"][0]["execution_count"] is None
    with sqlite3.connect(":memory:") as base:
        base.deserialize(sqlite({"order": [["order", "n"], [1, "x"], [2, "y"]]}))
        assert base.execute('SELECT n FROM "order" WHERE "order" = 2').fetchall() == [("y",)]


@pytest.fixture(scope="module")
def machines():
    config = MachineConfig(screen_size=None, layers=layer_paths([HOME]))
    with create_machine("sandbox", config) as machine, create_machine("sandbox", config) as clean:
        yield machine, clean


@pytest.fixture
def final(machines):
    """The state that an agent left in which there is this notebook: cells, or any text."""
    machine, clean = machines

    def fresh(**_):
        clean.restore(None)
        return clean

    def made(cells):
        machine.put(PATH, (cells if isinstance(cells, str) else json.dumps(notebook(cells))).encode())
        return FinalState(machine, "done", acted=True, clean_machine=fresh)

    return made


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_notebook_is_run_again_on_other_data(final):
    state = final(["import pandas as pd\ndf = pd.read_csv('a.csv')", "df.to_csv('b.csv', index=False)", CHART])
    given = {DATA: "v\n1\n2\n"}
    found = rerun(state, PATH, given, ("df['v'].sum()", "drawn()"), ("/home/user/work/b.csv", "/home/user/work/c.csv"))
    total, (axes,) = found.answers
    assert total == 3 and found.files == ["v\n1\n2\n", None]
    assert (axes["title"], axes["y"], axes["kind"], axes["bars"]) == ("T", "n", "bar", [["x", 3], ["y", 5]])
    assert checks.writes(state, PATH, "/home/user/work/b.csv", [["v"], [1], [2]], given)[0]
    assert not checks.writes(state, PATH, "/home/user/work/b.csv", [["v"], [1], [3]], given)[0]
    assert not checks.result(state, PATH, "len(df)", Predicate.parse({"equals": 3}), given)[0]


@pytest.mark.slow
@pytest.mark.sandbox
def test_outputs_that_were_not_made_by_running_are_found(final):
    right = [{"code": "a = 2", "prints": ""}, {"code": "print(a)", "prints": "2\n"}]
    assert checks.executed(final(["a = 2", {"code": "print(a)", "prints": "2\n"}]), PATH)[0] is False
    book = notebook(right)
    book["cells"][0]["outputs"] = []
    assert checks.executed(final(json.dumps(book)), PATH)[0]
    book["cells"][1]["outputs"][0]["text"] = "3\n"
    passed, message = checks.executed(final(json.dumps(book)), PATH)
    assert not passed and "it gives" in message


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (["1 / 0"], "ZeroDivisionError"),
        (["import os\nos._exit(1)"], "DeadKernelError"),
        ("{", "not JSON"),
        ('{"nbformat": 3, "worksheets": []}', "format 3"),
        ('{"nbformat": 4, "cells": [{"cell_type": "code", "source": 7, "outputs": []}]}', "no notebook"),
        ('{"nbformat": 4, "cells": 7}', "no notebook"),
    ],
)
def test_a_notebook_that_cannot_be_run_fails_and_says_why(final, content, why):
    with pytest.raises(CheckFailed, match=why):
        rerun(final(content), PATH, {})


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_task_from_its_first_screen_to_its_verdict():
    env = gym.make("deskgym/DataEngineering-v0", task="jupyterlab/fill-function", screen_size=(1280, 720), max_steps=90)
    try:
        env.reset(seed=5)
        inner = env.unwrapped
        screen = inner.screen
        assert screen.find(role="page tab", name="parcels.ipynb")
        assert not screen.find_all(role="dialog") and not screen.find_all(role="alert")
        assert inner.machine.run(["pgrep", "-x", "node|npm"]).returncode == 1
        for action in inner.oracle():
            *_, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                break
        assert info["verdict"]["score"] == 1, info["verdict"]
    finally:
        env.close()
