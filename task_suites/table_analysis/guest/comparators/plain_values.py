"""The corrected comparison of values: what differs between the reference's and another."""

from __future__ import annotations

import datetime
import math
from collections.abc import Hashable
from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.rules import GoldError, Rules, shown
from deskgym.task_suites.table_analysis.guest.results.value_format import Opaque

_CONTAINERS = (list, tuple, dict, set, frozenset)
_SAME: tuple[Any, ...] = (list, tuple, dict, (set, frozenset))
"""Containers of one kind; a Counter is a dict."""


def difference(gold: Any, got: Any, rules: Rules, in_table: bool = False) -> str:
    """What differs, or ``""``.

    Numbers are equal within the tolerances, whatever their types, but a bool is no number. A list is not a tuple.
    Dicts may be in any order. NaN, NA and NaT are the same; None is too where values are in a table.

    Args:
        gold: the reference's value.
        got: the other one.
        rules: how strictly to compare.
        in_table: they are cells of a table.

    Raises:
        GoldError: the gold is of a type that cannot be sent, and its repr does not identify it.
    """
    if isinstance(gold, Opaque):
        if not gold.comparable:
            raise GoldError(f"a result of type {gold.kind} cannot be compared: {gold.text}")
        return "" if gold == got else _told(gold, got)
    table = _table_kind(gold)
    if table != _table_kind(got):
        return f"a {type(got).__name__} where a {type(gold).__name__} was expected"
    if table:
        from deskgym.task_suites.table_analysis.guest.comparators.tables import table_difference

        return table_difference(table, gold, got, rules)
    if isinstance(gold, _CONTAINERS) or isinstance(got, _CONTAINERS):
        return _container(gold, got, rules, in_table)
    return "" if same_scalar(gold, got, rules, in_table) else _told(gold, got)


def same_scalar(gold: Any, got: Any, rules: Rules, in_table: bool = False) -> bool:
    """Two values that hold no others are the same."""
    gold, got = plain(gold), plain(got)
    if is_missing(gold, in_table) or is_missing(got, in_table):
        return is_missing(gold, in_table) and is_missing(got, in_table)
    if isinstance(gold, bool) or isinstance(got, bool):
        return gold is got
    if isinstance(gold, (int, float, complex)) and isinstance(got, (int, float, complex)):
        return _close(gold, got, rules)
    interval = _interval(gold)
    if interval and type(gold) is type(got):
        sides = (same_scalar(getattr(gold, side), getattr(got, side), rules, in_table) for side in ("left", "right"))
        return gold.closed == got.closed and all(sides)
    return type(gold) is type(got) and bool(gold == got)


def plain(value: Any) -> Any:
    """The Python value of a scalar of numpy; every moment as a Timestamp, every duration as a Timedelta."""
    if type(value) in (int, float, str, bool, type(None)):
        return value
    import numpy as np
    import pandas as pd

    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (datetime.datetime, np.datetime64)):
        return pd.Timestamp(value)
    if isinstance(value, (datetime.timedelta, np.timedelta64)):
        return pd.Timedelta(value)
    if isinstance(value, np.longdouble):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def is_missing(value: Any, in_table: bool) -> bool:
    """It is NaN, NA or NaT; in a table also None."""
    if value is None:
        return in_table
    if isinstance(value, (float, complex)):
        return value != value
    if type(value) in (int, str, bool):
        return False
    import pandas as pd

    return value is pd.NA or value is pd.NaT


def sort_key(value: Any) -> tuple[int, Any]:
    """A key that sorts values of any types, and equal ones to the same place."""
    value = plain(value)
    if isinstance(value, bool):
        return 0, value
    if isinstance(value, (int, float)) and value == value:
        return 1, rounded(value)
    if isinstance(value, str):
        return 2, value
    if isinstance(value, (list, tuple)):
        return 3, [sort_key(item) for item in value]
    return 4, repr(value)[:1000]


def rounded(value: float) -> float:
    """A number to six significant digits."""
    try:
        return float(f"{value:.5e}")
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _close(gold: Any, got: Any, rules: Rules) -> bool:
    if gold == got or (rules.exact and isinstance(gold, int) and isinstance(got, int)):
        return bool(gold == got)
    try:
        apart = abs(gold - got)
        return bool(math.isfinite(apart) and apart <= rules.absolute + rules.relative * abs(gold))
    except OverflowError:
        return False


def _interval(value: Any) -> bool:
    return type(value).__name__ == "Interval" and hasattr(value, "closed")


def _table_kind(value: Any) -> str:
    """``"DataFrame"``, ``"Series"``, ``"Index"`` or ``"array"``; ``""`` for what is no table."""
    if value is None or type(value) in (int, float, str, bool, bytes) or isinstance(value, _CONTAINERS):
        return ""
    import numpy as np
    import pandas as pd

    if isinstance(value, (np.ndarray, pd.api.extensions.ExtensionArray)):
        return "array" if value.ndim else ""
    kinds = (pd.DataFrame, pd.Series, pd.Index)
    return next((kind.__name__ for kind in kinds if isinstance(value, kind)), "")


def _container(gold: Any, got: Any, rules: Rules, in_table: bool) -> str:
    if not any(isinstance(gold, kind) and isinstance(got, kind) for kind in _SAME):
        return f"a {type(got).__name__} where a {type(gold).__name__} was expected"
    if len(gold) != len(got):
        return f"a {type(got).__name__} of {len(got)} where {len(gold)} were expected"
    if isinstance(gold, dict):
        return _dict(gold, got, rules, in_table)
    if isinstance(gold, (set, frozenset)) or (isinstance(gold, list) and not rules.ordered):
        gold, got = sorted(gold, key=sort_key), sorted(got, key=sort_key)
    for place, (expected, found) in enumerate(zip(gold, got, strict=True)):
        problem = difference(expected, found, rules, in_table)
        if problem:
            return f"item {place}: {problem}"
    return ""


def _dict(gold: dict[Any, Any], got: dict[Any, Any], rules: Rules, in_table: bool) -> str:
    found = {_key(key): value for key, value in got.items()}
    for key, expected in gold.items():
        if _key(key) not in found:
            return f"no key {shown(key)}; there are {shown(list(got)[:5])}"
        problem = difference(expected, found[_key(key)], rules, in_table)
        if problem:
            return f"key {shown(key)}: {problem}"
    return ""


def _key(key: Any) -> Hashable:
    """A key that is equal for 1, 1.0 and numpy's 1, but not for True; and for all that is missing."""
    if isinstance(key, tuple):
        return tuple, tuple(_key(part) for part in key)
    if isinstance(key, frozenset):
        return frozenset, frozenset(_key(part) for part in key)
    key = plain(key)
    if is_missing(key, True):
        return None, None
    return ("number" if isinstance(key, (int, float)) and not isinstance(key, bool) else type(key)), key


def _told(gold: Any, got: Any) -> str:
    return f"{shown(got)} where {shown(gold)} was expected"
