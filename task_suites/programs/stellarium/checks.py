"""Where Stellarium looks, and what Stellarium, in the clean machine, says of an object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.errors import GuestCallError
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.answer import answered
from deskgym.envs.evaluation.evaluator import CheckFailed, CheckFunction, Outcome
from deskgym.envs.evaluation.readers.clean_run import open_clean
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.stellarium.program import get, open_
from deskgym.task_suites.programs.toolkits.sky import Kind, agrees, apart


def looks_at(final: FinalState, object: str, place: str, time: str, within: float = 1.0) -> Outcome:
    """The middle of the view is where an object stands or, lifted by the air, is seen, as Stellarium elsewhere says.

    Near the horizon the two are half a degree apart, and it is the one seen that "find" brings to the middle.

    Args:
        final: the final state.
        object: its name.
        place: as in ``stellarium.open``.
        time: as in ``stellarium.open``.
        within: how far it may be from there, in degrees.
    """
    (ra, dec), (azimuth, altitude) = final.read_once("stellarium:view", _view)
    right = _about(final, object, place, time)
    away = min(
        apart(ra, dec, float(right["raJ2000"]), float(right["decJ2000"])),
        apart(azimuth, altitude, float(right["azimuth"]), lifted(float(right["altitude"]))),
    )
    return away <= within, f"the middle of the view is {away:.2f}° from {object}"


def lifted(altitude: float) -> float:
    """The altitude at which an object is seen through the air, by Saemundsson's formula, as Stellarium has it.

    Examples:
        >>> round(lifted(0.0), 2), round(lifted(45.0), 2), lifted(-30.0)
        (0.48, 45.02, -30.0)
    """
    if altitude < -1:
        return altitude
    return altitude + 1.02 / 60 / math.tan(math.radians(altitude + 10.3 / (altitude + 5.11)))


def _view(machine: Machine) -> tuple[tuple[float, float], tuple[float, float]]:
    """Right ascension and declination (J2000), and azimuth and altitude, of the middle of the view, in degrees."""
    try:
        view = get(machine, "main/view")
        fixed, local = _angles(json.loads(view["j2000"])), _angles(json.loads(view["altAz"]))
    except (GuestCallError, KeyError, ValueError) as error:
        raise CheckFailed(f"Stellarium does not answer: {error}") from None
    return fixed, (180 - local[0], local[1])  # its axis points south, and it counts to the east


def _angles(direction: tuple[float, float, float]) -> tuple[float, float]:
    """Longitude and latitude of a direction, in degrees."""
    x, y, z = direction
    return math.degrees(math.atan2(y, x)), math.degrees(math.atan2(z, math.hypot(x, y)))


def answer(
    final: FinalState,
    object: str,
    field: str,
    place: str,
    time: str,
    kind: Kind = "text",
    within: float = 0.0,
    units: list[str] | None = None,
) -> Outcome:
    """The agent's answer is what Stellarium says of an object, in the clean machine, at this place and time.

    Args:
        final: the final state.
        object: its name.
        field: of what its remote control tells, such as ``altitude`` or ``vmag``.
        place: as in ``stellarium.open``.
        time: as in ``stellarium.open``.
        kind: a number, a text, or a time of day.
        within: how much a number may differ, or a time in minutes.
        units: what may stand after a number.
    """
    got = answered(final)
    told = _about(final, object, place, time)
    if field not in told:
        raise RuntimeError(f"Stellarium tells no {field!r} of {object}; it tells {', '.join(sorted(told))}")
    right = str(told[field])
    return agrees(got, right, kind, within, units), f"it says {shown(got)}; right is {right}"


def _about(final: FinalState, object: str, place: str, time: str) -> dict[str, Any]:
    return dict(
        final.read_once(f"stellarium:{object}:{place}:{time}", lambda _: _ask(final, object, place, time)),
    )


def _ask(final: FinalState, object: str, place: str, time: str) -> Any:
    clean = open_clean(final, "ask Stellarium")
    open_(Setup(clean), place, time)
    return get(clean, "objects/info", name=object, format="json")


CHECKS: Mapping[str, CheckFunction] = {"stellarium.looks_at": looks_at, "stellarium.answer": answer}
"""By the names that task files use."""
