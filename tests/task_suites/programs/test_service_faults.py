"""Services of programs that die or are flooded in mid-episode: no reward, no error, and the next reset works."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids

CHECKS = {
    "warehouse": "sql.diff: {companion: warehouse, changes: []}",
    "mariadb": "mariadb.unchanged:",
    "fakesnow": "fakesnow.unchanged:",
    "helpdesk": "sql.diff: {companion: helpdesk, changes: []}",
    "pgadmin": "sql.diff: {companion: pgadmin, changes: []}",
}
"""By service: a check that doing nothing passes, so that a 0 is the dead service's."""
SERVERS = {"mariadb": "mariadbd", "fakesnow": "serve.py"}
"""What is killed; PostgreSQL where nothing is named."""
SLOW = ("fakesnow", "helpdesk", "pgadmin")
TASK = """
id: faults/{service}
suite: data_engineering
title: Nothing
instruction: Do nothing.
difficulty: easy
programs: [{service}]
splits: {{train: 1}}
checks:
  - {check}
oracle:
  - done:
wrong:
  nothing:
    - fail:
"""
ASK = """
import subprocess
done = subprocess.run({argv!r}, input={text!r}, capture_output=True, text=True, timeout=50)
print((done.stdout + done.stderr)[-300:])
"""
PSQL = ["psql", "postgresql://analyst:analyst@127.0.0.1/warehouse"]
FILL = "create table analytics.big as select repeat(md5(n::text), 200) from generate_series(1, 100000000) n"
"""More than the companion's disk takes: texts of 6.4 KB that are packed to some hundred bytes."""


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "faults"
    folder.mkdir()
    for service, check in CHECKS.items():
        (folder / f"{service}.yaml").write_text(TASK.format(service=service, check=check))
    env = gym.make(
        "deskgym/DataEngineering-v0", suite=str(folder.parent), action="code", observation=("feedback",),
        screen_size=(640, 480), code_timeout=60.0,
    )  # fmt: skip
    yield env
    env.close()


def reset(env, service):
    env.reset(seed=1, options={"task": f"faults/{service}"})
    return env.unwrapped.machine.companions[service]


def verdict(env):
    *_, info = env.step("DONE")
    assert "fault" not in info, info
    return info["verdict"]


@pytest.mark.sandbox
@pytest.mark.parametrize("service", [pytest.param(s, marks=[pytest.mark.slow] * (s in SLOW)) for s in CHECKS])
def test_a_service_that_dies_earns_nothing_and_the_next_reset_has_another(env, service):
    companion = reset(env, service)
    env.step("1")
    companion.run(["pkill", "-9", "-f", SERVERS.get(service, "bin/postgres")], user="guest")
    found = verdict(env)
    assert found["score"] == 0 and found["error"] is None, found
    repairs = env.unwrapped.stats["companion_repairs"]
    assert reset(env, service) is not companion and not companion.alive
    assert env.unwrapped.stats["companion_repairs"] == repairs + 1
    env.step("1")
    assert verdict(env)["score"] == 1


@pytest.mark.sandbox
@pytest.mark.slow
def test_an_agent_that_fills_the_disk_of_a_service(env):
    reset(env, "warehouse")
    said = env.step(ASK.format(argv=[*PSQL, "-c", FILL], text=""))[0]["feedback"]
    assert "TimeoutExpired" not in said, "the disk was not full in time"
    found = verdict(env)
    assert found["error"] is None, found
    assert found["score"] == 0 or "No space left" in said or "terminated abnormally" in said, (said, found)
    reset(env, "warehouse")
    env.step("1")
    assert verdict(env)["score"] == 1
