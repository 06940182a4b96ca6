"""Whether results are those of the reference, in a machine of its own: nothing of the agent's runs here.

Two modes (``MODES``): ``paper`` compares as Tapilot-Crossing does, ``corrected`` mends its holes.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any

from deskgym.task_suites.table_analysis.guest.comparators.decode import answers, decode, decode_value
from deskgym.task_suites.table_analysis.guest.comparators.rules import GoldError, Rules, rules_of
from deskgym.task_suites.table_analysis.guest.results.value_format import Opaque

MODES = ("corrected", "paper")
KINDS = ("dataframe", "series", "list", "dict", "tuple", "value", "plot", "function", "model")
"""Types of results that are compared; choices are letters, compared on the host."""
_MESSAGE = 500


def compare_results(
    gold: bytes | Mapping[str, Mapping[str, Any]],
    got: bytes,
    intents: list[dict[str, Any]],
    mode: str = "corrected",
) -> list[dict[str, Any]]:
    """Compare what ``taking.take`` gave for the reference and for the agent, intent by intent.

    Args:
        gold: of the reference: bytes of ``take``, or what ``decode`` makes of them.
        got: of the agent: any bytes at all.
        intents: each ``{"name", "kind", "options"}``; for a model also ``"truth"``, the true values as the
            reference's kernel has pickled them, and ``"metric"``.
        mode: one of ``MODES``.

    Returns:
        For each intent ``{"name": str, "correct": bool, "message": str}``; the message says what differs.

    Raises:
        ValueError: the gold cannot be read, lacks a result or cannot be compared, or an intent or the mode is not
            legal. Nothing that is in ``got`` makes it raise.
    """
    golds = _golds(gold)
    try:
        gots = answers(got)
    except ValueError as error:
        return [_verdict(intent, False, f"no results: {error}") for intent in intents]
    return [_intent(golds, gots, intent, mode) for intent in intents]


def compare(
    gold: Any,
    got: Any,
    kind: str,
    options: Mapping[str, Any] | None = None,
    mode: str = "corrected",
    truth: Any = None,
    metric: str = "",
) -> tuple[bool, str]:
    """Compare one decoded result with the reference's.

    Args:
        gold: the reference's.
        got: the agent's, as ``decode_value`` gives it.
        kind: one of ``KINDS``.
        options: see ``rules.Rules``.
        mode: one of ``MODES``.
        truth: for a model, the true values of the rows that it predicts.
        metric: for a model, ``"r2"``, ``"accuracy"`` or ``"f1"``.

    Returns:
        Whether they agree, and if not, what differs.

    Raises:
        ValueError: the kind, an option, the mode or the gold is not legal.
    """
    if kind not in KINDS:
        raise ValueError(f"kind of result {kind!r}; legal are {', '.join(KINDS)}")
    if mode not in MODES:
        raise ValueError(f"comparator mode {mode!r}; legal are {', '.join(MODES)}")
    rules = rules_of(options or {})
    if kind == "model":
        from deskgym.task_suites.table_analysis.guest.comparators.models import model_difference

        return _decided(lambda: model_difference(gold, got, truth, metric, mode))
    if kind == "plot":
        from deskgym.task_suites.table_analysis.guest.comparators.plots import plot_difference

        return _decided(lambda: plot_difference(gold, got, rules, mode))
    return _decided(lambda: _difference(gold, got, rules, mode))


def _difference(gold: Any, got: Any, rules: Rules, mode: str) -> str:
    if mode == "paper":
        from deskgym.task_suites.table_analysis.guest.comparators.paper import paper_difference

        return paper_difference(gold, got)
    from deskgym.task_suites.table_analysis.guest.comparators.plain_values import difference

    return difference(gold, got, rules)


def _decided(find: Callable[[], str]) -> tuple[bool, str]:
    """Run a comparison. What the agent gave may make it fail in any way; then it is not what was asked for."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            message = find()
    except GoldError:
        raise
    except Exception as error:
        message = f"it cannot be compared: {type(error).__name__}: {error}"
    return not message, message[:_MESSAGE]


def _intent(golds: Mapping[str, Any], gots: Mapping[str, Any], intent: Mapping[str, Any], mode: str) -> dict[str, Any]:
    name = intent["name"]
    gold = golds.get(name, {"missing": True})
    if "ok" not in gold:
        raise GoldError(f"the reference has no result {name!r}: {gold.get('error', 'there is no such variable')}")
    truth = pickle.loads(intent["truth"]) if intent.get("truth") else None
    got, problem = _got(gots.get(name, {"missing": True}), name)
    if problem:
        return _verdict(intent, False, problem)
    correct, message = compare(
        gold["ok"], got, intent["kind"], intent.get("options"), mode, truth, intent.get("metric", "")
    )
    return _verdict(intent, correct, message)


def _got(answer: Mapping[str, Any], name: str) -> tuple[Any, str]:
    """The decoded value and ``""``, or None and why there is none."""
    if "ok" not in answer:
        reason = f"it could not be taken: {answer['error']}" if "error" in answer else "there is no such variable"
        return None, f"{name}: {reason}"
    try:
        return decode_value(answer["ok"]), ""
    except ValueError as error:
        return None, f"{name}: {error}"


def _golds(gold: bytes | Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    return decode(gold, _identified) if isinstance(gold, bytes) else gold


def _identified(opaque: Opaque) -> Opaque:
    """A part of the reference's result that could not be sent, if two of its text are the same thing."""
    if not opaque.comparable:
        raise GoldError(f"a result of type {opaque.kind} cannot be compared: {opaque.text}")
    return opaque


def _verdict(intent: Mapping[str, Any], correct: bool, message: str) -> dict[str, Any]:
    return {"name": intent["name"], "correct": correct, "message": message[:_MESSAGE]}
