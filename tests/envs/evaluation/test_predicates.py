import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deskgym.envs.evaluation.calls import CallMistakes
from deskgym.envs.evaluation.predicates import MAX_TEXT, Predicate, same

json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("data", "holding", "failing"),
    [
        ({"equals": 1}, [1, 1.0], [True, "1", None, [1]]),
        ({"equals": {"to": {"a": [1, True]}}}, [{"a": [1.0, True]}], [{"a": [1, 1]}, {"a": [1]}, {}]),
        ({"text": "A  b"}, ["a b", " A\nB "], ["ab", 1, None]),
        ({"text": {"to": "A", "case": True}}, ["A"], ["a"]),
        ({"close": {"to": 2, "abs": 0.5}}, [2, 2.5, 1.5], [2.6, "2", True, float("nan"), None]),
        ({"close": {"to": -100, "rel": 0.01}}, [-101, -99], [-102, 100]),
        ({"close": {"to": [1, 2], "abs": 0.1}}, [[1, 2.05]], [[1], [2, 1], 1, [1, "2"]]),
        ({"between": [1, 2]}, [1, 2, 1.5], [0, 3, "1", True, float("inf")]),
        ({"one_of": ["a", 1]}, ["a", 1.0], ["b", True]),
        ({"matches": "a+"}, ["aa"], ["aab", 1]),
        ({"matches": {"pattern": "a+", "whole": False}}, ["xaax"], ["x"]),
        ({"contains": ["a", "b"]}, ["cab", ["b", "a", 1], {"a": 1, "b": 2}], ["a", ["a"], 3]),
        ({"contains": 1}, [[1, 2]], ["1", [True]]),
        ({"length": {"between": [1, 2]}}, ["a", [1, 2]], ["", 1, [1, 2, 3]]),
        ({"each": {"between": [0, 1]}}, [[], [0, 1]], [[2], 1]),
        ({"some": {"equals": 1}}, [[0, 1]], [[], [0], 1]),
        ({"all": [{"contains": "a"}, {"not": {"contains": "b"}}]}, ["a"], ["ab", "c"]),
        ({"any": [{"equals": 1}, {"equals": 2}]}, [1, 2], [3]),
    ],
)
def test_predicates(data: dict, holding: list, failing: list) -> None:
    predicate = Predicate.parse(data)
    assert all(predicate(value) for value in holding)
    assert not any(predicate(value) for value in failing)


@given(json_data)
def test_same_is_reflexive_and_no_predicate_raises_on_any_data(value: object) -> None:
    assert same(value, value)
    for data in ({"text": "a"}, {"close": {"to": [1]}}, {"between": [0, 1]}, {"matches": "a*"}, {"contains": "a"}):
        assert Predicate.parse(data)(value) in (True, False)


def test_a_slow_expression_is_cut_off() -> None:
    began = time.process_time()
    with pytest.raises(TimeoutError, match="longer than 2 s"):
        Predicate.parse({"matches": "(a|aa)+$b"})("a" * 200)
    assert time.process_time() - began < 10


def test_a_flood_matches_nothing() -> None:
    assert not Predicate.parse({"matches": "a*"})("a" * (MAX_TEXT + 1))


def test_deep_data_is_not_equal_and_does_not_raise() -> None:
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert not Predicate.parse({"equals": deep})(deep)


@pytest.mark.parametrize("data", [None, 1, "equals", {}, {"equals": 1, "text": "a"}, {"nope": 1}, {"all": [{"x": 1}]}])
def test_what_is_no_predicate(data: object) -> None:
    with pytest.raises(CallMistakes):
        Predicate.parse(data)
