"""Superset in a real sandbox: its first screen, what no agent reaches, and logins that end with their episode."""

import json
from collections import Counter

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.superset import functions, shop
from deskgym.task_suites.programs.superset.checks import plain
from deskgym.task_suites.programs.superset.service import EPISODE, USER

ENTER = """
import http.cookiejar, json, os, urllib.error, urllib.request
root, jar = "http://127.0.0.1:8088", http.cookiejar.CookieJar()
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
def ask(path, data=None, headers=None, method=None):
    sent = None if data is None else json.dumps(data).encode()
    headers = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(root + path, sent, headers, method=method)
    try:
        answer = browser.open(request, timeout=60)
        return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
"""
FORGE = (
    ENTER
    + """
for path in ("/var/lib/deskgym-superset", "/opt/deskgym/superset", "/var/lib/deskgym-postgresql/data"):
    print("file", os.path.exists(path))
print("entered", ask("/enter/known/")[0], ask("/enter/known/")[0], ask("/enter/..%2fsecret/")[0])
for uri in (
    "sqlite:////var/lib/deskgym-superset/superset.db", "shillelagh://", "shillelagh+safe://", "gsheets://", "superset://",
    "postgresql://postgres@127.0.0.1:5432/superset", "postgresql://nobody@/superset?host=/var/lib/deskgym-postgresql/run",
):
    status, text = ask("/api/v1/database/", {"database_name": uri, "sqlalchemy_uri": uri})
    print("database", status)
    print("changed", ask("/api/v1/database/1", {"sqlalchemy_uri": uri}, method="PUT")[0])
asked = {"engine": "gsheets", "configuration_method": "dynamic_form", "parameters": {"catalog": {}}, "driver": "apsw"}
print("asked", ask("/api/v1/database/validate_parameters/", asked)[0])
for sql in (
    "SELECT pg_read_file('/var/lib/deskgym-superset/key')",
    "COPY orders TO PROGRAM 'id'",
    "UPDATE orders SET quantity = 0",
):
    print("sql", ask("/api/v1/sqllab/execute/", {"database_id": 1, "sql": sql, "runAsync": False})[0])
"""
)
TOKEN = ENTER + (
    'body = {"username": "admin", "password": "admin", "provider": "db"}\n'
    'print(json.loads(ask("/api/v1/security/login", body)[1])["access_token"], ask("/enter/known/")[0],\n'
    '      next(cookie.value for cookie in jar if cookie.name == "session"))\n'
)
AGAIN = ENTER + (
    'print(ask("/api/v1/chart/", headers={"Authorization": "Bearer TOKEN"})[0],\n'
    '      ask("/api/v1/me/", headers={"Cookie": "session=SESSION"})[0])\n'
)


def test_the_shop_is_the_same_for_everybody():
    assert shop.rows("orders") == shop.rows("orders")
    for table, columns in shop.TABLES.items():
        assert {len(row) for row in shop.rows(table)} == {len(columns)} == {functions.column_count(table)}


def test_busy_counts_the_orders_after_the_shift():
    everything = functions.busy("region", 1, 5)
    assert sum(row["orders"] for row in everything) == len(shop.rows("orders"))
    some = {row["region"]: row["orders"] for row in functions.busy("region", 6, 5)}
    assert all(some[row["region"]] < row["orders"] for row in everything)
    assert functions.busy_number("region", "North", 6, 5) == some["North"]
    assert functions.busy("region", 6, 4) != functions.busy("region", 6, 5)


@pytest.mark.parametrize(
    "value, text",
    [
        ({"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": "revenue"}}, "SUM(revenue)"),
        ({"expressionType": "SQL", "sqlExpression": 'sum( "revenue" )'}, "SUM(revenue)"),
        ([], None),
        (["region", None], ["region"]),
        ("None", None),
        (7, "7"),
        (
            [{"clause": "WHERE", "subject": "day", "operator": "TEMPORAL_RANGE", "comparator": "No filter",
              "expressionType": "SIMPLE"}],
            None,
        ),
        (
            {"clause": "WHERE", "subject": "region", "operator": "IN", "comparator": ["West", "East"],
             "expressionType": "SIMPLE"},
            "region IN East, West",
        ),
        (
            {"clause": "WHERE", "subject": "region", "operator": "IN", "comparator": ["West"],
             "expressionType": "SIMPLE"},
            "region == West",
        ),
    ],
)  # fmt: skip
def test_a_setting_is_read_as_a_person_would_write_it(value, text):
    assert plain(json.loads(json.dumps(value))) == text


@pytest.fixture(scope="module")
def env():
    env = gym.make("deskgym/DataEngineering-v0", task="superset/chart-table", action="code", screen_size=(1280, 720))
    yield env
    env.close()


def known(env):
    """Let the agent log in as the administrator, as who takes Chromium's session can."""
    companion = env.unwrapped.machine.companions["superset"]
    companion.put(f"{EPISODE}/token-known", b"admin", owner=USER, mode=0o600)
    return companion


@pytest.mark.slow
@pytest.mark.sandbox
def test_nothing_lies_over_the_first_screen(env):
    env.reset(seed=1)
    roles = Counter(element.role for element in env.unwrapped.screen.find_all())
    assert not roles["dialog"] and not roles["alert"] and not roles["notification"]
    assert env.unwrapped.screen.find(role="push button", name="trash", timeout=20)  # one beside each chart


@pytest.mark.slow
@pytest.mark.sandbox
def test_an_administrator_of_superset_does_not_reach_its_own_data(env):
    env.reset(seed=1)
    known(env)
    said = env.step(FORGE)[0]["feedback"].split("\n")
    assert said[:3] == ["file False"] * 3 and said[3] == "entered 200 403 404"
    statuses = [int(line.split()[1]) for line in said[4:22]]
    assert len(statuses) == 18 and all(400 <= status <= 500 for status in statuses), said
    verdict = env.step("DONE")[4]["verdict"]
    assert verdict["score"] == 0 and verdict["error"] is None


@pytest.mark.slow
@pytest.mark.sandbox
def test_no_login_outlives_its_episode(env):
    env.reset(seed=1)
    companion = known(env)
    token, entered, session = env.step(TOKEN)[0]["feedback"].split()
    again = AGAIN.replace("TOKEN", token).replace("SESSION", session)
    assert entered == "200" and env.step(again)[0]["feedback"].split() == ["200", "200"]
    env.reset(seed=2)
    assert env.unwrapped.machine.companions["superset"] is companion
    assert env.step(again)[0]["feedback"].split() == ["422", "401"]  # flask-jwt answers 422 to a wrong signature
