"""Metrics of JSON, YAML, and what a service says."""

import json

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from metric_scores import scores

from deskgym.task_suites.importers.spider2v.metrics import GoldBroken

PROFILE = """
jaffle_shop:
  outputs:
    dev: {type: duckdb, path: /x/jaffle_shop.duckdb, threads: 4}
  targets: [{name: dev, live: true}, {name: prod, live: false}]
"""
RULES = [
    ["match", ["jaffle_shop", "outputs", "dev", "type"], "duckdb"],
    ["contain", ["jaffle_shop", "outputs", "dev", "path"], "jaffle_shop.duckdb"],
    ["in", ["jaffle_shop", "outputs", "dev", "threads"], [1, 4]],
    ["not_null", ["jaffle_shop", "targets", 0, "name"], None],
    ["match", ["jaffle_shop", "targets", ["name", "prod"], "live"], False],
]


def test_yaml() -> None:
    assert scores("check_yaml_file", PROFILE.encode(), RULES) == (1, 1)
    for old, new in (("type: duckdb", "type: sqlite"), ("threads: 4", "threads: 5"), ("name: prod", "name: x"),
                     ("live: false", "live: 1"), ("dev:", "development:"), ("targets: [", "targets: [[")):  # fmt: skip
        assert scores("check_yaml_file", PROFILE.replace(old, new).encode(), RULES) == (0, 0), new
    longer = PROFILE.replace("jaffle_shop.duckdb", "jaffle_shop.duckdbx")
    assert scores("check_yaml_file", longer.encode(), RULES) == (1, 0)
    for junk in (b"", b"\xff", b"a: [", b"!!python/object/apply:os.system [id]", b"- " * 2**20, b"[" * 5000):
        assert scores("check_yaml_file", junk, RULES) == (0, 0)
    for rules in ({}, [["match", ["a"]]], [["like", ["a"], 1]]):
        with pytest.raises(GoldBroken):
            scores("check_yaml_file", PROFILE.encode(), rules)


def test_json(tmp_path) -> None:
    gold = tmp_path / "gold.json"
    gold.write_text(json.dumps([{"a": 1, "b": [1, 2]}, {"a": 2.5, "b": None}]))
    assert scores("compare_json_file", b'[{"b": [1, 2], "a": 1.0}, {"a": 2.5, "b": null}]', gold) == (1, 1)
    swapped = b'[{"a": 2.5, "b": null}, {"a": 1, "b": [1, 2]}]'
    assert scores("compare_json_file", swapped, gold) == (0, 0)
    assert scores("compare_json_file", swapped, gold, instruction="Download the result.") == (0, 1)
    assert scores("compare_json_file", swapped, gold, instruction="Sort it by a.") == (0, 0)
    assert scores("compare_json_file", b'[{"a": true, "b": [1, 2]}, {"a": 2.5, "b": null}]', gold) == (1, 0)
    for junk in (b"", b"[", b"[" * 100_000, b"\xff", b"9" * 10_000):
        assert scores("compare_json_file", junk, gold) == (0, 0)
    gold.write_text("{")
    with pytest.raises(GoldBroken):
        scores("compare_json_file", b"{}", gold)


@hypothesis_given(st.binary() | st.text())
def test_no_content_raises(data) -> None:
    assert scores("check_yaml_file", data, RULES) == (0, 0)
    assert scores("compare_json_file", data, '{"only": "this"}') == (0, 0)


def test_a_services_answers() -> None:
    line = {"severity": "INFO", "message": "x"}
    assert scores("check_snowflake_log_message", line | {"more": 1}, line) == (1, 1)
    assert scores("check_snowflake_log_message", line | {"message": "y"}, line) == (0, 0)
    assert scores("check_snowflake_log_message", "x", line) == (0, 0)
    with pytest.raises(GoldBroken):
        scores("check_snowflake_log_message", line, {"severity": "INFO"})
    user = {"NAME": "ANN", "ROLE": ["PUBLIC", "ADMIN"], "PASSWORD_WORKS": True}
    wanted = {"name": "ANN", "ROLE": ["ADMIN"], "PASSWORD": "secret"}
    assert scores("is_snowflake_user_created", user, wanted) == (1, 1)
    for change in ({"NAME": "BOB"}, {"ROLE": ["PUBLIC"]}, {"PASSWORD_WORKS": False}):
        assert scores("is_snowflake_user_created", user | change, wanted) == (0, 0)
    assert scores("is_snowflake_user_created", {"NAME": "ANN"}, {"name": "ANN"}) == (1, 1)
    with pytest.raises(GoldBroken, match="account"):
        scores("is_snowflake_user_created", {"NAME": "ANN"}, {"name": "ANN", "PASSWORD": "x"})
