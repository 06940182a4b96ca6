"""Views, and files in a stage, as their checks judge them in real sandboxes: what was typed in is not what follows."""

import gymnasium as gym
import pytest

import deskgym  # noqa: F401 - registers the ids

TABLES = "{orders: [[channel, n], [web, 1], [web, 2], [store, 3]]}"
CHECKS = {
    "warehouse": (
        "views.follows: {companion: warehouse, view: analytics.totals, columns: [channel, n], rows: [[fax, 9]], "
        "tables: {orders: [[channel, n], [fax, 4], [fax, 5]]}}"
    ),
    "fakesnow": (
        "fakesnow.follows: {view: SHOP.PUBLIC.TOTALS, change: DELETE FROM SHOP.PUBLIC.ORDERS WHERE n = 2, "
        "rows: [[web, 1], [store, 3]]}"
    ),
    "stage": 'fakesnow.staged: {stage: SHOP.PUBLIC.LANDING, file: orders.csv, text: "a,b\\n1,2\\n"}',
}
TASK = """
id: views/{name}
suite: data_engineering
title: Nothing
instruction: Do nothing.
difficulty: easy
programs: [{programs}]
splits: {{train: 1}}
setup:
  - {service}.load: {{tables: {tables}}}
checks:
  - {check}
oracle:
  - done:
wrong:
  nothing:
    - fail:
"""
VIEW = "create view analytics.totals"
QUERY = "select channel, sum(n) as n from orders group by 1"
TYPED = "select * from (values ('web', 3), ('store', 3)) as t (channel, n)"
PSQL = """
import subprocess
print(subprocess.run(["psql", "postgresql://analyst:analyst@127.0.0.1/warehouse", "-qAtX", "-c", {sql!r}],
                     capture_output=True, text=True, timeout=30))
"""
SNOW = """
import subprocess
open("/home/user/orders.csv", "w").write({text!r})
print(subprocess.run(["/opt/deskgym/bin/snow", "sql", "-q", {sql!r}], capture_output=True, text=True, timeout=60))
"""
STAGE = "create stage landing; put file:///home/user/orders.csv @landing"


@pytest.fixture(scope="module")
def env(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks") / "views"
    folder.mkdir()
    for name, check in CHECKS.items():
        service = "warehouse" if name == "warehouse" else "fakesnow"
        programs = "warehouse, views" if name == "warehouse" else "fakesnow"
        text = TASK.format(name=name, programs=programs, service=service, check=check, tables=TABLES)
        (folder / f"{name}.yaml").write_text(text)
    env = gym.make(
        "deskgym/DataEngineering-v0", suite=str(folder.parent), action="code", observation=("feedback",),
        screen_size=(640, 480), code_timeout=90.0,
    )  # fmt: skip
    yield env
    env.close()


def verdict(env, name, code):
    env.reset(seed=1, options={"task": f"views/{name}"})
    said = env.step(code)[0]["feedback"]
    *_, info = env.step("DONE")
    assert "fault" not in info, info
    found = info["verdict"]
    assert found["error"] is None, (said, found)
    return found["score"], found["checks"][-1]["message"], said


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("name", "ask", "sql", "score", "words"),
    [
        ("warehouse", PSQL, f"{VIEW} as {QUERY}", 1, "rows are right"),
        ("warehouse", PSQL, f"{VIEW} as {TYPED}", 0, "over other tables"),
        ("warehouse", PSQL, "select 1", 0, "there is no view analytics.totals"),
        ("warehouse", PSQL, f"create table analytics.t (n int); {VIEW} as select * from analytics.t", 0, "analytics.t"),
        ("fakesnow", SNOW, f"create view totals as {QUERY}", 1, "rows are right"),
        ("fakesnow", SNOW, f"create view totals as {TYPED}", 0, "after DELETE"),
        ("fakesnow", SNOW, "select 1", 0, "cannot be read"),
        ("stage", SNOW, STAGE, 1, "orders.csv"),
        ("stage", SNOW, STAGE.replace("orders", "others"), 0, "right is orders.csv"),
    ],
)  # fmt: skip
def test_what_follows_its_tables_earns_and_what_was_typed_in_does_not(env, name, ask, sql, score, words):
    text = "a,b\n1,2\n"
    code = ask.format(sql=sql, text=text)
    if "others" in sql:
        code = code.replace('orders.csv", "w', 'others.csv", "w')
    earned, message, said = verdict(env, name, code)
    assert earned == score and words in message, (message, said)


@pytest.mark.sandbox
def test_a_staged_file_with_another_text_or_that_cannot_be_unpacked_earns_nothing(env):
    assert verdict(env, "stage", SNOW.format(sql=STAGE, text="a,b\n1,3\n"))[0] == 0
    broken = SNOW.format(sql=STAGE.replace("orders.csv", "orders.csv.gz"), text="no gzip")
    broken = broken.replace('orders.csv", "w', 'orders.csv.gz", "w')
    assert verdict(env, "stage", broken)[0] == 0
