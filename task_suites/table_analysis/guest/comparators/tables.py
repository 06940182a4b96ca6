"""The corrected comparison of pandas' tables and numpy's arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.columns import column_difference, ranks
from deskgym.task_suites.table_analysis.guest.comparators.matching import pairing
from deskgym.task_suites.table_analysis.guest.comparators.plain_values import difference
from deskgym.task_suites.table_analysis.guest.comparators.rules import Rules, shown


def table_difference(kind: str, gold: Any, got: Any, rules: Rules) -> str:
    """What differs, or ``""``, between two results of ``kind`` DataFrame, Series, Index or array.

    Dtypes and, unless ``rules.names``, the names of columns do not count: a column of another name may be any equal
    one, each used once. The order of columns never counts, that of rows does unless ``rules.ordered`` is false.
    """
    return _KINDS[kind](gold, got, rules)


def _frame(gold: Any, got: Any, rules: Rules) -> str:
    if gold.shape != got.shape:
        return f"a table of shape {got.shape} where {gold.shape} was expected"
    columns, problem = _paired(gold, got, rules)
    if problem:
        return problem
    golds = [_column(gold, place) for place in range(gold.shape[1])]
    gots = [_column(got, place) for place in columns]
    return _rows(gold.index, got.index, golds, gots, [shown(name) for name in gold.columns], rules)


def _series(gold: Any, got: Any, rules: Rules) -> str:
    if len(gold) != len(got):
        return f"a series of {len(got)} where {len(gold)} were expected"
    if rules.names and difference(gold.name, got.name, rules, in_table=True):
        return f"a series named {shown(got.name)} where {shown(gold.name)} was expected"
    return _rows(gold.index, got.index, [_plain(gold.array)], [_plain(got.array)], ["values"], rules)


def _index(gold: Any, got: Any, rules: Rules) -> str:
    if len(gold) != len(got):
        return f"an index of {len(got)} where {len(gold)} were expected"
    problem = _labels(gold, got, rules)
    return problem or _rows(None, None, _levels(gold), _levels(got), ["index"] * gold.nlevels, rules)


def _array(gold: Any, got: Any, rules: Rules) -> str:
    if gold.shape != got.shape:
        return f"an array of shape {got.shape} where {gold.shape} was expected"
    if gold.dtype.names or got.dtype.names:
        return _records(gold, got, replace(rules, ordered=True))
    if gold.ndim > 1:
        return column_difference(_plain(gold.reshape(-1)), _plain(got.reshape(-1)), rules)
    return _rows(None, None, [_plain(gold)], [_plain(got)], ["values"], rules)


def _records(gold: Any, got: Any, rules: Rules) -> str:
    """What differs between two arrays of records, field by field."""
    import numpy as np

    if gold.dtype.names != got.dtype.names:
        return f"records of {shown(got.dtype.names)} where {shown(gold.dtype.names)} were expected"
    parts = ((name, _array(np.asarray(gold[name]), np.asarray(got[name]), rules)) for name in gold.dtype.names)
    return next((f"{name}: {problem}" for name, problem in parts if problem), "")


def _rows(gold_index: Any, got_index: Any, golds: list[Any], gots: list[Any], names: list[str], rules: Rules) -> str:
    """What differs between columns in the same order, and the indexes where they count."""
    if rules.index and gold_index is not None:
        problem = _labels(gold_index, got_index, rules)
        if problem:
            return problem
        golds, gots = [*_levels(gold_index), *golds], [*_levels(got_index), *gots]
        names = ["index"] * gold_index.nlevels + names
    if not rules.ordered and golds:
        golds, gots = _sorted(golds, gots)
    for name, expected, found in zip(names, golds, gots, strict=True):
        problem = column_difference(expected, found, rules)
        if problem:
            return f"{name}: {problem}"
    return ""


def _labels(gold: Any, got: Any, rules: Rules) -> str:
    """What differs between two indexes, apart from their values."""
    if gold.nlevels != got.nlevels:
        return f"an index of {got.nlevels} levels where {gold.nlevels} were expected"
    if rules.names and difference(list(gold.names), list(got.names), Rules(), in_table=True):
        return f"index names {shown(list(got.names))} where {shown(list(gold.names))} were expected"
    return ""


def _sorted(golds: list[Any], gots: list[Any]) -> tuple[list[Any], list[Any]]:
    """Both tables with their rows sorted: by what are no numbers first, which no rounding can bring out of order."""
    import numpy as np

    keys = [ranks(expected, found) for expected, found in zip(golds, gots, strict=True)]
    keys.sort(key=lambda key: key[2])
    orders = (np.lexsort([key[side] for key in reversed(keys)]) for side in (0, 1))
    gold_order, got_order = orders
    return [column[gold_order] for column in golds], [column[got_order] for column in gots]


def _paired(gold: Any, got: Any, rules: Rules) -> tuple[list[int], str]:
    """For each of gold's columns the place of the one in got, or what is wrong with them."""
    labels, names = list(got.columns), list(gold.columns)
    taken: dict[int, int] = {}
    for place, name in enumerate(names):
        same = (at for at, label in enumerate(labels) if at not in taken.values() and _same_name(name, label))
        found = next(same, None)
        if found is not None:
            taken[place] = found
    rest = [place for place in range(len(names)) if place not in taken]
    free = [place for place in range(len(labels)) if place not in taken.values()]
    if rest and rules.names:
        return [], f"no column {shown(names[rest[0]])}; there are {shown(labels)}"
    columns = pairing(
        [_column(gold, place) for place in rest],
        [_column(got, place) for place in free],
        lambda expected, found: _same_column(expected, found, rules),
    )
    if columns is None:
        return [], f"no columns like {shown([names[place] for place in rest])} in {shown(labels)}"
    taken.update(zip(rest, (free[at] for at in columns), strict=True))
    return [taken[place] for place in range(len(names))], ""


def _same_name(gold: Any, got: Any) -> bool:
    return not difference(gold, got, Rules(), in_table=True)


def _same_column(gold: Any, got: Any, rules: Rules) -> bool:
    if not rules.ordered:
        (gold,), (got,) = _sorted([gold], [got])
    return not column_difference(gold, got, rules)


def _levels(index: Any) -> list[Any]:
    return [_plain(index.get_level_values(level).array) for level in range(index.nlevels)]


def _column(table: Any, place: int) -> Any:
    return _plain(table.iloc[:, place].array)


def _plain(column: Any) -> Any:
    """A numpy array where pandas only wraps one, or where a kind of column says no more: categories, masks, sparse."""
    import numpy as np
    import pandas as pd

    if isinstance(column, np.ma.MaskedArray):
        cells = np.ma.getdata(column).astype(object)
        cells[np.ma.getmaskarray(column)] = None
        return cells
    if isinstance(column, np.matrix):
        return column.A1
    if isinstance(column, pd.Categorical):
        column = column.categories.array.take(column.codes, allow_fill=True)
    if isinstance(column, pd.arrays.SparseArray):
        return column.to_dense()
    wrapped = (
        isinstance(column.dtype, np.dtype) and not isinstance(column, np.ndarray) and column.dtype.kind not in "mM"
    )
    return column.to_numpy() if wrapped or isinstance(column.dtype, pd.ArrowDtype) else column


_KINDS: dict[str, Callable[[Any, Any, Rules], str]] = {
    "DataFrame": _frame,
    "Series": _series,
    "Index": _index,
    "array": _array,
}
