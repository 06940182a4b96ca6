"""ScienceBoard's tasks about GRASS GIS that run on maps of our own, under the names that its own have.

Upstream's maps are in its VM image only. Of its tasks some ask for nothing but how a map is shown: they are the same
task on the countries of Natural Earth, which deskgym's location of the same name has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from deskgym.envs.action.actions import Action
from deskgym.envs.episode import Bursts, FinalState, Screen
from deskgym.envs.evaluation.evaluator import Outcome
from deskgym.envs.needs import Needs
from deskgym.task_suites.core.task import Hook
from deskgym.task_suites.importers.scienceboard import dumps
from deskgym.task_suites.importers.scienceboard.check_items import CheckItem
from deskgym.task_suites.importers.scienceboard.task import UpstreamTask
from deskgym.task_suites.programs import load_program

GRASS = load_program("grass")
NOTE = "played on maps of deskgym's own, made of Natural Earth's data, under the names that upstream's have"

Move = Callable[[Screen], Bursts]


def _do(macro: str, *arguments: Any, **options: Any) -> Move:
    return lambda screen: GRASS.macros[f"grass.{macro}"](screen, *arguments, **options)


def _wait(screen: Screen) -> Bursts:
    yield [Action("wait", seconds=2.0)]


_SWITCH = _do("command", "g.mapset location=natural_earth_dataset mapset=PERMANENT")

#: What solves each task, and what is a mistake: tasks that ask how a map is shown, and nothing of what is in it.
MOVES: Mapping[str, tuple[Sequence[Move], Sequence[Move]]] = {
    "GrassGIS/A-01": ([_SWITCH, _do("add", ["countries@PERMANENT"])], [_SWITCH]),
    "GrassGIS/A-02": ([_do("remove"), _do("add", ["countries@PERMANENT"])], [_do("add", ["countries@PERMANENT"])]),
    "GrassGIS/A-04": ([_do("choose", "Start editing"), _wait], [_do("choose", "Zoom to selected map(s)")]),
    "GrassGIS/A-05": ([_do("status", "Display geometry")], [_do("status", "Map scale")]),
    "GrassGIS/A-06": ([_do("scale", 400)], [_do("scale", 4000)]),
    "GrassGIS/A-07": ([_do("scale", 400), _do("goto", 25, 20)], [_do("scale", 400), _do("goto", 20, 25)]),
    "GrassGIS/B-01": ([_do("opacity", 50)], [_do("opacity", 40)]),
    "GrassGIS/B-02": ([_do("rename", "country_boundaries")], [_do("rename", "countries")]),
}
_SETUP = ("execute", "launch", "map", "layer")
_LAYERS = {"countries": "d.vect", "cities": "d.vect", "natural_earth": "d.rast"}


def on_own_maps(task: UpstreamTask) -> bool:
    """Whether a task can be played on deskgym's own maps."""
    known = all(item.func in _SETUP for item in task.initialize)
    layers = [item["query"] for item in task.initialize if item.func == "layer"]
    infos = all(item.type == "info" for item in task.evaluate)
    return task.id in MOVES and known and infos and all(name in _LAYERS for name in layers)


def needs(task: UpstreamTask) -> Needs:
    """What GRASS needs."""
    return GRASS.all_needs


def hooks(task: UpstreamTask) -> list[Hook]:
    """The setup: GRASS in the location that upstream switches to or starts in, with the layers that it adds."""
    locations = [item["location"] for item in task.initialize if item.func == "map"]
    for item in task.initialize:
        if item.func == "launch" and not locations:
            paths = [PurePosixPath(word) for word in item["arguments"] if word.startswith("/")]
            locations = [path.parent.name for path in paths]
    names = [item["query"] for item in task.initialize if item.func == "layer"]
    layers = [f"{_LAYERS[name]} map={name}@PERMANENT" for name in reversed(names)]
    return [Hook("open", partial(GRASS.hooks["grass.open"], layers=layers, location=locations[-1]))]


def test(item: CheckItem, task: UpstreamTask) -> Callable[[FinalState], Outcome] | None:
    """What decides about an ``info``: upstream's own lambdas, on a dump like upstream's; None for another item."""
    if item.type != "info":
        return None
    return dumps.info(item, _dump)


def _dump(final: FinalState) -> Mapping[str, Any]:
    return upstream_dump(final.read_once("grass:dump", GRASS.parts["dump"]))


def upstream_dump(told: Mapping[str, Any]) -> dict[str, Any]:
    """What the window tells, in the form of ``GET /dump`` of upstream's own GRASS."""
    rows = told.get("layers", [])
    return {
        "layers": [
            {"name": row["name"], "type": row["type"], "active": row["active"], "opacity": row["opacity"]}
            for row in rows
        ],
        "windows": [
            {"name": row["name"], "_text": row["text"], "_checked": row["checked"],
             "_data": [{"cmd": row["command"]}, {"params": row["params"]}]}
            for row in rows
        ],
        "toolbars": {"keys": told.get("toolbars", []), "layer": {"name": told.get("edited")}},
        "statusbar": {"mode": told.get("mode"), "scale": told.get("scale")},
        "region": told.get("region", {}),
        "output": told["output"],
    }  # fmt: skip
