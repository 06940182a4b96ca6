"""Metrics of texts, addresses and lists."""

import pytest
from hypothesis import given as hypothesis_given
from hypothesis import strategies as st
from metric_scores import scores

from deskgym.task_suites.importers.spider2v.metrics import GoldBroken

SUCCEED = {"include": ["succeed"], "exclude": ["failed"]}


@pytest.mark.parametrize(
    ("result", "rules", "right"),
    [
        ("dbt run succeed", SUCCEED, (1, 1)),
        ("Evaluation succeeded.\n", SUCCEED, (1, 1)),
        ("succeed, then failed", SUCCEED, (0, 0)),
        ("unsucceedable", SUCCEED, (1, 0)),
        ("", SUCCEED, (0, 0)),
        (None, SUCCEED, (0, 0)),
        (b"dbt run succeed", SUCCEED, (1, 1)),
        ("matched 2010", {"include": ["matched", "10"]}, (1, 0)),
        ("matched 10", {"include": ["matched", "10"], "exclude": ["20"]}, (1, 1)),
        ("11 passed", {"include": ["1 passed"]}, (1, 0)),
        ("x/wind_dashboard-abc", {"include": ["wind_dashboard"]}, (1, 1)),
        (4.5, SUCCEED, (0, 0)),
    ],
)
def test_include_exclude(result, rules, right) -> None:
    assert scores("check_include_exclude", result, rules) == right


def test_a_rule_that_is_none_is_the_tasks_fault() -> None:
    for name, rule in (("check_include_exclude", None), ("exact_match", "x"), ("is_expected_url_pattern_match", {})):
        with pytest.raises(GoldBroken):
            scores(name, "x", rule)
    with pytest.raises(GoldBroken):
        scores("literal_match", ["x"], {"a": 1}, type="list")


def test_exact_and_literal_match() -> None:
    rule = {"expected": "select a\nfrom b"}
    assert scores("exact_match", "select a\nfrom b", rule) == (1, 1)
    assert scores("exact_match", " select a  from b ;", rule) == (0, 1)
    assert scores("exact_match", "select b from a", rule) == (0, 0)
    assert scores("exact_match", 3.0, {"expected": 3}) == (1, 1)
    options = {"type": "list", "ignore_order": True}
    assert scores("literal_match", ["a", "b"], ["a", "b"], **options) == (1, 1)
    assert scores("literal_match", ["b", "a"], ["a", "b"], **options) == (0, 1)
    assert scores("literal_match", ["a"], ["a", "b"], **options) == (0, 0)
    assert scores("literal_match", "ab", ["a", "b"], **options) == (0, 0)
    assert scores("literal_match", "A", "a") == (0, 0)
    assert scores("literal_match", "A", "a", ignore_case=True) == (1, 1)


def test_what_must_not_be_in_a_list() -> None:
    rule = {"exclude": ["customer_orders"]}
    assert scores("is_not_in_list", ["a", "b"], rule) == (1, 1)
    assert scores("is_not_in_list", ["a", "customer_orders"], rule) == (1, 0), "upstream's looks for the list"
    assert scores("is_not_in_list", "a", rule) == (0, 0)


ADDRESS = {"expected": ["http://localhost:1036", "Voting_Model\\.ipynb"]}


@pytest.mark.parametrize(
    ("url", "right"),
    [
        ("http://localhost:1036/lab/tree/Voting_Model.ipynb", (1, 1)),
        ({"url": "http://localhost:1036/notebooks/Voting_Model.ipynb", "title": "x"}, (1, 1)),
        ("http://localhost:10360/lab/tree/Voting_Model.ipynb", (1, 0)),
        ("https://bing.com/search?q=http://localhost:1036/Voting_Model.ipynb", (1, 0)),
        ("http://localhost:1036.evil.com/Voting_Model.ipynb", (1, 0)),
        ("http://localhost:1036/lab", (0, 0)),
        ({}, (0, 0)),
        ("", (0, 0)),
    ],
)
def test_addresses(url, right) -> None:
    assert scores("is_expected_url_pattern_match", url, ADDRESS) == right


def test_text_files(tmp_path) -> None:
    gold = tmp_path / "gold.txt"
    gold.write_text("a b\nc\n")
    assert scores("compare_text_file", b"a b\nc\n", gold) == (1, 1)
    assert scores("compare_text_file", b"a b  \r\nc", gold) == (0, 1)
    assert scores("compare_text_file", b"a\tb c", gold, ignore_blanks=True) == (1, 1)
    assert scores("compare_text_file", b"A B\nC\n", gold, ignore_case=True) == (1, 1)
    assert scores("compare_text_file", b"a b\nd\n", gold) == (0, 0)
    assert scores("diff_text_file", b"a b\nc", gold) == (1, 1)
    assert scores("diff_text_file", b"a b\nd", gold) == (0.5, 0), "upstream gives a part of the score"
    assert scores("diff_text_file", b"x\n" * 30_000, gold) == (0, 0)
    assert scores("compare_sql", b"a b\nc\n", gold) == (1, 1)
    assert scores("compare_sql", b"A b c;", gold) == (0, 1)
    assert scores("compare_sql", b"\xff\xfe", gold) == (0, 0)
    with pytest.raises(GoldBroken):
        scores("compare_text_file", b"x", tmp_path / "missing.txt")


def test_case_within_quotes_counts(tmp_path) -> None:
    gold = tmp_path / "gold.sql"
    gold.write_text("SELECT 'Paris  x'")
    assert scores("compare_sql", b"select  'Paris  x' ;", gold) == (0, 1)
    assert scores("compare_sql", b"select 'paris  x'", gold) == (0, 0)
    assert scores("compare_sql", b"select 'Paris x'", gold) == (0, 0)


def test_a_file_is_there() -> None:
    assert scores("check_file_existence", b"print(1)", None) == (1, 1)
    assert scores("check_file_existence", b" \n", None) == (1, 0)
    assert scores("check_file_existence", None, None) == (0, 0)


@hypothesis_given(st.text() | st.binary(), st.lists(st.text(min_size=1), max_size=3))
def test_no_text_raises(result, words) -> None:
    for name, rule in (
        ("check_include_exclude", {"include": words, "exclude": words}),
        ("exact_match", {"expected": "x"}),
        ("literal_match", "x"),
        ("is_not_in_list", {"exclude": words}),
        ("is_expected_url_pattern_match", {"expected": ["http://a"]}),
        ("check_file_existence", None),
        ("compare_sql", "select 1"),
        ("diff_text_file", "x"),
    ):
        assert all(0 <= score <= 1 for score in scores(name, result, rule))
