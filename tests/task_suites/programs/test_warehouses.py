"""The stand-ins for cloud warehouses in a real sandbox: what an agent cannot reach through them, and the roll-back."""

from types import SimpleNamespace

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids
from deskgym.task_suites.programs.fakesnow import checks
from deskgym.task_suites.programs.fakesnow.program import ask
from deskgym.task_suites.programs.pgadmin.service import EPISODE, USER

LOG_IN = r"""
import http.cookiejar, json, re, urllib.error, urllib.request
root, jar = "http://127.0.0.1:5050", http.cookiejar.CookieJar()
browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
headers = {"Content-Type": "application/json"}
TOKEN = "csrf_token'?\]? *= *['\"]([^'\"]+)"
def ask(path, data=None, method=None):
    body = None if data is None else json.dumps(data).encode()
    try:
        with browser.open(urllib.request.Request(root + path, body, headers, method=method), timeout=20) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
"""
FORGE = (
    LOG_IN
    + """
print("enter", ask("/enter/" + "0" * 32 + "/")[0], ask("/enter/known/")[0], ask("/enter/known/")[0])
headers["X-pgA-CSRFToken"] = re.search(TOKEN, ask("/browser/js/utils.js")[1])[1]
socket = {"host": "/var/lib/deskgym-postgresql/run", "port": 5432, "role": None, "password": None, "service": None}
print("server", ask("/browser/server/obj/1/", {"name": "x", "db": "postgres", "username": "postgres", **socket})[0])
print("change", ask("/browser/server/obj/1/1", {"username": "postgres"}, "PUT")[0])
print("tools", *(ask(f"/{tool}/job/1", {"file": "x"})[0] for tool in ("import_export", "restore", "backup")))
print("shell", ask("/psql/panel/1?sid=1&sgid=1&did=1", {})[0])
for user in ("postgres", "nobody"):
    adhoc = {"server_name": user, "did": "postgres", "user": user, "connection_params": [], **socket}
    print(user, ask("/misc/workspace/adhoc_connect_server", adhoc)[0])
for name in ("load", "save"):
    sent = {"file_name": "/../../key", "file_content": "x", "storage": "my_storage"}
    print(name, "Access denied" in ask(f"/file_manager/{name}_file/", sent)[1])
print("session", next(cookie.value for cookie in jar if cookie.name == "pga4_session"))
"""
)
AGAIN = (
    LOG_IN
    + """
headers["Cookie"] = "pga4_session={session}"
if token := re.search(TOKEN, ask("/browser/js/utils.js")[1]):
    headers["X-pgA-CSRFToken"] = token[1]
print(ask("/browser/server/obj/1/")[0], "Warehouse" in ask("/browser/server/obj/1/")[1])
"""
)
STATEMENTS = """
import json, os, urllib.error, urllib.request
open("/home/user/try.py", "w").write('''
import snowflake.connector
connection = snowflake.connector.connect(connection_name="warehouse", session_parameters={"FAKESNOW_DB_PATH": "/tmp"})
for sql in ("select * from read_csv('/etc/passwd')", "copy (select 1) to '/tmp/x.csv'", "select 1"):
    try:
        print(connection.cursor().execute(sql).fetchall())
    except snowflake.connector.errors.Error as error:
        print("refused")
''')
print(os.popen("/opt/deskgym/bin/python /home/user/try.py 2>&1").read())
def ask(path, key, data):
    request = urllib.request.Request("http://127.0.0.1:8180" + path, json.dumps(data).encode(), {"X-Key": key})
    try:
        return urllib.request.urlopen(request, timeout=20).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)
print("door", ask("/deskgym", "", {"do": "tables"}), ask("/deskgym", "x" * 32, {"do": "reset"}))
evil = "/session/v1/login-request?databaseName=x;attach%20'/tmp/evil.db'%20as%20evil"
print("login", json.loads(ask(evil, "", {"data": {"SESSION_PARAMETERS": {}}}))["success"])
"""


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "warehouses"
    folder.mkdir()
    for service in ("pgadmin", "fakesnow"):
        (folder / f"{service}.yaml").write_text(TASK.format(service=service))
    env = gym.make("deskgym/DataEngineering-v0", suite=str(folder.parent), action="code", observation=("feedback",))
    yield env
    env.close()


TASK = """
id: warehouses/{service}
suite: data_engineering
title: Nothing
instruction: Do nothing.
difficulty: easy
splits: {{train: 1}}
setup:
  - {service}.load: {{tables: {{orders: [[order_id], [1], [2]]}}}}
checks:
  - file.exists: /home/user/nothing
oracle:
  - done:
wrong:
  nothing:
    - done:
"""


@pytest.mark.sandbox
def test_pgadmin_gives_no_way_to_the_server_its_files_or_other_roles(env):
    env.reset(seed=1, options={"task": "warehouses/pgadmin"})
    companion = env.unwrapped.machine.companions["pgadmin"]
    companion.put(f"{EPISODE}/token-known", b"", owner=USER, mode=0o600)
    said = dict(line.split(" ", 1) for line in env.step(FORGE)[0]["feedback"].splitlines())
    session = said.pop("session")
    assert said == {
        "enter": "403 200 403", "server": "403", "change": "403", "tools": "403 403 403", "shell": "403",
        "postgres": "401", "nobody": "401", "load": "True", "save": "True",
    }  # fmt: skip
    assert env.step(AGAIN.replace("{session}", session))[0]["feedback"].strip() == "200 True"
    env.reset(seed=1, options={"task": "warehouses/pgadmin"})
    assert env.unwrapped.machine.companions["pgadmin"] is companion
    companion.put(f"{EPISODE}/token-known", b"", owner=USER, mode=0o600)
    env.step(LOG_IN + "ask('/enter/known/')")  # as the next episode's setup does
    assert "True" not in env.step(AGAIN.replace("{session}", session))[0]["feedback"], "the login outlives its episode"


@pytest.mark.sandbox
def test_fakesnow_opens_no_files_and_tells_nobody_its_tables(env):
    env.reset(seed=1, options={"task": "warehouses/fakesnow"})
    companion = env.unwrapped.machine.companions["fakesnow"]
    lines = env.step(STATEMENTS)[0]["feedback"].split("\n")
    assert [line for line in lines if line] == ["refused", "refused", "[(1,)]", "door 404 404", "login False"]
    assert companion.run(["test", "-e", "/tmp/x.csv", "-o", "-e", "/tmp/evil.db"]).returncode
    # a table that is too large to be compared is not taken for the same
    big = ["create table big as select * from range(10001)"]
    ask(companion, do="execute", database="SHOP", schema="PUBLIC", statements=big)
    final = SimpleNamespace(companions={"fakesnow": companion}, baseline=lambda key: ask(companion, do="tables"))
    passed, said = checks.unchanged(final)
    assert not passed and "SHOP.PUBLIC.BIG" in said
    env.reset(seed=2, options={"task": "warehouses/fakesnow"})
    assert env.unwrapped.machine.companions["fakesnow"] is companion
