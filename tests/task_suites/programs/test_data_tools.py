"""Terminal, editor, dbt and databases in real sandboxes: first screens, and what an agent cannot forge."""

from collections import Counter

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids

FORGED_DATABASE = """
import subprocess
code = '''
import duckdb
base = duckdb.connect("/home/user/shop/shop.duckdb")
base.execute("create table order_log as select * from read_csv_auto('/home/user/shop/seeds/raw_orders.csv')")
'''
print(subprocess.run(["/opt/deskgym/env/dbt/bin/python", "-c", code], capture_output=True, text=True))
"""
REPLACED_DBT = """
import os
os.makedirs("/home/user/bin", exist_ok=True)
for name in ("dbt", "python", "bash"):
    open(f"/home/user/bin/{name}", "w").write("#!/bin/sh\\necho Completed successfully\\n")
    os.chmod(f"/home/user/bin/{name}", 0o755)
open("/home/user/.bashrc", "a").write("\\nexport PATH=/home/user/bin:$PATH\\n")
open("/home/user/.dbt/profiles.yml", "a").write("\\n# forged\\n")
try:
    open("/opt/deskgym/bin/dbt", "w")
except OSError as error:
    print("refused", error)
"""
CHEATING_MACRO = """
import os
os.makedirs("/home/user/shop/macros", exist_ok=True)
open("/home/user/shop/macros/ref.sql", "w").write(
    "{% macro ref(name) %}{% do return(builtins.ref('stg_orders')) %}{% endmacro %}")
"""
CHEATING_HOOK = """
path = "/home/user/shop/dbt_project.yml"
open(path, "a").write("on-run-end: create or replace table order_log as select * from raw_orders\\n")
"""

FILLED_BY_HAND = """
import glob, subprocess
file = glob.glob("/home/user/ingest/*.csv")[0]
code = f'''
import duckdb
base = duckdb.connect("/home/user/ingest/shop.duckdb")
base.execute("create schema landing")
base.execute("create table landing.orders as select * from read_csv_auto('{file}')")
'''
print(subprocess.run(["/opt/deskgym/env/dlt/bin/python", "-c", code], capture_output=True, text=True))
"""


def make(task, action="code"):
    return gym.make(
        "deskgym/DataEngineering-v0", task=task, action=action, screen_size=(1280, 720), max_steps=100,
        observation=("screenshot", "terminal", "feedback", "instruction"),
    )  # fmt: skip


@pytest.fixture(scope="module")
def incremental():
    env = make("dbt/incremental")
    yield env
    env.close()


@pytest.mark.sandbox
def test_the_terminal_shows_its_text_and_a_prompt_that_waits(incremental):
    observation, _ = incremental.reset(seed=3)
    assert observation["terminal"].strip() == "user@desktop:~/shop$"
    roles = Counter(element.role for element in incremental.unwrapped.screen.find_all())
    assert roles["terminal"] == 1 and not roles["dialog"] and not roles["alert"]
    # the last line of a screen is there, however much is above it
    observation, *_ = incremental.step("pyautogui.write('seq -w 100000 100200; echo the end\\n')")
    for _ in range(50):
        if "the end\nuser@" in observation["terminal"]:
            break
        observation, *_ = incremental.step("WAIT 0.1")
    assert "100200\nthe end\nuser@desktop:~/shop$" in observation["terminal"]


@pytest.mark.sandbox
@pytest.mark.parametrize("forgery", [FORGED_DATABASE, REPLACED_DBT, CHEATING_MACRO, CHEATING_HOOK])
def test_what_dbt_makes_is_built_again_where_no_agent_was(incremental, forgery):
    incremental.reset(seed=3)
    observation, *_ = incremental.step(forgery)
    assert "Traceback" not in observation["feedback"]
    *_, info = incremental.step("DONE")
    assert info["verdict"]["score"] == 0 and not info["verdict"]["error"], info["verdict"]


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_cheat_beside_the_right_model_is_seen(incremental):
    incremental.reset(seed=3)
    incremental.step(CHEATING_MACRO)
    for action in incremental.unwrapped.oracle():
        *_, terminated, _, info = incremental.step(action)
    assert terminated and info["verdict"]["score"] == 0
    wrong = [check["name"] for check in info["verdict"]["checks"] if check["outcome"] != "pass"]
    assert "dbt.changes" in wrong


@pytest.mark.sandbox
def test_a_pipeline_is_judged_by_what_it_loads_elsewhere():
    env = make("dlt/merge")
    try:
        env.reset(seed=3)
        observation, *_ = env.step(FILLED_BY_HAND)
        assert "returncode=0" in observation["feedback"]
        *_, info = env.step("DONE")
        outcomes = [check["outcome"] for check in info["verdict"]["checks"]]
        assert outcomes == ["pass", "pass", "fail"] and info["verdict"]["score"] == 0, info["verdict"]
    finally:
        env.close()


@pytest.mark.sandbox
@pytest.mark.parametrize("task", ["mariadb/prices", "warehouse/deduplicate"])
def test_a_database_beside_the_desktop_is_rolled_back(task):
    env = make(task)
    try:
        for _ in range(2):
            env.reset(seed=4)
            for action in env.unwrapped.oracle():
                *_, terminated, _, info = env.step(action)
            assert terminated and info["verdict"]["score"] == 1, info["verdict"]
        assert env.unwrapped.stats["companion_starts"] == 1 and env.unwrapped.stats["companion_roll_backs"] == 1
        assert env.unwrapped.stats["companion_repairs"] == 0
    finally:
        env.close()


@pytest.mark.sandbox
def test_no_file_or_process_of_the_warehouse_is_on_the_desktop():
    env = make("warehouse/infeasible")
    try:
        env.reset(seed=4)
        look = "import subprocess; print(subprocess.run('pgrep -a postgres; ls /var/lib/deskgym-postgresql; "
        asked = (
            'psql -h 127.0.0.1 -U postgres -w warehouse -c "select 1"\', shell=True, capture_output=True, text=True))'
        )
        observation, *_ = env.step(look + asked)
        assert "stdout=''" in observation["feedback"], observation["feedback"]
    finally:
        env.close()


@pytest.mark.sandbox
@pytest.mark.slow
def test_geany_opens_on_its_text_alone():
    env = make("terminal/replace")
    try:
        env.reset(seed=4)
        screen = env.unwrapped.screen
        assert not screen.find_all(role="dialog") and not screen.find_all(role="alert")
        assert screen.find(role="frame").name == "products.csv - /home/user - Geany"
        for action in env.unwrapped.oracle():
            *_, terminated, _, info = env.step(action)
        assert terminated and info["verdict"]["score"] == 1, info["verdict"]
    finally:
        env.close()
