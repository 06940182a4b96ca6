"""Stellarium's state, told over HTTP by the process that was launched."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.stellarium.program import get

_MINUTE = timedelta(minutes=1)


def state(machine: Machine) -> dict[str, Any]:
    """Place, time, view and what is switched on.

    Returns:
        ``place`` (such as ``"Vienna, Western Europe"``), ``planet``, ``latitude`` and ``longitude`` in degrees,
        ``time`` (universal, ISO 8601, to the next minute), ``rate`` (seconds of the sky per second), ``fov`` (degrees),
        ``selected`` (the object's name, or ""), ``on`` (the texts of all actions that are switched on, such as
        ``"Equatorial grid"``), ``projection``, ``landscape`` and ``culture`` (their keys).

    Raises:
        CheckFailed: it has ended, or somebody else answers.
    """
    try:
        status, actions = get(machine, "main/status"), get(machine, "stelaction/list")
        properties = {name: entry["value"] for name, entry in get(machine, "stelproperty/list").items()}
        selected = get(machine, "objects/info", format="json") if status["selectioninfo"] else {}
        place, time = status["location"], status["time"]
        return {
            "place": f"{place['name']}, {place['region']}", "planet": place["planet"],
            "latitude": place["latitude"], "longitude": place["longitude"],
            "time": _to_minute(time["utc"]), "rate": round(time["timerate"] * 86400, 3), "fov": status["view"]["fov"],
            "selected": selected.get("localized-name") or selected.get("name", ""),
            "on": sorted(each["text"] for group in actions.values() for each in group if each.get("isChecked")),
            "projection": properties["StelCore.currentProjectionTypeKey"].removeprefix("Projection"),
            "landscape": properties["LandscapeMgr.currentLandscapeID"],
            "culture": properties["StelSkyCultureMgr.currentSkyCultureID"],
        }  # fmt: skip
    except (GuestCallError, KeyError, ValueError) as error:
        raise CheckFailed(f"Stellarium does not answer: {error}") from None


def _to_minute(text: str) -> str:
    """A time in ISO 8601, to the next minute.

    Examples:
        >>> _to_minute("2024-01-15T21:59:59.800Z")
        '2024-01-15T22:00'
    """
    when = datetime.fromisoformat(text.removesuffix("Z")) + _MINUTE / 2
    return when.isoformat(timespec="minutes")
