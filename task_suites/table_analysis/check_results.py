"""Judges what code of a turn left on the host, as the comparing machine judges what an agent's code left."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from typing import Any

from deskgym.envs.errors import TaskError
from deskgym.task_suites.table_analysis import host_run
from deskgym.task_suites.table_analysis.guest import comparators, results
from deskgym.task_suites.table_analysis.sampling import SampledDialogue


def expressions(sampled: SampledDialogue, k: int, reference: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Probes and true values of the functions and models of turn ``k``, by variable.

    Raises:
        TaskError: an expression of the file failed.
    """
    turn, name = sampled.file.turns[k], sampled.name(k)

    def value(text: str | None) -> Any:
        text = sampled.fill(k, text or "")
        return host_run.evaluate(reference, text, sampled.domain, sampled.variant, name) if text else None

    return {result: (value(turn.probes.get(result)), value(turn.truth.get(result))) for result in turn.result}


def taken(
    sampled: SampledDialogue, k: int, namespace: Mapping[str, Any], given: Mapping[str, tuple[Any, Any]]
) -> bytes:
    """The results that ``namespace`` holds, as the comparator takes them."""
    kinds = sampled.file.turns[k].result
    wanted: dict[str, dict[str, Any]] = {name: {"type": kind} for name, kind in kinds.items()}
    for name in kinds:
        if given[name][0] is not None:
            wanted[name]["probes"] = pickle.dumps(given[name][0])
    return results.take(namespace, wanted)


def right(
    sampled: SampledDialogue, k: int, gold: bytes, got: bytes, given: Mapping[str, tuple[Any, Any]]
) -> dict[str, str | None]:
    """For each variable None where ``got`` is as ``gold``, else what differs.

    Raises:
        TaskError: the gold cannot be compared.
    """
    turn = sampled.file.turns[k]
    intents: list[dict[str, Any]] = []
    for name, kind in turn.result.items():
        intent: dict[str, Any] = {"name": name, "kind": kind, "options": dict(turn.compare.get(name, {}))}
        if kind == "model":
            intent |= {"metric": turn.metric[name], "truth": pickle.dumps(given[name][1])}
        intents.append(intent)
    try:
        verdicts = comparators.compare_results(gold, got, intents, "corrected")
    except ValueError as error:
        raise TaskError(f"{sampled.name(k)}: {error}") from error
    return {v["name"]: None if v["correct"] else v.get("message", "") for v in verdicts}


def mistyped(value: Any, kind: str) -> bool:
    """Whether a result is not of its declared type."""
    import pandas as pd

    types: dict[str, Any] = {"dataframe": pd.DataFrame, "series": pd.Series, "list": list, "dict": dict, "tuple": tuple}
    if kind in types:
        return not isinstance(value, types[kind])
    if kind == "function":
        return not callable(value)
    if kind == "model":
        return not hasattr(value, "predict")
    if kind == "plot":
        return not hasattr(value, "savefig")
    return isinstance(value, (pd.DataFrame, pd.Series, list, dict, tuple)) or value is None
