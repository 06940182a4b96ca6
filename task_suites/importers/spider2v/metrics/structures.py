"""Metrics of JSON-able data: JSON and YAML files, and what a cloud service says of a user or of a log line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import yaml

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.task_suites.importers.spider2v.metrics.judging import (
    GoldBroken,
    Judging,
    Value,
    brief,
    content,
    metric,
    of_gold,
    rules_of,
    text,
)
from deskgym.task_suites.importers.spider2v.metrics.texts import has_word

MAX_YAML = 1 << 20  # bytes; its parser is slow


def parse_json(value: Value) -> Any:
    """A JSON file's data. Raises CheckFailed."""
    try:
        return json.loads(text(value))
    except (ValueError, RecursionError) as error:
        raise CheckFailed(f"it is no JSON: {brief(str(error))}") from None


@metric
def compare_json_file(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """Equal data; corrected: ``true`` is not 1, and records have no order where the instruction sets none."""
    with of_gold(expected):
        right = parse_json(expected)
    found = parse_json(result)
    if judging.corrected:
        equal = _canonical(found, judging.ordered) == _canonical(right, judging.ordered)
    else:
        equal = found == right
    return (1.0, "equal") if equal else (0.0, f"found {brief(found, 300)}, right is {brief(right, 300)}")


def _canonical(data: Any, ordered: bool) -> object:
    if not ordered and isinstance(data, list) and data and all(isinstance(item, dict) for item in data):
        return Counter(_written(item) for item in data)
    return _written(data)


def _written(data: Any) -> str:
    """Equal for equal data: numbers by value, keys sorted."""
    if isinstance(data, float) and data.is_integer():
        data = int(data)
    if isinstance(data, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_written(data[key])}" for key in sorted(data)) + "}"
    if isinstance(data, list):
        return "[" + ",".join(_written(item) for item in data) + "]"
    return json.dumps(data)


@metric
def check_yaml_file(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """All rules ``[match | in | contain | not_null, keys, value]`` hold; corrected: ``contain`` a word of its own."""
    if not isinstance(expected, list):
        raise GoldBroken(f"the rules are {brief(expected)}, no list")
    data = content(result)
    if len(data) > MAX_YAML:
        return 0.0, f"it has more than {MAX_YAML >> 20} MiB"
    try:
        config = yaml.safe_load(text(data))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return 0.0, f"it is no YAML: {brief(str(error))}"
    for rule in expected:
        if not isinstance(rule, list) or len(rule) != 3 or rule[0] not in ("match", "in", "contain", "not_null"):
            raise GoldBroken(f"{brief(rule)} is no rule for a YAML file")
        kind, path, right = rule
        try:
            found = config
            for key in path:
                found = _step(found, key)
            holds = _holds(kind, found, right, judging.corrected)
        except (LookupError, TypeError, ValueError) as error:
            return 0.0, f"{path}: {type(error).__name__}: {brief(str(error))}"
        if not holds:
            return 0.0, f"{path} is {brief(found)}; it should {kind} {brief(right)}"
    return 1.0, f"all {len(expected)} rules hold"


def _step(found: Any, key: Any) -> Any:
    if isinstance(found, dict):
        return found[key]
    if isinstance(key, list):
        name, wanted = key
        return next(item for item in [*found, None] if item is None or item[name] == wanted)
    return found[int(key)]


def _holds(kind: str, found: Any, right: Any, corrected: bool) -> bool:
    if kind == "match":
        return bool(found == right)
    if kind == "in":
        return found in right
    if kind == "not_null":
        return bool(found)
    return has_word(right, found) if corrected and isinstance(found, str) else right in found


@metric
def check_snowflake_log_message(result: Value, expected: Value, judging: Judging) -> tuple[float, str]:
    """A log line's severity and message are as wanted."""
    rules = rules_of(expected)
    if not isinstance(result, Mapping):
        return 0.0, f"the result is {brief(result)}, no log line"
    for key in ("severity", "message"):
        with of_gold(expected):
            right = rules[key]
        if result.get(key) != right:
            return 0.0, f"its {key} is {brief(result.get(key))}, right is {brief(right)}"
    return 1.0, "the log line is there"


@metric
def is_snowflake_user_created(
    result: Value, expected: Value, judging: Judging, *, settings_file: object = None
) -> tuple[float, str]:
    """A user's properties and roles are as wanted, and ``PASSWORD`` is right.

    Upstream logs in at Snowflake with the password. Here the getter does it, and says so as ``PASSWORD_WORKS``.
    """
    rules = rules_of(expected)
    if not isinstance(result, Mapping):
        return 0.0, f"the result is {brief(result)}, no user"
    for key, right in rules.items():
        if key.upper() not in ("PASSWORD", "ROLE") and result.get(key.upper()) != str(right):
            return 0.0, f"{key} is {brief(result.get(key.upper()))}, right is {brief(right)}"
    if "PASSWORD" in rules and "PASSWORD_WORKS" not in result:
        raise GoldBroken("whether a password works is known to a Snowflake account alone, and there is none")
    if "PASSWORD" in rules and not result["PASSWORD_WORKS"]:
        return 0.0, "the password is wrong"
    roles = rules.get("ROLE", [])
    missing = [role for role in ([roles] if isinstance(roles, str) else roles) if role not in result.get("ROLE", ())]
    return (0.0, f"it has not the roles {missing}") if missing else (1.0, "the user is there")
