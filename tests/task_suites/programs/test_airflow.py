"""Airflow in real sandboxes: its first screen, runs, roll-back, and agents that try to forge a result."""

import ast
import re
import time

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.airflow import company, functions
from deskgym.task_suites.programs.airflow_dags import functions as texts

FORGE = """
import glob, os, re, socket, subprocess, urllib.error, urllib.request
for path in ("/var/lib/deskgym-postgresql/data", "/opt/deskgym/airflow", "/var/lib/deskgym-airflow"):
    print("file", path, os.path.exists(path))
print("server", any(b"gunicorn" in open(p, "rb").read() for p in glob.glob("/proc/[0-9]*/cmdline")))
for port in (5432, 8793):
    try:
        socket.create_connection(("127.0.0.1", port), 2); print("port", port, True)
    except OSError:
        print("port", port, False)
def status(path):
    try:
        return urllib.request.urlopen("http://127.0.0.1:8080" + path, None, 20).status
    except urllib.error.HTTPError as error:
        return error.code
lines = "".join(open(p).read() for p in glob.glob("/proc/[0-9]*/cmdline"))
token = re.search("/enter/([0-9a-f]+)", lines)[1]
print("door", status("/enter/" + token), status("/enter/" + "0" * 32), status("/enter/.."))
"""
ROGUE = """
import os
from datetime import datetime
from airflow import DAG

if os.fork() == 0:  # a process that nobody waits for
    os.setsid()
    with open("/tmp/environments", "wb") as found:
        found.write(str(os.environ).encode())  # those of others may be written over by their titles
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                found.write(open(f"/proc/{process}/environ", "rb").read())
            except OSError:
                pass
    places = ("/opt/deskgym/airflow/web.py", "/var/lib/deskgym-postgresql/data", "/var/lib/deskgym-airflow/keys")
    with open("/tmp/seen", "w") as seen:
        print(os.getuid(), *(os.access(place, os.W_OK) for place in places), file=seen)
    os.execvp("sleep", ["sleep", "4242"])
DAG("rogue", start_date=datetime(2024, 3, 1), schedule=None)
"""


def test_the_file_of_each_pipeline_is_python_and_names_its_tasks():
    for dag, pipeline in company.PIPELINES.items():
        text = company.source(dag)
        ast.parse(text)
        assert re.findall(r'task_id="(\w+)"', text) == list(pipeline.tasks)
        assert pipeline.owner in company.PEOPLE


def test_pipelines_are_found_by_tag_and_owner():
    assert functions.pipelines(tag="ingest", owner="jonas") == ["inventory_sync"]
    assert functions.pipelines(tag="ingest", owner="jonas", more="a") == ["a", "inventory_sync"]
    assert functions.pipeline("sales_daily_etl", day=1, task=5)["task"] == "clean_orders"
    assert functions.from_("sales_daily_etl", "load_warehouse") == ["load_warehouse", "refresh_report"]


def test_parts_of_a_file_are_replaced_and_a_missing_part_is_said():
    assert "retries=3" in texts.file("sales_daily_etl", [["catchup=False", "retries=3"]])
    with pytest.raises(ValueError, match="has no 'nothing'"):
        texts.file("sales_daily_etl", [["nothing", "more"]])
    assert texts.ending("web_logs_ingest", "new") in texts.file(
        "web_logs_ingest", [[texts.ending("web_logs_ingest"), texts.ending("web_logs_ingest", "new")]]
    )


def test_totals_leave_out_what_is_no_number():
    sums = texts.totals("id,region,amount\n1,north,1.5\n2,north,n/a\n3,south,2.25\n4,north,2\n")
    assert sums == [["north", 3.5], ["south", 2.25]]
    assert texts.printed(sums) == "north|3.50\nsouth|2.25"
    for seed in range(3):
        text = texts.amounts(seed, "region", 30)
        assert len(text.splitlines()) == 31 and texts.totals(text) != texts.totals(texts.amounts(seed, "region", 55))


@pytest.fixture(scope="module")
def env():
    env = gym.make("deskgym/DataEngineering-v0", task="airflow/pause", action="code", screen_size=(1280, 720))
    yield env
    env.close()


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_first_screen_is_clean_and_the_agent_reaches_pages_only(env):
    env.reset(seed=1)
    screen = env.unwrapped.screen
    assert screen.find(role="document web", name="DAGs - Airflow")
    assert not screen.find_all(name="*does not appear*") and not screen.find_all(role="alert")
    said = env.step(FORGE)[0]["feedback"]
    assert "True" not in said, said
    assert "door 403 403 403" in said, said
    assert env.step("DONE")[4]["verdict"]["score"] == 0


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_run_goes_through_and_the_next_episode_knows_nothing_of_it(env):
    env.reset(seed=2)
    companion = env.unwrapped.machine.companions["airflow"]
    auth = ("admin", "admin")
    body, kind = '{"conf": {"region": "north"}}', {"Content-Type": "application/json"}
    url = "/api/v1/dags/sales_daily_etl/dagRuns"
    companion.http("PATCH", "/api/v1/dags/sales_daily_etl", body='{"is_paused": false}', headers=kind, auth=auth)
    assert companion.http("POST", url, body=body, headers=kind, auth=auth).status == 200
    for _ in range(120):
        if companion.sql("SELECT 1 FROM dag_run WHERE run_type = 'manual' AND state = 'success'"):
            break
        env.step("WAIT 1")
    else:
        pytest.fail(str(companion.sql("SELECT task_id, state FROM task_instance WHERE run_id LIKE 'manual%'")))
    before = companion.machine
    env.reset(seed=3)
    companion = env.unwrapped.machine.companions["airflow"]
    assert companion.machine is before, "the companion was replaced"
    assert companion.sql("SELECT count(*) AS n FROM dag_run WHERE run_type = 'manual'") == [{"n": 0}]


@pytest.mark.slow
@pytest.mark.sandbox
def test_code_in_a_dag_file_has_a_user_of_its_own_and_ends_with_its_episode():
    with gym.make(
        "deskgym/DataEngineering-v0", task="airflow_dags/order", action="code", screen_size=(1280, 720)
    ) as env:
        env.reset(seed=1)
        companion = env.unwrapped.machine.companions["airflow"]
        env.step(f"open('/home/user/dags/rogue.py', 'w').write({ROGUE!r})")
        for _ in range(60):
            if seen := companion.run(["cat", "/tmp/seen"]).stdout:
                break
            time.sleep(1)
        assert seen.split() == [b"1", b"False", b"False", b"False"]
        secret = companion.secrets["AIRFLOW__WEBSERVER__SECRET_KEY"].encode()
        assert b"AIRFLOW__" in (found := companion.run(["cat", "/tmp/environments"]).stdout) and secret not in found
        assert companion.run(["pgrep", "-xf", "sleep 4242"]).returncode == 0
        env.reset(seed=2)
        assert env.unwrapped.machine.companions["airflow"].run(["pgrep", "-xf", "sleep 4242"]).returncode == 1
