"""Takes the results of an analysis out of a kernel: bytes that can be read without running any of their code."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgpack

from deskgym.task_suites.table_analysis.guest.results.encode import encode
from deskgym.task_suites.table_analysis.guest.results.value_format import MAX_BYTES

_MESSAGE = 500


def take(namespace: Mapping[str, Any], wanted: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The wanted variables of ``namespace``.

    Args:
        namespace: variables by name.
        wanted: for each name ``{"type": result type}``, for a function or a model also ``"probes"``, pickled by
            the reference's kernel.

            - function: it is called with every probe, a tuple of arguments. The result is a list of
              ``("returned", value)`` and ``("raised", name of the exception)``.
            - model: the result is what its ``predict`` gives for the probes, a DataFrame or an array.
            - plot: the figure of that name, or the figure of the Axes of that name, or the current figure when there
              is nothing of that name. The result is ``{"png": bytes, "drawn": see figure_data.drawn}``.
            - every other type: the value itself; with ``"models": True`` pickles of the models in it, too.

    Returns:
        msgpack of ``{name: {"ok": encoded value} | {"missing": True} | {"error": text}}``, at most about ``MAX_BYTES``.
        Nothing that the values do makes it raise.
    """
    results: dict[str, dict[str, Any]] = {}
    left = MAX_BYTES - 100_000
    for name, details in wanted.items():
        result = _result(namespace, name, details)
        if len(result.get("ok", b"")) > left:
            result = {"error": f"the results together have more than {MAX_BYTES} bytes"}
        left -= len(result.get("ok", b""))
        results[name] = result
    data: bytes = msgpack.packb(results, use_bin_type=True, unicode_errors="surrogatepass")
    return data


def pickled(namespace: Mapping[str, Any], names: Sequence[str]) -> dict[str, bytes]:
    """Variables of the reference's kernel, for the probes of ``take``: the agent's kernel gets them as they are."""
    return {name: pickle.dumps(namespace[name]) for name in names}


def _result(namespace: Mapping[str, Any], name: str, details: Mapping[str, Any]) -> dict[str, Any]:
    try:
        kind = details["type"]
        if kind == "plot":
            from deskgym.task_suites.table_analysis.guest.results.figure_data import picture_of

            found = picture_of(namespace, name)
            return {"missing": True} if found is None else {"ok": encode(found)}
        if name not in namespace:
            return {"missing": True}
        value = _PREPARE.get(kind, _itself)(namespace[name], details)
        return {"ok": encode(value, models=details.get("models") is True)}
    except BaseException as error:
        return {"error": _described(error)}


def _described(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:_MESSAGE]
    except BaseException:
        return "an exception that cannot be shown"


def _itself(value: Any, details: Mapping[str, Any]) -> Any:
    return value


def _outcomes(function: Any, details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    if not callable(function):
        raise TypeError(f"a {type(function).__name__} is not a function")
    probes = [copy.deepcopy(probe) for probe in pickle.loads(details["probes"])]  # else they may share a table
    return [_outcome(function, probe) for probe in probes]


def _outcome(function: Callable[..., Any], probe: Any) -> tuple[str, Any]:
    arguments = probe if isinstance(probe, tuple) else (probe,)
    try:
        return "returned", function(*arguments)
    except (Exception, SystemExit) as error:
        return "raised", type(error).__name__


def _predictions(model: Any, details: Mapping[str, Any]) -> Any:
    if not callable(getattr(model, "predict", None)):
        raise TypeError(f"a {type(model).__name__} is not a model: it has no method predict")
    return model.predict(pickle.loads(details["probes"]))


_PREPARE: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {"function": _outcomes, "model": _predictions}
