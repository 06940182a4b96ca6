"""Settings that become a part of a private function instead of a parameter: what ``settings.yaml`` says of them."""

from __future__ import annotations

from collections.abc import Mapping

from deskgym.task_suites.table_analysis.private.data import read

CLAUSES: Mapping[str, Mapping[str, str]] = read("settings")["clauses"]
AXES: Mapping[str, Mapping[str, str]] = read("settings")["axes"]
TURNS: Mapping[str, tuple[str, list[str]]] = read("settings")["turns"]
DEFAULTS: Mapping[str, str] = read("settings")["defaults"]
UNUSED: Mapping[str, str] = read("settings")["unused"]


def clause(op: str, keyword: str, value: str) -> str:
    """The sentence for a constant setting given as source, or ``""`` if it stays a parameter."""
    if keyword == "axis":
        return AXES.get(op, AXES[""]).get(value, "")
    return CLAUSES.get(keyword, {}).get(value, "")
