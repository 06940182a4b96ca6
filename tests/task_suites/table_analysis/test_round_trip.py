"""What comes back of a value that leaves a kernel, is carried to another one, and is pickled there."""

import copyreg
import pickle
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.stats
import value_kinds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from hypothesis.extra import pandas as frames

from deskgym.task_suites.table_analysis.guest.comparators import answers, compare, decode_value
from deskgym.task_suites.table_analysis.guest.comparators.carried import carried
from deskgym.task_suites.table_analysis.guest.comparators.comparing import compare_results
from deskgym.task_suites.table_analysis.guest.comparators.rules import GoldError
from deskgym.task_suites.table_analysis.guest.results import take
from deskgym.task_suites.table_analysis.guest.results.encode import encode


def trip(value: Any) -> Any:
    """The value as eval.py loads it: saved by the agent, taken out as data, and pickled anew."""
    taken = answers(take({"x": value}, {"x": {"type": "value", "models": True}}))["x"]
    if "ok" not in taken:
        raise ValueError(taken["error"])
    return pickle.loads(carried(taken["ok"]))


def same(one: Any, other: Any, depth: int = 0) -> bool:
    """Of one type and equal, down to the attributes of objects that do not say what they equal."""
    if type(one) is not type(other):
        return False
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
        return True
    if isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, other)
        return True
    if isinstance(one, pd.Index):
        pd.testing.assert_index_equal(one, other)
        return one.dtype == other.dtype and getattr(one, "freq", None) == getattr(other, "freq", None)
    if isinstance(one, pd.api.extensions.ExtensionArray):
        pd.testing.assert_extension_array_equal(one, other)
        return True
    if scipy.sparse.issparse(one):
        return same(one.toarray(), other.toarray())
    if isinstance(one, np.ma.MaskedArray):
        return bool(
            (one.mask == other.mask).all() and one.fill_value == other.fill_value and np.ma.allequal(one, other)
        )
    if isinstance(one, np.ndarray):
        same_kind = (one.dtype, one.shape) == (other.dtype, other.shape)
        return same_kind and all(
            same(a, b, depth + 1) for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)
        )
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key], depth + 1) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(same(a, b, depth + 1) for a, b in zip(one, other, strict=True))
    if one is pd.NA or one is pd.NaT or isinstance(one, type):
        return one is other
    try:
        if bool(one == other):
            return True
    except Exception:
        pass
    if depth < 8 and hasattr(one, "__getstate__") and (state := one.__getstate__()) is not None:
        return same(state, other.__getstate__(), depth + 1)
    return repr(one) == repr(other) or pickle.dumps(one) == pickle.dumps(other)


@pytest.fixture(scope="module")
def kinds() -> dict[str, Any]:
    return value_kinds.comparable()


def mistakes(kinds: dict[str, Any], right: Callable[[Any], bool]) -> dict[str, str]:
    """The kinds of which it is not so, and why."""
    found = {}
    for kind, value in kinds.items():
        try:
            if not right(value):
                found[kind] = "differs"
        except Exception as error:
            found[kind] = f"{type(error).__name__}: {error}"[:300]
    return found


def test_values_of_all_kinds_come_back(kinds: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(
        copyreg.dispatch_table, ModuleType, raising=False
    )  # vncdotool's Twisted lets modules be pickled
    assert len(kinds) + len(value_kinds.UNCOMPARABLE) >= 200

    def comes_back(value: Any) -> bool:
        try:
            saved = pickle.dumps(value)
        except TypeError:  # a reference cannot save it either: some of scipy's results hold a module
            with pytest.raises(ValueError, match="not carried over"):
                trip(value)
            return True
        return same(pickle.loads(saved), trip(value))

    assert mistakes(kinds, comes_back) == {}


def test_results_of_a_scipy_without_sparray_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 1.11, as in the libraries that Tapilot-Crossing names."""
    monkeypatch.delattr(scipy.sparse, "sparray")
    for value in (scipy.sparse.csr_matrix(np.eye(2)), scipy.stats.linregress([1, 2, 3], [2, 3, 5])):
        assert same(value, trip(value))


def test_values_of_all_kinds_are_like_themselves(kinds: dict[str, Any]) -> None:
    """In our own suite, where no pickle goes along: what cannot be compared is an error, never wrong."""

    def alike(value: Any) -> bool:
        return compare(decode_value(encode(value)), decode_value(encode(value)), "value") == (True, "")

    found = mistakes(kinds, alike)
    assert set(found) <= {"numpy Generator", "numpy RandomState"}, found
    assert all(why.startswith(GoldError.__name__) for why in found.values()), found


@pytest.mark.parametrize("kind", value_kinds.UNCOMPARABLE)
@pytest.mark.parametrize("inside", [False, True])
def test_what_cannot_be_carried_is_named(kind: str, inside: bool) -> None:
    value = value_kinds.UNCOMPARABLE[kind]()
    with pytest.raises(ValueError, match=r"not carried over"):
        trip([1, {"a": value}] if inside else value)


FRAMES = frames.data_frames(
    [
        frames.column("a", dtype=float),
        frames.column("b", elements=st.text(max_size=3)),
        frames.column("c", dtype="datetime64[ns]"),
    ],
    index=frames.range_indexes(max_size=5),
)
COLUMNS = st.sampled_from(["object", "string[python]", "string[pyarrow]", "category", "str"])


@given(FRAMES, COLUMNS)
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_comes_back(table: pd.DataFrame, dtype: str) -> None:
    table = table.assign(b=table["b"].astype(dtype))
    for value in (table, table["b"], table.dtypes, table.set_index("b"), {"x": [table]}):
        assert same(value, trip(value))


@given(
    arrays.arrays(st.one_of(arrays.scalar_dtypes(), st.just(np.dtype("i2,f4,(2,)U3"))), arrays.array_shapes(max_side=3))
)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_any_array_comes_back(array: np.ndarray) -> None:
    array, found = pickle.loads(pickle.dumps(array)), trip(array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert repr(found.tolist()) == repr(array.tolist())


STANDARD = st.recursive(
    st.one_of(
        st.integers(),
        st.decimals(allow_nan=False),
        st.fractions(),
        st.text(max_size=3),
        st.uuids(),
        st.ip_addresses(),
        st.datetimes(timezones=st.timezones()),
        st.times(),
        st.timedeltas(),
        st.just(...),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(deque),
        st.dictionaries(st.text(max_size=2), inner, max_size=3).map(OrderedDict),
        st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=3).map(Counter),
    ),
    max_leaves=8,
)


@given(STANDARD)
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
def test_any_value_of_the_standard_library_comes_back(value: Any) -> None:
    assert same(value, trip(value))


@pytest.mark.parametrize("mode", ["corrected", "paper"])
@pytest.mark.parametrize("value", [object(), [1, {"a": lambda: 1}]], ids=["alone", "inside"])
def test_a_reference_that_cannot_be_compared_is_an_error_and_no_zero(value: Any, mode: str) -> None:
    taken = take({"x": value}, {"x": {"type": "value"}})
    with pytest.raises(ValueError, match="cannot be compared"):
        compare_results(taken, taken, [{"name": "x", "kind": "value"}], mode)
