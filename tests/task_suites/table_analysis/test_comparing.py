"""Which results are those of the reference."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deskgym.task_suites.table_analysis.guest.comparators import decode, decode_value
from deskgym.task_suites.table_analysis.guest.comparators.comparing import compare, compare_results
from deskgym.task_suites.table_analysis.guest.results import take
from deskgym.task_suites.table_analysis.guest.results.encode import encode
from deskgym.task_suites.table_analysis.guest.results.value_format import Opaque

NAN = math.nan
FRAME = pd.DataFrame(
    {
        "name": ["a", "b", "c", None],
        "count": [1, 2, 3, 4],
        "mean": [0.1, NAN, 0.3, 0.4],
        "seen": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"]),
        "good": [True, False, True, False],
    }
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.datetimes().map(pd.Timestamp), st.just(pd.NaT)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(st.text(), inner),
        st.sets(st.integers()),
        st.lists(inner, min_size=1).map(lambda items: pd.Series(items, dtype=object)),
    ),
    max_leaves=12,
)


def same(gold, got, kind="value", mode="corrected", **options):
    correct, message = compare(decode_value(encode(gold)), decode_value(encode(got)), kind, options, mode)
    assert correct == (not message)
    return correct


@given(VALUES)
@settings(deadline=None, max_examples=300)
def test_everything_is_like_itself(value):
    assert same(value, value)
    assert same(value, value, ordered=False)


def changed(value, data):
    """The value with one of its leaves, or its length, changed."""
    if isinstance(value, (list, tuple)) and value and data.draw(st.booleans()):
        place = data.draw(st.integers(0, len(value) - 1))
        parts = [*value[:place], changed(value[place], data), *value[place + 1 :]]
        return type(value)(parts)
    if isinstance(value, dict) and value:
        key = data.draw(st.sampled_from(sorted(value)))
        return {**value, key: changed(value[key], data)}
    if isinstance(value, pd.Series):
        return pd.Series([*value[:-1], changed(value.iloc[-1], data)], dtype=object)
    if isinstance(value, (list, tuple, set)):
        return type(value)([*value, "one more"])
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return value + 1
    return "something else" if value != "something else" else "more"


@given(VALUES, st.data())
@settings(deadline=None, max_examples=300)
def test_nothing_is_like_what_it_is_not(value, data):
    assert not same(value, changed(value, data))


@pytest.mark.parametrize(
    ("gold", "got"),
    [
        (3, 3.0),
        (3, np.int8(3)),
        (0.1 + 0.2, 0.3),
        (np.float32(1.5), 1.5),
        (True, np.True_),
        (NAN, np.float64("nan")),
        (NAN, pd.NA),
        (pd.Timestamp("2020-01-02"), np.datetime64("2020-01-02")),
        (pd.Timestamp("2020-01-02"), pd.Timestamp("2020-01-02").to_pydatetime()),
        (pd.Timedelta("1h"), np.timedelta64(60, "m")),
        ("a", np.str_("a")),
        ([1, (2, NAN)], [1.0, (np.int64(2), NAN)]),
        ({"a": 1, 2: "b"}, {2.0: "b", "a": 1}),
        ({1, 2}, frozenset({2.0, 1})),
        (math.inf, np.inf),
        (np.array(2.0), 2),
        (range(3), range(3)),
        (pd.Interval(0.1 + 0.2, 1), pd.Interval(0.3, 1)),
    ],
)
def test_the_same_value_in_another_form(gold, got):
    assert same(gold, got)


@pytest.mark.parametrize(
    ("gold", "got"),
    [
        (True, 1),
        (1, True),
        (1_000_000, 1_000_001),
        (1.0, 1.00001),
        ("1", 1),
        (None, NAN),
        (NAN, 0.0),
        (math.inf, -math.inf),
        (10**400, 1.0),
        ([1, 2], (1, 2)),
        ([1, 2], [2, 1]),
        ([1, 2], [1, 2, 3]),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({1: "a"}, {True: "a"}),
        ({1}, {1.5}),
        ([1, 2], np.array([1, 2])),
        (pd.Timestamp("2020", tz="UTC"), pd.Timestamp("2020")),
        (range(3), range(4)),
        (FRAME["count"], FRAME[["count"]]),
        (3.0, pd.Series([3.0])),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 5]])),
        (np.array([1.0, np.nan]), np.array([1.0, 0.0])),
        (pd.Series([1, 2], dtype="Int64"), pd.Series([1, 3], dtype="Int64")),
    ],
)
def test_another_value(gold, got):
    assert not same(gold, got)


def test_options_of_values():
    assert same(100, 101, rtol=0.02) and not same(100, 103, rtol=0.02) and same(100, 101, atol=1)
    assert same([3, 1.0, "a"], ["a", 1, 3], ordered=False) and not same([1, 1, 2], [1, 2, 2], ordered=False)
    for options in ({"rtoll": 1}, {"rtol": -1}, {"rtol": True}, {"rtol": NAN}, {"ordered": "no"}):
        with pytest.raises(ValueError, match="legal"):
            compare(1, 1, "value", options)
    with pytest.raises(ValueError, match="legal are corrected, paper"):
        compare(1, 1, "value", mode="lenient")
    with pytest.raises(ValueError, match="kind of result"):
        compare(1, 1, "choice")


@pytest.mark.parametrize(
    "got",
    [
        FRAME,
        FRAME[FRAME.columns[::-1]],
        FRAME.rename(columns={"mean": "average", "count": "n"}),
        FRAME.astype({"count": float}),
        FRAME.astype({"count": "Int32", "name": object, "good": "boolean", "mean": "Float64"}),
        FRAME.astype({"name": "category"}),
        FRAME.astype({"seen": "datetime64[s]"}),
        FRAME.assign(mean=FRAME["mean"] + 1e-12),
        FRAME.rename_axis("row").set_axis([0.0, 1, 2, 3]),
        FRAME.astype(object),
    ],
)
def test_the_same_table_in_another_form(got):
    assert same(FRAME, got, "dataframe")
    assert same(got, FRAME, "dataframe")


@pytest.mark.parametrize(
    "got",
    [
        FRAME.assign(mean=FRAME["mean"] * 1.001),
        FRAME.assign(mean=FRAME["mean"].fillna(0)),
        FRAME.assign(good=FRAME["good"].astype(int)),
        FRAME.assign(name=["a", "b", "c", "d"]),
        FRAME.assign(more=1),
        FRAME.drop(columns="good"),
        FRAME[::-1],
        FRAME[::-1].reset_index(drop=True),
        FRAME.set_index("name"),
        FRAME.set_axis([1, 2, 3, 4]),
        FRAME.head(3),
        FRAME.rename(columns={"count": "mean", "mean": "count"}),
        FRAME.assign(seen=FRAME["seen"].dt.tz_localize("UTC")),
        FRAME["count"],
        FRAME.to_dict(),
        None,
    ],
)
def test_another_table(got):
    assert not same(FRAME, got, "dataframe")


def test_a_column_of_another_name_is_used_once():
    gold = pd.DataFrame({"a": [1, 2], "b": [1, 2]})
    got = pd.DataFrame({"x": [1, 2], "y": [9, 9]})
    assert same(gold, got, "dataframe", "paper") and not same(gold, got, "dataframe")
    assert same(gold, pd.DataFrame({"x": [1, 2], "y": [1, 2]}), "dataframe")


def test_options_of_tables():
    shuffled = FRAME.sample(frac=1, random_state=1)
    assert same(FRAME, shuffled, "dataframe", ordered=False)
    assert same(FRAME, shuffled.rename(columns={"mean": "m"}), "dataframe", ordered=False)
    fresh = shuffled.reset_index(drop=True)
    assert not same(FRAME, fresh, "dataframe", ordered=False)
    assert same(FRAME, fresh, "dataframe", ordered=False, index=False)
    mixed = FRAME.assign(count=[2, 1, 3, 4])
    assert not same(FRAME, mixed, "dataframe", ordered=False, index=False)
    assert not same(FRAME, FRAME.rename(columns={"mean": "m"}), "dataframe", names=True)
    assert same(FRAME, FRAME[FRAME.columns[::-1]], "dataframe", names=True)


def test_series():
    counts = pd.Series({"b": 2, "a": 2, "c": 1}, name="n")
    assert same(counts, counts.rename(None).astype(float), "series")
    assert not same(counts, counts.rename("m"), "series", names=True)
    assert not same(counts, counts.sort_index(), "series")
    assert same(counts, counts.sort_index(), "series", ordered=False)
    assert same(counts, counts.reset_index(drop=True), "series", index=False)
    levels = pd.Series([1.0, 2], pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]))
    assert same(levels, levels.copy(), "series") and not same(levels, levels.droplevel(0), "series")


def test_the_paper_has_its_holes():
    assert same(True, 1, mode="paper") and not same(NAN, NAN, mode="paper") and not same(0.1 + 0.2, 0.3, mode="paper")
    assert not same(FRAME, FRAME, "dataframe", "paper")
    whole = FRAME.drop(columns=["mean", "seen"]).head(3)
    assert same(whole, whole.rename(columns={"count": "n"}), "dataframe", "paper")
    assert not same(whole, whole.set_axis([3, 4, 5]), "dataframe", "paper")
    assert same(FRAME["count"], FRAME["count"], "series", "paper")


def test_models_by_their_score():
    truth = [1.0, 2, 3, 4]
    reference = np.array([1.1, 2.1, 2.9, 4.2])
    assert compare(reference, np.array(truth), "model", truth=truth, metric="r2") == (True, "")
    assert compare(reference, reference[:, None], "model", truth=truth, metric="r2")[0]
    correct, message = compare(reference, [2.5] * 4, "model", truth=truth, metric="r2")
    assert not correct and "below the reference's" in message
    for wrong in (None, [1.0], [NAN] * 4, ["a"] * 4, np.zeros((4, 2)), {"a": 1}):
        assert not compare(reference, wrong, "model", truth=truth, metric="r2")[0]
    labels = pd.Series(["x", "y", "x", "x"])
    found = np.array(["x", "y", "y", "x"], dtype=object)
    for metric in ("accuracy", "f1"):
        assert compare(found, labels.tolist(), "model", truth=labels, metric=metric)[0]
        assert not compare(found, ["x"] * 3 + ["y"], "model", truth=labels, metric=metric)[0]
    assert compare([0, 1, 1], [0.0, 1.0, True], "model", truth=np.array([0, 1, 1]), metric="accuracy")[0]
    for arguments in ({"truth": truth, "metric": "rmse"}, {"truth": None, "metric": "r2"}, {"truth": truth[:2]}):
        with pytest.raises(ValueError):
            compare(reference, reference, "model", **arguments)


def taken(**values):
    return take(values, {name: {"type": "value"} for name in values})


INTENTS = [{"name": "a", "kind": "value", "options": {}}, {"name": "b", "kind": "list", "options": {"ordered": False}}]


def test_results_are_compared_intent_by_intent():
    gold = taken(a=3, b=[1, 2])
    verdicts = compare_results(gold, taken(a=3.5, b=[2, 1]), INTENTS, "corrected")
    assert [(found["name"], found["correct"]) for found in verdicts] == [("a", False), ("b", True)]
    assert "3.5 where 3 was expected" in verdicts[0]["message"]
    missing = compare_results(decode(gold), taken(a=3), INTENTS, "corrected")
    assert [found["correct"] for found in missing] == [True, False] and "no such variable" in missing[1]["message"]


def test_functions_and_plots_through_results():
    wanted = {"f": {"type": "function", "probes": pickle.dumps([(1,), (0,)])}}
    intents = [{"name": "f", "kind": "function", "options": {}}]
    gold = take({"f": lambda x: 1 / x}, wanted)
    for function, correct in ((lambda x: x**-1.0, True), (lambda x: 1, False), (None, False)):
        assert compare_results(gold, take({"f": function}, wanted), intents)[0]["correct"] is correct


@pytest.mark.parametrize(
    "got",
    [b"", b"\x80", b"\xc1", b"\x91" * 5000, encode({"a": 3, "b": [1, 2]}), taken(), 3, None]
    + [encode(3)]
    + [b"\x82\xa1a\x81\xa2ok\xc4\x01" + bytes([byte]) + b"\xa1b\x80" for byte in (0xC1, 0x91, 0xFF)],
)
def test_whatever_the_agent_gives_is_wrong_and_no_error(got):
    for mode in ("corrected", "paper"):
        verdicts = compare_results(taken(a=3, b=[1, 2]), got, INTENTS, mode)
        assert [found["correct"] for found in verdicts] == [False, False]
        assert all(found["message"] for found in verdicts)


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_mutated_results_are_no_error(data):
    gold = take({"a": 3, "b": FRAME}, {"a": {"type": "value"}, "b": {"type": "dataframe"}})
    intents = [INTENTS[0], {"name": "b", "kind": "dataframe", "options": {}}]
    got = bytearray(gold)
    for _ in range(data.draw(st.integers(1, 4))):
        got[data.draw(st.integers(0, len(got) - 1))] = data.draw(st.integers(0, 255))
    assert len(compare_results(decode(gold), bytes(got), intents)) == 2


@pytest.mark.parametrize("kind", ["dataframe", "series", "list", "value", "plot", "model", "function"])
@pytest.mark.parametrize(
    "got",
    [
        None,
        [],
        {"png": b"x", "drawn": 3},
        {"png": b"", "drawn": [{}]},
        Opaque("x", "y"),
        np.zeros((2, 2)),
        [10**5000],
        "",
    ],
)
def test_a_result_of_another_kind_is_wrong(kind, got):
    golds = {"dataframe": FRAME, "series": FRAME["count"], "list": [1], "value": 3, "function": [("returned", 1)]}
    golds |= {"model": [1.0, 2.0], "plot": {"png": b"", "drawn": [{"lines": []}]}}
    correct, message = compare(golds[kind], got, kind, truth=[1.0, 2.0], metric="r2")
    assert not correct and 0 < len(message) <= 500


def test_a_gold_that_cannot_be_compared_is_the_evaluators_error():
    got = taken(a=1, b=[1])
    bad = take({"a": lambda: 0, "b": [1]}, {"a": {"type": "value"}, "b": {"type": "list"}})
    for gold in (b"", b"\xc1", taken(a=1), bad, taken(a=1, b=[1])[:-1]):
        with pytest.raises(ValueError):
            compare_results(gold, got, INTENTS, "corrected")
    failed = take({}, {"a": {"type": "function", "probes": b""}, "b": {"type": "value"}})
    with pytest.raises(ValueError, match="the reference has no result 'a'"):
        compare_results(failed, got, INTENTS, "corrected")
