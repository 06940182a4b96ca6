"""Models are compared by their score on rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.plain_values import plain
from deskgym.task_suites.table_analysis.guest.comparators.rules import GoldError

METRICS = ("r2", "accuracy", "f1")
_SLACK = 1e-9


def model_difference(gold: Any, got: Any, truth: Any, metric: str, mode: str) -> str:
    """``""`` when the predictions ``got`` score no worse than ``gold`` against ``truth``, or how they do.

    As the paper does for its classifiers: a model is right when its score is not below the reference's. ``r2`` is
    scikit-learn's, ``f1`` its macro average. The corrected mode forgives rounding: 1e-9. In both modes predictions of
    another number or shape than the rows are wrong.

    Raises:
        GoldError: the metric is unknown, or the reference's own predictions cannot be scored.
    """
    if metric not in METRICS:
        raise GoldError(f"metric {metric!r} of a model; legal are {', '.join(METRICS)}")
    try:
        score = _score(truth, metric)
        reference = score(gold)
    except Exception as error:
        raise GoldError(f"the reference's predictions cannot be scored: {type(error).__name__}: {error}") from error
    reached = score(got)
    slack = _SLACK if mode == "corrected" else 0.0
    if reached >= reference - slack:
        return ""
    return f"{metric} {reached:.6g} is below the reference's {reference:.6g}"


def _score(truth: Any, metric: str) -> Callable[[Any], float]:
    from sklearn import metrics

    prepare = _floats if metric == "r2" else _labels
    expected = prepare(truth)
    if not expected:
        raise ValueError("there are no true values")
    functions: dict[str, Callable[[Any, Any], float]] = {
        "r2": metrics.r2_score,
        "accuracy": metrics.accuracy_score,
        "f1": lambda right, found: metrics.f1_score(right, found, average="macro", zero_division=0.0),
    }

    def score(predictions: Any) -> float:
        found = prepare(predictions)
        if len(found) != len(expected):
            raise ValueError(f"{len(found)} predictions for {len(expected)} rows")
        return float(functions[metric](expected, found))

    return score


def _cells(values: Any) -> list[Any]:
    """The values of a list, an array or a table, in one column."""
    import numpy as np

    table = np.asarray(values, dtype=object) if isinstance(values, (list, tuple)) else np.asarray(values)
    if table.ndim == 2 and table.shape[1] == 1:
        table = table[:, 0]
    if table.ndim != 1:
        raise ValueError(f"predictions of shape {table.shape}; legal is one for each row")
    return [plain(value) for value in table]


def _floats(values: Any) -> list[float]:
    return [float(value) for value in _cells(values)]


def _labels(values: Any) -> list[str]:
    """Labels as texts: 1, 1.0 and True are the same."""
    return [str(float(value)) if isinstance(value, (int, float)) else str(value) for value in _cells(values)]
