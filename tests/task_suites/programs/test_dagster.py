"""Dagster in real sandboxes: its first screen, a run that is under way at the end of an episode, and what is forged."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.dagster import company, functions
from deskgym.task_suites.programs.dagster.program import launch_run

FORGE = """
import os, socket
for path in ("/var/lib/deskgym-postgresql/data", "/opt/deskgym/dagster", "/var/lib/deskgym-dagster"):
    print("file", path, os.path.exists(path))
for port in (5432, 4000):
    try:
        socket.create_connection(("127.0.0.1", port), 2); print("port", port, True)
    except OSError:
        print("port", port, False)
"""
ROLE = "setpriv --reuid=daemon --regid=daemon --clear-groups psql -h /var/lib/deskgym-postgresql/run -d dagster -c"


def test_figures_of_a_run_are_those_that_its_log_has():
    for name, pipeline in company.JOBS.items():
        rows = functions.report(name)
        assert [row[0] for row in rows] == list(pipeline.ops) and len({row[2] for row in rows}) == len(rows)
        found = functions.figures(name, 1)
        assert [found["op"], found["rows"], found["rejected"]] == rows[1]
        assert functions.report(name, swapped=True)[1] == [found["op"], found["rejected"], found["rows"]]
    assert functions.csv([["a", 1, 2]]) == "op,rows,rejected\na,1,2\n"


def test_jobs_groups_schedules_and_sensors_fit_together():
    assert functions.group("stock") == ["raw_stock", "reorder_list", "stock_levels"]
    assert {job for job, _ in company.SCHEDULES.values()} | set(company.SENSORS.values()) <= company.JOBS.keys()
    assert functions.job("sales_etl")["failed"] == "join_customers"
    assert functions.sensor("delivery_sensor", 7)["config"] == {"ops": {"fetch_deliveries": {"config": {"batch": 7}}}}


@pytest.fixture(scope="module")
def env():
    env = gym.make("deskgym/DataEngineering-v0", task="dagster/schedule", action="code", screen_size=(1280, 720))
    env.reset(seed=1)
    yield env
    env.close()


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_first_screen_is_clean_and_a_run_ends_with_its_episode(env):
    screen = env.unwrapped.screen
    assert screen.find(role="page tab", name="Schedules", timeout=60.0)
    assert not screen.find_all(role="dialog") and not screen.find_all(name="*Dagster University*")
    said = env.step(FORGE)[0]["feedback"]
    assert "True" not in said and said.count("False") == 5, said
    companion = env.unwrapped.machine.companions["dagster"]
    before, base = companion.machine, companion.sql("SELECT count(*) AS n FROM runs")
    launch_run(companion, "archive_history", {})
    assert companion.run(["pgrep", "-U", "daemon", "-f", "multiprocessing[.]spawn"]).returncode == 0
    env.reset(seed=2)
    companion = env.unwrapped.machine.companions["dagster"]
    assert companion.machine is before, "the companion was replaced"
    assert companion.sql("SELECT count(*) AS n FROM runs") == base
    assert companion.run(["pgrep", "-U", "daemon", "-f", "multiprocessing[.]spawn"]).returncode == 1


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO runs (run_id, status) VALUES ('x', 'SUCCESS')",
        "DELETE FROM runs",
        "UPDATE runs SET pipeline_name = 'x'",
        "UPDATE runs SET run_body = replace(run_body, 'north', 'south')",
        "UPDATE runs SET run_body = NULL",
        "UPDATE runs SET status = 'SUCCESS' WHERE status = 'FAILURE'",
        "UPDATE runs SET status = NULL WHERE status = 'FAILURE'",
        "DELETE FROM event_logs",
        "INSERT INTO jobs (job_origin_id, status) VALUES ('x', 'RUNNING')",
        "UPDATE instigators SET status = 'RUNNING'",
        "ALTER TABLE runs DISABLE TRIGGER ALL",
    ],
)
def test_what_runs_code_can_neither_make_or_change_a_run_nor_start_a_schedule(env, statement):
    machine = env.unwrapped.machine.companions["dagster"].machine
    done = machine.run([*ROLE.split(), statement], user="guest")
    assert done.returncode != 0, done.stdout
    assert b"permission denied" in done.stderr or b"must be owner" in done.stderr, done.stderr


@pytest.mark.slow
@pytest.mark.sandbox
def test_what_an_agents_code_has_left_is_gone_after_a_reset_and_it_can_make_no_run():
    env = gym.make("deskgym/DataEngineering-v0", task="dagster_code/asset", action="code", screen_size=(1280, 720))
    try:
        env.reset(seed=1)
        machine = env.unwrapped.machine.companions["dagster"].machine
        left = "touch /tmp/left; (setsid sleep 1234 >/dev/null 2>&1 </dev/null &)"
        assert machine.run(["bash", "-c", left], user="games").returncode == 0
        assert machine.run(["pgrep", "-U", "games", "-f", "sleep 1234"], user="guest").returncode == 0
        insert = "INSERT INTO runs (run_id, status) VALUES ('x', 'SUCCESS')"
        done = machine.run([*ROLE.replace("daemon", "games").split(), insert], user="guest")
        assert done.returncode != 0 and b"permission denied" in done.stderr
        env.reset(seed=2)
        assert env.unwrapped.machine.companions["dagster"].machine is machine, "the companion was replaced"
        found = "pgrep -U games -f 'sleep 1234' || [ -e /tmp/left ]"
        assert machine.run(["bash", "-c", found], user="guest").returncode == 1
        assert machine.run(["pgrep", "-U", "daemon"], user="guest").returncode == 1, (
            "it could be made to work for games"
        )
    finally:
        env.close()
