"""The corrected comparison of one-dimensional arrays of numpy and pandas, of whatever dtypes."""

from __future__ import annotations

from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.plain_values import difference, rounded, sort_key
from deskgym.task_suites.table_analysis.guest.comparators.rules import Rules
from deskgym.task_suites.table_analysis.guest.results.value_format import MASKED


def column_difference(gold: Any, got: Any, rules: Rules) -> str:
    """What differs between two columns, or ``""``: values in order; of dtypes only that a bool is no number."""
    if len(gold) != len(got):
        return f"{len(got)} values where {len(gold)} were expected"
    numbers = _numbers(gold), _numbers(got)
    if numbers[0] is not None and numbers[1] is not None:
        return _first(gold, got, _close(*numbers[0], *numbers[1], rules))
    if _alike(gold, got):
        return _first(gold, got, _same_or_missing(gold, got))
    texts = _texts(gold), _texts(got)
    if texts[0] is not None and texts[1] is not None:
        return _first(gold, got, texts[0] == texts[1])
    return _cells(gold, got, rules)


def ranks(gold: Any, got: Any) -> tuple[Any, Any, bool]:
    """Sort keys of two columns: int arrays of the same values' ranks; and whether the values are numbers."""
    import numpy as np
    import pandas as pd

    numbers, texts = (_numbers(gold), _numbers(got)), (_texts(gold), _texts(got))
    if numbers[0] is not None and numbers[1] is not None:
        keys = [rounded(value) for column in numbers if column for value in _filled(*column).tolist()]
        order = pd.factorize(np.asarray(keys, dtype=float), sort=True)[0]
    elif texts[0] is not None and texts[1] is not None:
        order = pd.factorize(np.concatenate(texts), sort=True)[0]
    elif _alike(gold, got):
        order = pd.factorize(pd.Index(gold).append(pd.Index(got)), sort=True)[0]
    else:
        cells = [sort_key(value) for column in (gold, got) for value in _objects(column).tolist()]
        places = {repr(key): place for place, key in enumerate(sorted(cells))}
        order = np.fromiter((places[repr(key)] for key in cells), int, len(cells))
    return order[: len(gold)], order[len(gold) :], numbers[0] is not None


def _filled(values: Any, mask: Any) -> Any:
    import numpy as np

    return np.where(mask, np.nan, values.astype(float))


def _numbers(column: Any) -> tuple[Any, Any] | None:
    """Values and mask of a column of numbers; None for every other."""
    import numpy as np

    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column, np.ndarray):
        if kind in "iu":
            return column, np.zeros(column.shape, bool)
        return (column, np.isnan(column)) if kind == "f" else None
    if kind not in "iuf" or column.dtype.name not in MASKED:
        return None
    return column.to_numpy(column.dtype.numpy_dtype, na_value=column.dtype.type(0)), column.isna()


def _close(gold: Any, gold_mask: Any, got: Any, got_mask: Any, rules: Rules) -> Any:
    """Where two arrays of numbers agree."""
    import numpy as np

    if rules.exact and gold.dtype.kind in "iu" and got.dtype.kind in "iu":
        same = gold == got
    else:
        same = (gold == got) | np.isclose(
            got.astype(float), gold.astype(float), rtol=rules.relative, atol=rules.absolute
        )
    return (gold_mask & got_mask) | (same & ~gold_mask & ~got_mask)


def _alike(gold: Any, got: Any) -> bool:
    """Both columns hold bools without a mask, durations, or moments that both have a time zone or both have none."""
    import numpy as np

    kinds = [getattr(column.dtype, "kind", "O") for column in (gold, got)]
    if kinds[0] != kinds[1] or kinds[0] not in "bmM":
        return False
    if kinds[0] == "b":
        return isinstance(gold, np.ndarray) and isinstance(got, np.ndarray)
    return hasattr(gold.dtype, "tz") == hasattr(got.dtype, "tz")


def _same_or_missing(gold: Any, got: Any) -> Any:
    import numpy as np
    import pandas as pd

    return np.asarray(gold == got) | (pd.isna(gold) & pd.isna(got))


def _texts(column: Any) -> Any:
    """The objects of a column of texts, None where one is missing; None for every other column."""
    import numpy as np
    import pandas as pd

    objects = _objects(column)
    if pd.api.types.infer_dtype(objects, skipna=True) != "string":
        return None
    return np.where(pd.isna(objects), None, objects)


def _objects(column: Any) -> Any:
    import numpy as np

    if isinstance(column, np.ndarray):
        return np.fromiter(list(column), dtype=object, count=len(column))
    return np.asarray(column.astype(object), dtype=object)


def _cells(gold: Any, got: Any, rules: Rules) -> str:
    for place, (expected, found) in enumerate(zip(_objects(gold), _objects(got), strict=True)):
        problem = difference(expected, found, rules, in_table=True)
        if problem:
            return f"row {place}: {problem}"
    return ""


def _first(gold: Any, got: Any, same: Any) -> str:
    import numpy as np

    wrong = np.flatnonzero(~np.asarray(same, dtype=bool))
    if not len(wrong):
        return ""
    place = int(wrong[0])
    return f"row {place}: {got[place]} where {gold[place]} was expected ({len(wrong)} differ)"[:200]
