"""What GRASS's window holds, told by the process that was launched."""

from __future__ import annotations

from typing import Any

from deskgym.envs.evaluation.evaluator import CheckFailed
from deskgym.envs.machines.base import Machine
from deskgym.task_suites.programs.grass.window import dump

SEEN = 0.1
"""A layer that is less opaque is not seen."""


def state(machine: Machine) -> dict[str, Any]:
    """The window's session, and its current map display.

    Returns:
        ``location``, ``mapset``; ``shown`` (the maps whose layers are switched on and can be seen, from the top on),
        ``hidden`` (the other ones); by map the ``label`` of its row, its ``opacity`` (0 to 1) and the ``options`` of
        the command that draws it, where two layers of one map are one; ``centre`` (degrees east, north) and ``scale``
        (the number after 1:) of what is seen, ``status`` (what the bar below the map shows), ``edited`` (the map in
        the digitizer) and ``view``.

    Raises:
        CheckFailed: GRASS has ended or does not answer.
    """
    told = dump(machine)
    if "layers" not in told:
        raise CheckFailed("GRASS's window has no map display any more")
    layers = [each for each in told["layers"] if each["name"]]  # groups and commands have no map
    rows = list(reversed(layers))  # so that of one map's the top one counts
    seen = [each["name"] for each in layers if each["checked"] and each["active"] and each["opacity"] >= SEEN]
    region = told["region"]
    return {
        "location": told["location"], "mapset": told["mapset"], "shown": seen,
        "hidden": [each["name"] for each in layers if each["name"] not in seen],
        "label": {each["name"]: each["text"] for each in rows},
        "opacity": {each["name"]: round(each["opacity"] or 0.0, 2) for each in rows},
        # what is drawn counts: the command of a row is drawn when it is applied
        "options": {each["name"]: dict(each["drawn"][1]) if each["drawn"] else {} for each in rows},
        "centre": [round(region["center_easting"], 2), round(region["center_northing"], 2)],
        "scale": round(told["scale"]), "status": told["status"], "edited": told["edited"], "view": told["view"],
    }  # fmt: skip
