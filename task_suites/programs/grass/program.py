"""GRASS GIS: its window, on maps of the world that are made once, and others that a task makes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from deskgym.envs.deadline import Deadline
from deskgym.envs.displays.base import SettlePolicy
from deskgym.envs.errors import SetupError
from deskgym.envs.machines.base import Machine
from deskgym.envs.observation.accessible_program import AccessibleProgram, Node
from deskgym.envs.provision.layers import LayerRecipe
from deskgym.task_suites.core.task import Setup
from deskgym.task_suites.hooks.programs import launch
from deskgym.task_suites.programs.grass.window import LAUNCHED, SOCKET, close_prompt

APP = "wxgui.py"  # in the tree of elements
PACKAGES = ("grass-gui", "locales", "python3-geopandas")
SITE = Path(__file__).parent / "site"
DATA = "/home/user/grassdata"
LOCATION = "natural_earth_dataset"
OWN = "/opt/deskgym/grass"
SESSION = f"{OWN}/session"
"""Runs a program in a session of GRASS, as GRASS's own launcher does, but without a terminal."""

GISRC = "/home/user/.grass8/gisrc"
WORKSPACE = "/home/user/.grass8/task.gxw"

_WORLD = "/usr/lib/python3/dist-packages/geopandas/datasets"
_SLOW = 90.0  # seconds
_KINDS = {"d.rast": "raster", "d.vect": "vector"}
_START = f"""
mkdir -p {OWN}/locale
export HOME=/tmp
localedef -i en_US -f UTF-8 --no-archive {OWN}/locale/en_US.utf8
base=$(grass --config path)
cat > {SESSION} <<END
#!/bin/sh
export GISBASE=$base GISRC=\\${{GISRC:-{GISRC}}} GRASS_VERSION=$(grass --config version) GIS_LOCK=\\$\\$
export PATH=$base/bin:$base/scripts:\\$PATH LD_LIBRARY_PATH=$base/lib PYTHONPATH={OWN}/python:$base/etc/python
export GRASS_PYTHON=/usr/bin/python3 GRASS_ADDON_BASE=/home/user/.grass8/addons
export GRASS_PROJSHARE=/usr/share/proj GRASS_PAGER=cat GRASS_HTML_BROWSER=true
export LANG=en_US.UTF-8 LC_ALL=en_US.UTF-8 LOCPATH={OWN}/locale PYTHONNOUSERSITE=1
exec "\\$@"
END
chmod 755 {SESSION}
"""
_MAPS = f"""
mkdir -p {DATA}
export LANG=en_US.UTF-8 LC_ALL=en_US.UTF-8 LOCPATH={OWN}/locale
for each in world_latlong_wgs84 {LOCATION}; do grass -c EPSG:4326 -e {DATA}/$each; done
rm -rf ~/.grass8
cat > /tmp/gisrc <<END
GISDBASE: {DATA}
LOCATION_NAME: {LOCATION}
MAPSET: PERMANENT
END
export GISRC=/tmp/gisrc
{SESSION} v.in.ogr input={_WORLD}/naturalearth_lowres/naturalearth_lowres.shp output=countries snap=1e-6
{SESSION} v.in.ogr input={_WORLD}/naturalearth_cities/naturalearth_cities.shp output=cities
{SESSION} g.region -s vector=countries n=90 s=-90 e=180 w=-180 res=1
{SESSION} v.to.rast input=countries type=area output=natural_earth use=attr attribute_column=pop_est memory=100
{SESSION} r.support map=natural_earth title='Natural Earth: population of the country'
"""

SESSION_LAYER = LayerRecipe(
    "grass-session",
    _START,
    packages=PACKAGES,
    files=((f"{OWN}/python/sitecustomize.py", SITE / "sitecustomize.py"),),
    user="guest",
)
"""What a session needs, which the agent cannot change: a locale, the session's variables, and the window's state."""

WORLD = LayerRecipe("grass-world", _MAPS, bases=(SESSION_LAYER,), packages=PACKAGES)
"""Two locations: the countries and cities of Natural Earth (public domain, with geopandas), and an empty one."""


def _settings(width: int, height: int) -> dict[str, Any]:
    """The window's settings: one window of this size, and no tab that runs Python in the window's process."""
    place = {"enabled": True, "dim": f"0,0,{width},{height}"}
    return {
        "general": {"singleWindow": {"enabled": True}, "defWindowPos": place},
        "manager": {"hideTabs": {"pyshell": True}, "askOnQuit": {"enabled": False}},
    }


