"""The names that Tapilot-Crossing gives to domains, modes, actions and result types, and ours for them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from deskgym.task_suites.table_analysis.turns import ActionType, Mode

TABLES: Mapping[str, str] = {
    "atp_tennis": "atp_tennis.csv",
    "credit_card_risk": "credit_customers.csv",
    "fast_food": "fastfood.csv",
    "laptop_price": "laptops_price.csv",
    "melb_housing": "melb_data.csv",
}
"""The table of each domain. Both spellings ``ATP_tennis`` and ``atp_tennis`` are in use: compare in lower case."""

LIBRARY = "decision_company"
"""The module of private functions."""

RESULT_TYPES = (
    "dataframe", "series", "list", "dict", "tuple", "value", "array", "plot", "function", "model", "multi_choice",
    "unanswerable",
)  # fmt: skip
"""As in version 1.0's ``data/README.md``, plus what its prompts ask for."""

CHOICE_TYPES = ("multi_choice", "unanswerable")

_ACTIONS: Mapping[str, ActionType] = {
    "": "",
    "none": "",
    "null": "",
    "normal": "",
    "private": "",
    "code_gen": "",
    "correction": "update_code",
    "update_code": "update_code",
    "una": "fast_fail",
    "unanswerable": "fast_fail",
    "fast_fail": "fast_fail",
    "clarification": "clarification",
    "bg": "best_guess",
    "best_guess": "best_guess",
    "plotqa": "plot_qa",
    "plot_qa": "plot_qa",
    "analysis": "insight_mining",
    "conclude": "insight_mining",
    "insight_mining": "insight_mining",
}
_LENGTH = re.compile(r"^(short|meta|long)_")


def plain(word: str) -> str:
    """Lower case, with ``_`` between words."""
    return re.sub(r"[\s_-]+", "_", word.strip().lower())


def action_named(word: str) -> ActionType | None:
    """The action type that a word of the benchmark stands for, or None."""
    return _ACTIONS.get(plain(word).removeprefix("action_"))


def action_in(name: str) -> ActionType:
    """The action type that is part of a folder's name, such as ``turn_3_una_1``; ``""`` when none is."""
    tokens = plain(name)
    for word, action in _ACTIONS.items():
        if action and re.search(rf"(?<![a-z]){word}(?![a-z])", tokens):
            return action
    return ""


def mode_of(folder: str) -> Mode | None:
    """The mode of a folder such as ``normal``, ``meta_private`` or ``short_action_private``."""
    name = _LENGTH.sub("", plain(folder))
    modes: Mapping[str, Mode] = {
        "normal": "normal",
        "private": "private",
        "action": "action",
        "action_private": "private-action",
        "private_action": "private-action",
    }
    return modes.get(name)


def file_kind(stem: str) -> tuple[Mode, ActionType] | None:
    """What a JSONL file of version 1.0 holds, such as ``private_action_correction``; None for an unknown name."""
    rest = stem.removeprefix("private_")
    if not rest.startswith("action_"):
        return {"normal": ("normal", ""), "private": ("private", "")}.get(stem)  # type: ignore[return-value]
    action = action_named(rest)
    if not action:
        return None
    return ("action" if rest == stem else "private-action", action)


def table_of(domain: str) -> str | None:
    """The file name of a domain's table, or None for an unknown domain."""
    return TABLES.get(domain.lower())
