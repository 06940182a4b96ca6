"""Where KStars' sky map looks, and what KStars, in the clean machine, answers to a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deskgym.envs.episode import FinalState
from deskgym.envs.evaluation.calls import shown
from deskgym.envs.evaluation.checks.answer import answered
from deskgym.envs.evaluation.evaluator import CheckFunction, Outcome
from deskgym.envs.evaluation.readers.clean_run import open_clean
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.programs.kstars import state
from deskgym.task_suites.programs.kstars.program import open_
from deskgym.task_suites.programs.toolkits.sky import Kind, agrees, apart


def looks_at(
    final: FinalState,
    object: str | None = None,
    at: list[float] | None = None,
    within: float = 1.0,
    width: float | None = None,
) -> Outcome:
    """The sky map's centre is an object, or a right ascension and declination; and the map is so wide.

    Args:
        final: the final state.
        object: its name.
        at: right ascension and declination of now, in degrees.
        within: how far the centre may be from there, in degrees.
        width: of the map at its centre, in degrees; a tenth less or more will do.
    """
    ra, dec, wide = final.read_once("kstars:centre", state.centre)
    if object is not None:
        place = final.read_once(f"kstars:{object}", lambda machine: state.position(machine, object))
        at = [float(place["RA_Degrees"]), float(place["Dec_Degrees"])]
    if at is not None and (away := apart(ra, dec, at[0], at[1])) > within:
        return False, f"the map's centre, {ra:.2f}° and {dec:.2f}°, is {away:.2f}° from {object or at}"
    if width is not None and abs(wide / width - 1) > 0.1:
        return False, f"the map is {wide:.2f}° wide; right is {width}°"
    return True, f"the map's centre is {ra:.2f}° and {dec:.2f}°, and it is {wide:.2f}° wide"


def answer(
    final: FinalState,
    object: str,
    field: str,
    place: list[str],
    time: str,
    kind: Kind = "text",
    within: float = 0.0,
    units: list[str] | None = None,
) -> Outcome:
    """The agent's answer is what KStars says of an object, in the clean machine, at this place and time.

    Args:
        final: the final state.
        object: its name.
        field: one of what ``getObjectPositionInfo`` or ``getObjectDataXML`` tells, such as ``Altitude_Degrees``.
        place: as in ``kstars.open``.
        time: as in ``kstars.open``.
        kind: a number, a text, or a time of day.
        within: how much a number may differ, or a time in minutes.
        units: what may stand after a number.
    """
    return says(final, answered(final), object, field, place, time, kind, within, units)


def says(
    final: FinalState,
    got: str,
    object: str,
    field: str,
    place: list[str],
    time: str,
    kind: Kind,
    within: float,
    units: list[str] | None = None,
) -> Outcome:
    """Whether a text is what KStars says; see ``answer``."""
    right = final.read_once(
        f"kstars:{place}:{time}:{object}:{field}", lambda _: _ask(final, object, field, place, time)
    )
    said = f"it says {shown(got)}; right is {right}"
    return agrees(got, right, kind, within, units), said


def _ask(final: FinalState, object: str, field: str, place: list[str], time: str) -> Any:
    clean = open_clean(final, "ask KStars")
    open_(Setup(clean), place, time)
    return {**state.about(clean, object), **state.position(clean, object)}[field]


CHECKS: Mapping[str, CheckFunction] = {"kstars.looks_at": looks_at, "kstars.answer": answer}
"""By the names that task files use."""
