"""Checks that call a task file's own lambdas on what a program tells of itself: ScienceBoard's ``info``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.evaluator import Outcome
from deskgym.task_suites.importers.lambda_language import LambdaError
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem

Dump = Callable[[FinalState], Mapping[str, Any]]


def info(item: CheckItem, dump: Dump) -> Callable[[FinalState], Outcome]:
    """What decides about an ``info``: ``pred(key(dump), value)``, and equality where there is no ``pred``."""
    return partial(_decide, item=item, dump=dump)


def _decide(final: FinalState, item: CheckItem, dump: Dump) -> Outcome:
    told = dump(final)
    try:
        value = item["key"](told)
        passed = item["pred"](value, item["value"]) if "pred" in item.values else value == item["value"]
    except LambdaError as error:
        return False, f"nothing that the program tells fits: {error}"
    return bool(passed), f"it finds {shown(value)}; right is {shown(item['value'])}"
