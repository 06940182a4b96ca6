"""The paper's comparison of results other than plots and models, holes and all (Tapilot-Crossing's evaluation code)."""

from __future__ import annotations

from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.rules import shown


def paper_difference(gold: Any, got: Any) -> str:
    """What differs, or ``""``.

    Data frames: equal index and shape; numeric columns by ``numpy.allclose`` with its default tolerances (so NaN
    differs from NaN), others by equality; a column whose name is missing may be any equal one, and one may be used
    twice. Everything else: ``==``, so True is 1.
    """
    import numpy as np
    import pandas as pd

    if isinstance(gold, pd.DataFrame):
        return _frame(gold, got) if isinstance(got, pd.DataFrame) else f"a {type(got).__name__}, not a DataFrame"
    if isinstance(gold, (pd.Series, pd.Index)):
        base = pd.Series if isinstance(gold, pd.Series) else pd.Index
        same = isinstance(got, base) and gold.equals(got)
    elif isinstance(gold, np.ndarray):
        same = isinstance(got, np.ndarray) and np.array_equal(gold, got)
    else:
        same = bool(gold == got)
    return "" if same else f"{shown(got)} where {shown(gold)} was expected"


def _frame(gold: Any, got: Any) -> str:
    if gold.shape != got.shape:
        return f"a table of shape {got.shape} where {gold.shape} was expected"
    if not gold.index.equals(got.index):
        return "the index differs"
    for place, name in enumerate(gold.columns):
        named = [at for at, label in enumerate(got.columns) if _same_label(name, label)]
        if not any(_same(gold.iloc[:, place], got.iloc[:, at]) for at in named or range(got.shape[1])):
            return f"no column like {shown(name)}"
    return ""


def _same_label(gold: Any, got: Any) -> bool:
    try:
        return bool(gold == got)
    except Exception:
        return False


def _same(gold: Any, got: Any) -> bool:
    import numpy as np
    from pandas.api.types import is_numeric_dtype

    if is_numeric_dtype(gold.dtype) and is_numeric_dtype(got.dtype):
        return bool(np.allclose(gold.to_numpy(float), got.to_numpy(float)))
    return bool((gold.to_numpy(object) == got.to_numpy(object)).all())