def open_(
    setup: Setup,
    layers: list[str] | None = None,
    commands: list[str] | None = None,
    location: str = LOCATION,
    mapset: str = "PERMANENT",
    console: bool = True,
) -> None:
    """Open GRASS GIS in one window; returns when the map is drawn.

    Args:
        setup: the machine.
        layers: commands that draw, such as ``"d.vect map=countries@PERMANENT"``, from the top layer on.
        commands: modules that are run before, such as ``"g.region res=2"``.
        location: where it is started; the other one is ``world_latlong_wgs84``.
        mapset: of that location; made if it is not there.
        console: commands can be typed in it.

    Raises:
        SetupError: there is no such location or map, a command failed, or the window did not come up.
    """
    machine = setup.machine
    prepare(machine, commands or [], location, mapset)
    machine.put("/home/user/.grass8/wx.json", json.dumps(_settings(*machine.display.size)).encode())
    argv = [SESSION, "/bin/sh", "-c", 'exec /usr/bin/python3 "$GISBASE/gui/wxpython/wxgui.py" "$@"', "wxgui.py"]
    if layers:
        _require_maps(machine, layers)
        machine.put(WORKSPACE, _workspace(layers).encode())
        argv += ["-w", WORKSPACE]
    launch(
        setup, argv, window="*GRASS GIS", window_size=(700, 500), app=APP, role="menu", name="Help",
        env={"DESKGYM_GRASS_SOCKET": SOCKET}, maximize=True, timeout=_SLOW,
    )  # fmt: skip
    _close_splash(machine)
    AccessibleProgram(machine, LAUNCHED).wait(
        "the names of its tools", lambda root: root.find(name="Zoom to computational region extent"), outline=True
    )
    if not console:
        close_prompt(machine)


def prepare(machine: Machine, commands: Sequence[str], location: str = LOCATION, mapset: str = "PERMANENT") -> None:
    """Choose a mapset for sessions, and run modules in it; SetupError says what failed or is not there."""
    there = machine.run(["ls", DATA]).stdout.decode().split()
    if location not in there:
        raise SetupError(f"there is no location {location!r} in {DATA}; legal are {', '.join(there)}")
    machine.put(GISRC, session_file(location))
    for command in in_mapset(mapset, commands):
        done = machine.run([SESSION, *shlex.split(command)], timeout=_SLOW)
        if done.returncode:
            raise SetupError(f"{command!r} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    machine.put("/home/user/.grass8/rc", machine.get(GISRC))  # the agent's own sessions begin with it


def session_file(location: str) -> bytes:
    """What a session begins with, in the mapset PERMANENT."""
    return f"GISDBASE: {DATA}\nLOCATION_NAME: {location}\nMAPSET: PERMANENT\nGUI: wxpython\n".encode()


def in_mapset(mapset: str, commands: Sequence[str]) -> list[str]:
    """Commands, with the one before that goes to a mapset, and makes it where it is not there."""
    return [*([] if mapset == "PERMANENT" else [f"g.mapset -c mapset={mapset}"]), *commands]


def _close_splash(machine: Machine) -> None:
    """Click the picture away that GRASS shows in front of its window for some seconds."""
    program = AccessibleProgram(machine, LAUNCHED)
    deadline = Deadline(20.0, machine.slowness)
    while splash := _splash(program.tree(outline=True)):
        if deadline.over:
            raise SetupError("GRASS's picture did not go away within 20 s")
        x, y, width, height = splash.extents
        at = {"t": "move", "x": x + width // 2, "y": y + height // 2}
        machine.display.perform([at, {"t": "down", "b": 1}, {"t": "up", "b": 1}], SettlePolicy(cap_ms=1000))


def _splash(root: Node | None) -> Node | None:
    if root is None:
        raise SetupError("GRASS has ended")
    return next((each for each in root.children if not each.name and "showing" in each.states), None)


def _require_maps(machine: Machine, layers: Sequence[str]) -> None:
    """The maps are there: GRASS shows a layer without any too."""
    wanted = {_draws(command)[1]["map"] for command in layers}
    listed = machine.run([SESSION, "g.list", "-m", "type=raster,vector", "mapset=*"]).stdout.decode().split()
    if missing := sorted(wanted - {*listed}):
        raise SetupError(f"there is no map {', '.join(missing)}; legal are {', '.join(sorted(listed))}")


def _draws(command: str) -> tuple[str, dict[str, str]]:
    """The kind of a layer, and the options that draw it."""
    module, *options = shlex.split(command)
    values = dict(option.split("=", 1) for option in options if "=" in option)
    if module not in _KINDS or "map" not in values or len(values) != len(options):
        raise SetupError(f"{command!r} draws no layer; give a command such as 'd.vect map=countries@PERMANENT'")
    return module, values


def _workspace(layers: Sequence[str]) -> str:
    """A workspace file with these layers."""
    rows: list[str] = []
    for command in layers:
        module, values = _draws(command)
        parameters = "".join(
            f"<parameter name={quoteattr(name)}><value>{escape(value)}</value></parameter>"
            for name, value in values.items()
        )
        rows.append(
            f'<layer type="{_KINDS[module]}" name={quoteattr(values["map"])} checked="1" opacity="1.0">'
            f'{"" if rows else "<selected/>"}<task name="{module}">{parameters}</task></layer>'
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE gxw SYSTEM "grass-gxw.dtd"><gxw><display name="Map Display 1" '
        'render="1" mode="0" showCompExtent="1" showStatusbar="1" showToolbars="1" tbres="0" alignExtent="1" '
        f'constrainRes="0" viewMode="2d">{"".join(rows)}</display></gxw>'
    )
