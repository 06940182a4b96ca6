"""Results of analyses as bytes that can be read without running any of their code.

``take`` runs where the agent's code has run; whatever it gives is the agent's word. ``decode`` runs where results are
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgpack

from deskgym.envs.guest.kernel.values_decode import decode_value, unpacked
from deskgym.envs.guest.kernel.values_encode import encode
from deskgym.envs.guest.kernel.values_format import MAX_BYTES, Opaque

__all__ = ["Opaque", "answers", "decode", "decode_value", "encode", "take"]

_MESSAGE = 500


def take(namespace: Mapping[str, Any], wanted: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The wanted variables of ``namespace``.

    Args:
        namespace: variables by name.
        wanted: for each name ``{"type": result type}``, for a function or a model also ``"probes"``, encoded.

            - function: it is called with every probe, a tuple of arguments. The result is a list of
              ``("returned", value)`` and ``("raised", name of the exception)``.
            - model: the result is what its ``predict`` gives for the probes, a DataFrame or an array.
            - plot: the figure of that name, or the figure of the Axes of that name, or the current figure when there
              is nothing of that name. The result is ``{"png": bytes, "drawn": see drawn.drawn}``.
            - every other type: the value itself.

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


def answers(data: bytes) -> dict[str, dict[str, Any]]:
    """What ``take`` gave, by name, with the values still encoded.

    Raises:
        ValueError: it is not of ``take``.
    """
    found = unpacked(data)
    if not isinstance(found, dict) or not all(isinstance(answer, dict) for answer in found.values()):
        raise ValueError("not results: legal is what values.take gives")
    return {str(name): answer for name, answer in found.items()}


def decode(data: bytes) -> dict[str, dict[str, Any]]:
    """What ``take`` gave: ``{name: {"ok": value} | {"missing": True} | {"error": text}}``.

    Raises:
        ValueError: it is not of ``take``, or a value in it is not of ``encode``.
    """
    return {
        name: {key: decode_value(value) if key == "ok" else value for key, value in answer.items()}
        for name, answer in answers(data).items()
    }


def _result(namespace: Mapping[str, Any], name: str, details: Mapping[str, Any]) -> dict[str, Any]:
    try:
        kind = details["type"]
        if kind == "plot":
            from deskgym.envs.guest.kernel.figure_data import picture_of

            found = picture_of(namespace, name)
            return {"missing": True} if found is None else {"ok": encode(found)}
        if name not in namespace:
            return {"missing": True}
        return {"ok": encode(_PREPARE.get(kind, _itself)(namespace[name], details))}
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
    return [_outcome(function, probe) for probe in decode_value(details["probes"])]


def _outcome(function: Callable[..., Any], probe: Any) -> tuple[str, Any]:
    arguments = probe if isinstance(probe, tuple) else (probe,)
    try:
        return "returned", function(*arguments)
    except (Exception, SystemExit) as error:
        return "raised", type(error).__name__


def _predictions(model: Any, details: Mapping[str, Any]) -> Any:
    if not callable(getattr(model, "predict", None)):
        raise TypeError(f"a {type(model).__name__} is not a model: it has no method predict")
    return model.predict(decode_value(details["probes"]))


_PREPARE: dict[str, Callable[[Any, Mapping[str, Any]], Any]] = {"function": _outcomes, "model": _predictions}
